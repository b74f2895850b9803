"""Making recorded changes in the state that they were recorded from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cleandesk.errors import StateError
from cleandesk.state.canon import decode, encode
from cleandesk.state.delta import Delta
from cleandesk.state.diff import Change
from cleandesk.state.over import Over
from cleandesk.state.reference import Named, Path
from cleandesk.state.snapshot import Snapshot


def apply(before: Snapshot, changes: Iterable[Change]) -> Snapshot:
    """Return the snapshot that ``changes`` make of ``before``.

    ``apply(a, diff(a, b)) == b`` for all snapshots of one contract.

    Raises:
        StateError: CD-106, a change does not fit ``before``.
    """
    held = sorted(changes, key=_tail_first)
    plain = Snapshot(before.contract, before.surfaces)
    own = [change for change in held if change.surface not in before.over]
    after = Snapshot.of(before.contract, _made(plain.tree(), own)) if own else plain
    over = {
        name: _over_applied(over, [change for change in held if change.surface == name])
        for name, over in before.over.items()
    }
    return Snapshot(before.contract, after.surfaces, over)


def _made(tree: dict[str, Any], changes: Iterable[Change]) -> dict[str, Any]:
    """Return ``tree`` with ``changes`` made in it, in place if it can be."""
    for change in changes:
        try:
            tree[change.surface] = _applied(tree.get(change.surface, {}), change.path, change)
        except (KeyError, IndexError, TypeError) as error:
            raise StateError(
                "CD-106",
                f"a recorded change does not fit the state it is applied to: {change.op}",
                where=f"field {change.field}",
                do="apply it to the start that it was recorded from",
            ) from error
    return tree


def _over_applied(over: Over, changes: Sequence[Change]) -> Over:
    """Make ``changes`` in the records that they touch; the rest of the base is not read."""
    delta = over.delta
    created, dropped = {*delta.created}, {*delta.dropped}
    touched: dict[str, dict[bytes, bytes | None]] = {}
    for change in changes:
        name = str(change.path[0])
        if len(change.path) > 1:
            key = encode(change.path[1])
            is_whole = change.op == "added" and len(change.path) == 2
            touched.setdefault(name, {})[key] = None if is_whole else over.record(name, key)
            continue
        rows = change.after if change.op == "added" else change.before
        sides = {encode(key): encode(row) for key, row in rows.items()}
        touched[name] = dict.fromkeys(sides) if change.op == "added" else dict(sides)
        _stand(name, created, dropped, is_there=change.op == "added")
    tree: dict[str, Any] = {
        name: {decode(key): decode(record) for key, record in rows.items() if record is not None}
        for name, rows in touched.items()
        if (name,) not in {change.path for change in changes if change.op == "added"}
    }
    surface = changes[0].surface if changes else ""
    made = _made({surface: tree}, changes)[surface]
    tables = {name: dict(edits) for name, edits in delta.tables.items()}
    for name, rows in touched.items():
        now = {encode(key): encode(row) for key, row in made.get(name, {}).items()}
        for key in rows:
            old = None if name in created else over.base_record(name, key)
            tables.setdefault(name, {})[key] = (old, now.get(key))
    return over.with_delta(Delta.of(tables, created, dropped))


def _stand(name: str, created: set[str], dropped: set[str], *, is_there: bool) -> None:
    # A table of the base can only be dropped or put back; any other only made or unmade.
    if is_there and name in dropped:
        dropped.discard(name)
    elif is_there:
        created.add(name)
    elif name in created:
        created.discard(name)
    else:
        dropped.add(name)


def _tail_first(change: Change) -> tuple[bool, int]:
    # What leaves a list leaves from its end, so that places stay true meanwhile. It
    # leaves before others come: to Python, 1 and True are one key.
    last = change.path[-1]
    is_removed = change.op == "removed"
    return not is_removed, -last if is_removed and type(last) is int else 0


def _applied(holder: Any, path: Path, change: Change) -> Any:
    """Return ``holder`` with ``change`` made at ``path`` below it, in place if it can be."""
    if isinstance(holder, Named):
        return Named(holder.name, _applied(dict(holder.fields), path, change))
    if type(holder) is tuple:
        return tuple(_applied(list(holder), path, change))
    if change.op == "added" and len(path) == 1:
        if type(holder) is not list:
            holder[path[0]] = change.after
        elif path[0] == len(holder):
            holder.append(change.after)
        else:
            raise IndexError(path[0])
        return holder
    key = _held_key(holder, path[0])
    inner = holder[key]
    if len(path) > 1:
        holder[key] = _applied(inner, path[1:], change)
    elif change.op == "removed":
        del holder[key]
    else:
        holder[key] = change.after
    return holder


def _held_key(holder: Any, key: Any) -> Any:
    # A NaN is found only by how it is spelled.
    if type(holder) is not dict or key in holder:
        return key
    return next((held for held in holder if encode(held) == encode(key)), key)
