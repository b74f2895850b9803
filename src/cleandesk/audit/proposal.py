"""A first contract for a world: what it holds, and what varies between two builds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cleandesk.errors import shown
from cleandesk.finding import registered
from cleandesk.run.bases import Bases
from cleandesk.run.blame import Fault
from cleandesk.run.importers import INDEPENDENT, RUNS, Importers
from cleandesk.run.world_link import WorldLink, as_error
from cleandesk.state import Change, Snapshot, decode, diff
from cleandesk.state.contract import Contract
from cleandesk.state.diff import changes_between
from cleandesk.state.over import Over
from cleandesk.state.reference import Path as FieldPath
from cleandesk.state.reference import spelled
from cleandesk.surfaces.copies import WORLD_SIDE

_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Proposal:
    """What two independent builds of a world show.

    Attributes:
        world: The world's reference.
        seed: The seed that both were reset with.
        code: A first contract, as Python.
        reads: Attributes that it reads.
        varies: Fields that differ between the two builds.
        not_read: What could not be read, by path.
    """

    world: str
    seed: int
    code: str
    reads: tuple[str, ...]
    varies: tuple[Change, ...]
    not_read: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the parts as plain values."""
        return {
            "contract": self.code,
            "not_read": list(self.not_read),
            "reads": list(self.reads),
            "seed": self.seed,
            "varies": [
                {"field": change.field, "one": _side(change.before), "other": _side(change.after)}
                for change in self.varies
            ],
            "world": self.world,
        }


def propose_contract(
    world: str, *, seed: int = 1, arguments: Mapping[str, Any] | None = None
) -> Proposal:
    """Build ``world`` twice, in two processes that share nothing, and write a contract.

    The processes differ in hash seed and global random states; both reset with ``seed``.

    Args:
        world: A registered name, ``module:attribute``, ``file.py:attribute`` or ``gym:ID``.
        seed: The seed of both resets.
        arguments: Keyword arguments of its constructor.

    Raises:
        WorldError: The world can't be imported, built or reset.
    """
    here = [str(Path.cwd())]
    importers = Importers(path=here, network=(), output=None, debug=False)
    bases = Bases(here)
    try:
        importers.start([world])
        # A world that has a contract already may need its copies to be built.
        bases.make([world], importers)
        kept = _kept(importers.of(world, RUNS).contract)
        one, other = (
            _build(world, variant, (importers, bases), (arguments or {}, seed))
            for variant in (RUNS, INDEPENDENT)
        )
    except Fault as fault:
        raise as_error(fault, world) from fault
    finally:
        importers.stop()
        bases.close()
    varies = diff(one.shot, other.shot)
    apart = [
        change
        for name, over in one.written.items()
        for change in changes_between(name, over.delta, other.written[name].delta)
    ]
    name, reads = other.name, tuple(one.shot.surfaces["state"])
    bridge, _, known_as = world.rpartition(":")
    if bridge.partition(":")[0] in registered("bridge"):
        # What the bridge keeps for itself is no state of the environment.
        name, reads = known_as, tuple(table for table in reads if not table.startswith("_"))
    code = _code(name, reads, _patterns(varies, one.shot), kept)
    return Proposal(world, seed, code, reads, (*varies, *apart), other.not_read)


@dataclass(frozen=True, slots=True)
class _Built:
    """One build: what it is called, holds and wrote, and what could not be read."""

    name: str
    shot: Snapshot
    written: Mapping[str, Over]
    not_read: tuple[str, ...]


def _build(
    world: str,
    variant: int,
    means: tuple[Importers, Bases],
    given: tuple[Mapping[str, Any], int],
) -> _Built:
    importers, bases = means
    copies = bases.copies(world, str(variant))
    link = WorldLink(importers.of(world, variant).child(), limit_s=_SECONDS, copies=copies)
    try:
        data, facts = link.attributes(*given)
        written = copies.look() if copies is not None else {}
    finally:
        link.kill()
    name, not_read = decode(facts)
    return _Built(name, Snapshot.from_bytes(data), written, tuple(not_read))


def _patterns(varies: tuple[Change, ...], shot: Snapshot) -> list[str]:
    """Return what to ignore: the fields that vary, of a list the whole list.

    Two builds that differ at one place of a list tell nothing about its other places.
    """
    tree = shot.tree()["state"]
    return sorted({spelled(_above_lists(change.path, tree)) for change in varies})


def _above_lists(path: FieldPath, tree: Any) -> FieldPath:
    value = tree
    for place, part in enumerate(path):
        if isinstance(value, list | tuple):
            return path[:place]
        value = value.get(part) if isinstance(value, Mapping) else None
    return path


def _kept(terms: Contract | None) -> list[str]:
    """Return the lines of the surfaces with a base that the world's contract has already."""
    surfaces = terms.surfaces.items() if terms is not None else ()
    return [
        f"    {name}=cd.{held.kind}({_literal(str(held.source['from']))}),"
        for name, held in surfaces
        if held.kind not in WORLD_SIDE and "from" in held.source
    ]


def _code(name: str, reads: tuple[str, ...], varying: list[str], kept: list[str]) -> str:
    head = [
        "import cleandesk as cd",
        "",
        "contract = cd.contract(",
        f"    {_literal(name.lower())},",
        '    "1",',
        *kept,
    ]
    if kept and not reads:
        return "\n".join([*head, ")"])
    lines = [*head, "    state=cd.objects(", *(f"        {_literal(table)}," for table in reads)]
    if varying:
        todo = _literal("TODO: differs between two builds; say why it may")
        lines.append("        ignore={")
        lines += [f"            {_literal(field)}: {todo}," for field in varying]
        lines.append("        },")
    return "\n".join([*lines, "    ),", ")"])


def _literal(text: str) -> str:
    """Spell a text as Python does, in double quotes; what can't be printed is escaped."""
    spelling = repr(text)
    if spelling.startswith('"'):
        return spelling
    return '"' + spelling[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'


def _side(value: Any) -> str:
    return shown(repr(value), 80)
