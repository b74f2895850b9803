"""Places where state lives, and how each is read."""

from cleandesk.surfaces.objects import objects

__all__ = ["objects"]
