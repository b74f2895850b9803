"""How patterns name columns in the surfaces that speak SQL: ``users.otp``."""

from __future__ import annotations

import re
from collections.abc import Collection

_TABLE = re.compile(r"(?P<table>[^.\[\]]+|\[(?P<quote>[\"']?).*?(?P=quote)\])\.")


def of_every_row(text: str, by_key: Collection[str]) -> str:
    """Return a pattern in which what follows the table after a dot is a column of any row.

    Args:
        text: A pattern below the surface; ``users.otp`` becomes ``users[*].otp``.
        by_key: Tables that we add; their records are named by key, so that
            ``pg_sequences.orders_id_seq`` is a record.
    """
    match = _TABLE.match(text)
    if match is None or match["table"] in by_key:
        return text
    return f"{match['table']}[*].{text[match.end() :]}"
