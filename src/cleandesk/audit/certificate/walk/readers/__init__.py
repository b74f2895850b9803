"""Reading what compiled engines hold, where Python sees one handle."""

from cleandesk.audit.certificate.walk.readers.protocol import Reader
from cleandesk.audit.certificate.walk.readers.registry import reader_of

__all__ = ["Reader", "reader_of"]
