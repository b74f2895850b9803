"""What a database holds besides rows, and where its rows lie."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cleandesk.surfaces.postgres import definitions
from cleandesk.surfaces.postgres.desk import rows
from cleandesk.surfaces.postgres.lines import lines
from cleandesk.surfaces.postgres.naming import literal, quoted, table_name
from cleandesk.surfaces.postgres.rows import Layout, fields

_HEAP = 2
_LARGE = (2613, 2995)
"""pg_largeobject and pg_largeobject_metadata."""

_RELATIONS = """
SELECT n.nspname, c.relname, c.relkind = 'r', c.relpersistence = 'u', c.relam,
       coalesce(pg_relation_filenode(c.oid), 0),
       array(SELECT a.attname::text FROM pg_attribute a
             WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum),
       array(SELECT a.atttypid::bigint FROM pg_attribute a
             WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum),
       array(SELECT a.attname::text FROM pg_index i, unnest(i.indkey) WITH ORDINALITY k(num, place)
             JOIN pg_attribute a ON a.attnum = k.num
             WHERE i.indrelid = c.oid AND i.indisprimary AND a.attrelid = c.oid
               AND k.place <= i.indnkeyatts ORDER BY k.place)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE (c.relkind = 'r' OR c.relkind = 'm' AND c.relispopulated) AND c.relpersistence <> 't'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND c.oid >= 16384
"""

_DOMAINS = "SELECT oid::bigint, typbasetype::bigint FROM pg_type WHERE typtype = 'd'"

# Every row of a catalog that a definition is made of carries the transaction that wrote it.
_TOKEN_PARTS = (
    ("pg_class", "oid", f" OR oid IN {_LARGE}"),
    ("pg_attribute", "attrelid", ""),
    ("pg_attrdef", "adrelid", ""),
    ("pg_constraint", "oid", ""),
    ("pg_index", "indexrelid", ""),
    ("pg_inherits", "inhrelid", ""),
    ("pg_proc", "oid", ""),
    ("pg_type", "oid", ""),
    ("pg_enum", "oid", ""),
    ("pg_trigger", "oid", ""),
    ("pg_rewrite", "oid", ""),
    ("pg_policy", "oid", ""),
    ("pg_namespace", "oid", " OR nspname = 'public'"),
    ("pg_extension", "oid", ""),
    ("pg_sequence", "seqrelid", ""),
    ("pg_event_trigger", "oid", ""),
)
_TOKEN_PART = """
(SELECT array_agg(xmin::text || ctid::text ORDER BY ctid) FROM {} WHERE {} >= 16384{})::text
"""
_TOKEN = "SELECT " + ", ".join(_TOKEN_PART.format(*part) for part in _TOKEN_PARTS)

_LARGE_OBJECTS = """
SELECT m.oid::bigint, m.lomowner::regrole::text, coalesce(m.lomacl::text, ''),
       length(lo_get(m.oid)), encode(sha256(lo_get(m.oid)), 'hex')
FROM pg_largeobject_metadata m ORDER BY m.oid
"""

_STANDING = "SELECT {}, last_value, is_called FROM {}"
_STANDS = Layout(("name", "last_value", "is_called"), (25, 20, 16), ("name",))

_SEQUENCES = """
SELECT n.nspname, c.relname, pg_relation_filenode(c.oid), c.relpersistence <> 'u' FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'S' AND c.relpersistence <> 't' AND c.oid >= 16384 ORDER BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class Relation:
    """A table that has rows of its own.

    Attributes:
        name: As the contract names it.
        sql: Its quoted name.
        layout: Its columns and key.
        filenode: The number of the file that holds its rows.
        is_table: False for a materialised view.
        is_logged: Whether the log of writes names what changes in it, block by block.
    """

    name: str
    sql: str
    layout: Layout
    filenode: int
    is_table: bool
    is_logged: bool

    @property
    def source(self) -> str:
        """What to select from: its own rows and not those of tables that inherit from it."""
        return f"ONLY {self.sql}" if self.is_table else self.sql

    @property
    def selected(self) -> str:
        """Its columns as a list of SQL."""
        return ", ".join(map(quoted, self.layout.columns))

    @property
    def order(self) -> str:
        """An order in which two readings of equal rows come alike; "" where it has no key."""
        columns = ", ".join(map(quoted, self.layout.key))
        return f" ORDER BY {columns}" if columns else ""


