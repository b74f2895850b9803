"""How tables are named: ``orders``, ``shop.orders``."""

from __future__ import annotations

SCHEMA, SEQUENCES, LARGE_OBJECTS = "pg_schema", "pg_sequences", "pg_largeobjects"
TAKEN = frozenset({SCHEMA, SEQUENCES, LARGE_OBJECTS})


def table_name(schema: str, name: str) -> str:
    """Return a table's name in the contract; no two tables of a database share one."""
    if schema == "public" and name not in TAKEN:
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
