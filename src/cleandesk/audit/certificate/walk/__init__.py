"""Reading every home of state of a rig, one leaf each, without disturbing it."""

from cleandesk.audit.certificate.walk.access import read, write
from cleandesk.audit.certificate.walk.held import Walk
from cleandesk.audit.certificate.walk.readers import Reader
from cleandesk.audit.certificate.walk.skips import SKIPPED
from cleandesk.audit.certificate.walk.splitting import split
from cleandesk.audit.certificate.walk.walking import walk

__all__ = ["SKIPPED", "Reader", "Walk", "read", "split", "walk", "write"]
