"""Places where state lives, and how each is read."""

from cleandesk.surfaces.files import files
from cleandesk.surfaces.http import http
from cleandesk.surfaces.objects import objects
from cleandesk.surfaces.postgres import postgres
from cleandesk.surfaces.process import process
from cleandesk.surfaces.sqlite import sqlite

__all__ = ["files", "http", "objects", "postgres", "process", "sqlite"]
