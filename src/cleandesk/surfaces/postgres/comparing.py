"""What differs between a copy and its base, over everything that a database holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cleandesk.state.delta import Delta
from cleandesk.state.leaving import Leaving
from cleandesk.state.table import Table
from cleandesk.surfaces.postgres import catalog
from cleandesk.surfaces.postgres.catalog import Relation
from cleandesk.surfaces.postgres.lines import batch
from cleandesk.surfaces.postgres.naming import LARGE_OBJECTS, SCHEMA, SEQUENCES
from cleandesk.surfaces.postgres.reading import (
    Edits,
    ReferenceBlocks,
    between,
    compare_lines,
    compare_whole,
    in_blocks,
    read_plain,
    read_table,
)

_MOST_BLOCKS = 4096
"""Of so many blocks a reading of the whole table in one go is no slower."""


Blocks = Mapping[int, Sequence[int]]
"""The numbers of files that were written, with the blocks in each."""


@dataclass(frozen=True, slots=True)
class Side:
    """What a database is made of at one moment, without its rows.

    Attributes:
        token: See ``catalog.token``.
        relations: Its tables by name.
        sequences: Its sequences by name.
        standing: Where each stands.
        definitions: The numbers of the files that hold definitions.
        large: The numbers of the files that hold large objects.
    """

    token: tuple[Any, ...]
    relations: Mapping[str, Relation]
    sequences: Mapping[str, catalog.Sequence]
    standing: Mapping[str, Any]
    definitions: frozenset[int]
    large: frozenset[int]

    @property
    def is_logged(self) -> bool:
        """Whether the log of writes names whatever is written here."""
        return all(part.is_logged for part in self.relations.values()) and all(
            part.is_logged for part in self.sequences.values()
        )


def load(connection: Any, token: tuple[Any, ...] | None = None) -> Side:
    """Read a database's ``Side``."""
    sequences = catalog.sequences(connection)
    return Side(
        token or catalog.token(connection),
        catalog.relations(connection),
        sequences,
        catalog.standing(connection, sequences.values()),
        catalog.catalog_filenodes(connection),
        catalog.large_filenodes(connection),
    )


Reader = Callable[[Side, Any], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A copy beside the reference, each read in one steady state.

    Attributes:
        own: A session in the copy.
        reference: A session in the reference.
        base: The reference's side.
        leaving: The ignored fields.
        blocks: The reference's rows by block.
    """

    own: Any
    reference: Any
    base: Side
    leaving: Leaving
    blocks: ReferenceBlocks

    def now(self, blocks: Blocks | None = None) -> Side:
        """Return the copy's side; the base's where no definition was written since.

        Args:
            blocks: What was written since; None, if that is not known.
        """
        if blocks is not None and self.base.definitions.isdisjoint(blocks):
            return self.base
        token = catalog.token(self.own)
        return self.base if token == self.base.token else load(self.own, token)

    def has_new_definitions(self, now: Side) -> bool:
        """Tell whether a definition differs: TRUNCATE, say, writes one that is the same."""
        if now is self.base:
            return False
        return catalog.schema(self.own) != catalog.schema(self.reference)

    def touched(self, now: Side, blocks: Blocks) -> Delta:
        """Compare what was written, and what is not logged."""
        tables: dict[str, Edits] = {}
        near: dict[str, Sequence[int]] = {}
        for name, relation in now.relations.items():
            written = blocks.get(relation.filenode, ())
            base = self.base.relations[name]
            is_same_file = relation.is_logged and relation.filenode == base.filenode
            if self.leaving.table(name) or (is_same_file and not written):
                continue
            if is_same_file and relation.layout.key and len(written) <= _MOST_BLOCKS:
                near[name] = written
            else:
                tables[name] = compare_whole(self.own, self.reference, relation, base, self.leaving)
        moved = [
            name
            for name, sequence in now.sequences.items()
            if sequence.filenode in blocks
            or not sequence.is_logged
            or sequence != self.base.sequences[name]
        ]
        tables |= self._near(now, near, [] if self.leaving.table(SEQUENCES) else moved)
        if now.large != self.base.large or not now.large.isdisjoint(blocks):
            tables[LARGE_OBJECTS] = self._plain(LARGE_OBJECTS, _large_objects, now)
        return Delta.of(tables)

    def _near(
        self, now: Side, near: Mapping[str, Sequence[int]], moved: Sequence[str]
    ) -> dict[str, Edits]:
        """Compare single blocks, and sequences, with one question to the copy."""
        queries = {name: in_blocks(now.relations[name], blocks) for name, blocks in near.items()}
        standing = catalog.standing_query([now.sequences[name] for name in moved])
        asked = [query for each in queries.values() for query in each]
        answers = iter(batch(self.own, [*asked, *([standing] if standing else [])]))
        tables: dict[str, Edits] = {}
        for name, each in queries.items():
            new = {line for _ in each for line in next(answers)}
            old = self.blocks.of(self.base.relations[name], near[name])
            tables[name] = compare_lines(now.relations[name], old, new, self.leaving)
        if standing:
            was = {name: self.base.standing[name] for name in moved}
            stands = catalog.standing_of(next(answers))
            tables[SEQUENCES] = between(
                read_plain(SEQUENCES, was, self.leaving),
                read_plain(SEQUENCES, stands, self.leaving),
            )
        return tables

    def whole(self, now: Side) -> Delta:
        """Compare everything."""
        tables: dict[str, Edits] = {}
        for name in sorted(now.relations.keys() | self.base.relations.keys()):
            if not self.leaving.table(name):
                tables[name] = self._whole_table(now.relations.get(name), name)
        for name, read in PLAIN.items():
            tables[name] = self._plain(name, read, now)
        created, dropped = (
            [name for name in some.keys() - others.keys() if not self.leaving.table(name)]
            for some, others in (
                (now.relations, self.base.relations),
                (self.base.relations, now.relations),
            )
        )
        return Delta.of(tables, created, dropped)

    def _whole_table(self, now: Relation | None, name: str) -> Edits:
        base = self.base.relations.get(name)
        if now is None and base is not None:
            return between(read_table(self.reference, base, self.leaving), {})
        if base is None and now is not None:
            return between({}, read_table(self.own, now, self.leaving))
        if now is None or base is None:
            return {}
        return compare_whole(self.own, self.reference, now, base, self.leaving)

    def _plain(self, name: str, read: Reader, now: Side) -> Edits:
        if self.leaving.table(name):
            return {}
        old, new = read(self.base, self.reference), read(now, self.own)
        return between(read_plain(name, old, self.leaving), read_plain(name, new, self.leaving))


def _standing(side: Side, connection: Any) -> dict[str, Any]:
    return catalog.standing(connection, side.sequences.values())


def _large_objects(_: Side, connection: Any) -> dict[str, Any]:
    return catalog.large_objects(connection)


def _schema(_: Side, connection: Any) -> dict[str, Any]:
    return catalog.schema(connection)


PLAIN: Mapping[str, Reader] = {
    LARGE_OBJECTS: _large_objects,
    SCHEMA: _schema,
    SEQUENCES: _standing,
}
"""The tables that are not the database's own, and how each is read."""


def base_tables(connection: Any, leaving: Leaving) -> dict[str, Table]:
    """Read all records of a base."""
    side = load(connection)
    tables = {
        name: Table("map", read_table(connection, relation, leaving))
        for name, relation in side.relations.items()
        if not leaving.table(name)
    }
    for name, read in PLAIN.items():
        if not leaving.table(name):
            tables[name] = Table("map", read_plain(name, read(side, connection), leaving))
    return tables
