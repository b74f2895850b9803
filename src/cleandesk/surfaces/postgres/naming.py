"""How tables and patterns are written: ``orders``, ``shop.orders``, ``users.otp``."""

from __future__ import annotations

import re

_TABLE = re.compile(r"(?P<table>[^.\[\]]+|\[(?P<quote>[\"']?).*?(?P=quote)\])\.")
SCHEMA, SEQUENCES, LARGE_OBJECTS = "pg_schema", "pg_sequences", "pg_largeobjects"
_TAKEN = frozenset({SCHEMA, SEQUENCES, LARGE_OBJECTS})


def by_column(text: str) -> str:
    """Return a pattern in which what follows the table after a dot is a column of any row.

    What we add to the tables is named by key: ``pg_sequences.orders_id_seq`` is a record.
    """
    match = _TABLE.match(text)
    if match is None or match["table"] in _TAKEN:
        return text
    return f"{match['table']}[*].{text[match.end() :]}"


def table_name(schema: str, name: str) -> str:
    """Return a table's name in the contract; no two tables of a database share one."""
    if schema == "public" and name not in _TAKEN:
        return _part(name)
    return f"{_part(schema)}.{_part(name)}"


def quoted(*names: str) -> str:
    """Return an SQL identifier of several parts."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def literal(text: str) -> str:
    """Return an SQL text; for what takes no parameters."""
    return "'" + text.replace("'", "''") + "'"


def _part(name: str) -> str:
    return quoted(name) if "." in name or '"' in name else name