@dataclass(frozen=True, slots=True)
class Sequence:
    """A sequence.

    Attributes:
        name: As the contract names it.
        sql: Its quoted name.
        filenode: The number of its file.
        is_logged: Whether the log of writes names its first move in a clone.
    """

    name: str
    sql: str
    filenode: int
    is_logged: bool


def relations(connection: Any) -> dict[str, Relation]:
    """Return the tables of a database by name."""
    domains: dict[int, int] = dict(rows(connection, _DOMAINS))

    def kind(number: int) -> int:
        while number in domains:
            number = domains[number]
        return number

    found = {}
    for schema, name, is_table, is_unlogged, method, filenode, columns, kinds, key in rows(
        connection, _RELATIONS
    ):
        shown = table_name(schema, name)
        layout = Layout(tuple(columns), tuple(map(kind, kinds)), tuple(key))
        # Another way of keeping rows may log them in a way of its own.
        is_logged = not is_unlogged and method == _HEAP
        found[shown] = Relation(shown, quoted(schema, name), layout, filenode, is_table, is_logged)
    return dict(sorted(found.items()))


def token(connection: Any) -> tuple[Any, ...]:
    """Return what moves whenever a definition is written: equal tokens, equal definitions."""
    return rows(connection, _TOKEN)[0]


def schema(connection: Any) -> dict[str, Any]:
    """Return the definitions: ``table orders`` -> what it is made of."""
    found: dict[str, Any] = {}
    for text in definitions.ALL:
        for kind, namespace, name, more, definition in rows(connection, text):
            shown = name if namespace is None else table_name(namespace, name)
            found[f"{kind} {shown}{more}"] = definition
    return dict(sorted(found.items()))


def sequences(connection: Any) -> dict[str, Sequence]:
    """Return the sequences of a database by name."""
    found = {}
    for schema, name, filenode, is_logged in rows(connection, _SEQUENCES):
        shown = table_name(schema, name)
        found[shown] = Sequence(shown, quoted(schema, name), filenode, is_logged)
    return found


def standing(connection: Any, asked: Iterable[Sequence]) -> dict[str, Any]:
    """Return where each of these sequences stands."""
    query = standing_query(asked)
    return standing_of(lines(connection, query)) if query else {}


def standing_query(asked: Iterable[Sequence]) -> str:
    """Return the query that ``standing_of`` reads; "" if nothing is asked."""
    return " UNION ALL ".join(_STANDING.format(literal(each.name), each.sql) for each in asked)


def standing_of(found: Iterable[bytes]) -> dict[str, Any]:
    """Return where sequences stand by name, from the lines of ``standing_query``."""
    rows_ = (_STANDS.value(fields(line)) for line in found)
    return {row.pop("name"): row for row in rows_}


def catalog_filenodes(connection: Any) -> frozenset[int]:
    """Return the numbers of the files that definitions are written in."""
    names = [name for name, _, _ in _TOKEN_PARTS]
    text = "SELECT pg_relation_filenode(oid) FROM pg_class WHERE oid < 16384 AND relname = ANY (%s)"
    return frozenset(number for (number,) in rows(connection, text, [names]))


def large_filenodes(connection: Any) -> frozenset[int]:
    """Return the numbers of the files that hold large objects."""
    text = "SELECT pg_relation_filenode(oid) FROM pg_class WHERE oid = ANY (%s)"
    return frozenset(number for (number,) in rows(connection, text, [[*_LARGE]]))


def large_objects(connection: Any) -> dict[str, Any]:
    """Return the large objects by number, with the digest of their bytes."""
    return {
        str(number): {"bytes": size, "owner": owner, "privileges": privileges, "sha256": digest}
        for number, owner, privileges, size, digest in rows(connection, _LARGE_OBJECTS)
    }
