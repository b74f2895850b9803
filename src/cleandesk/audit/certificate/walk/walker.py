"""The walk: breadth first over everything reachable, running no code of the rig.

What an object holds is read with the descriptors of Python's own types; no property, no
``__getattr__``, ``__iter__``, ``__eq__``, ``__hash__``, ``__len__`` or ``__repr__`` of a rig's class is run.
"""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from types import FunctionType
from typing import Any

from cleandesk.audit.certificate.leaf import SHORT_BYTES
from cleandesk.audit.certificate.walk import spaces
from cleandesk.audit.certificate.walk.held import (
    ALIAS,
    OPAQUE,
    Held,
    Walk,
    plain_leaf,
    short,
    told_token,
)
from cleandesk.audit.certificate.walk.packing import ATOMS, atom_bytes
from cleandesk.audit.certificate.walk.paths import joined
from cleandesk.audit.certificate.walk.plans import Plan, is_a
from cleandesk.audit.certificate.walk.skips import module_of
from cleandesk.audit.certificate.walk.spaces import Owner
from cleandesk.state.reference import spelled

Opener = Callable[["Walker", str, Any], None]
Expander = Callable[["Walker", str, Any], None]
_Layout = tuple[tuple[Any, ...], Collection[str], list[tuple[str, str]]]
_MOST_NOTES = 50
_LONGEST_PATH = 6_000
_SHOWN = 100


class Memory:
    """What the next walk of this process can use again: digests, and spelled paths."""

    __slots__ = ("held", "layouts", "owners", "owners_of")

    def __init__(self) -> None:
        self.held: Mapping[str, Held] = {}
        self.layouts: dict[str, _Layout] = {}
        self.owners: dict[str, weakref.ref[Any]] = {}
        self.owners_of: dict[tuple[type, ...], list[Owner]] = {}

    def keep(self, walker: Walker) -> None:
        """Remember what a walk made."""
        self.held, self.layouts = walker.held, walker.layouts
        # Weakly: a function may hold a rig that is gone by the next walk.
        self.owners = {root: weakref.ref(owner) for root, owner in walker.owners.items()}
        self.owners_of = walker.owners_of


class Walker:
    """One walk."""

    def __init__(
        self, openers: Callable[[type], Opener], memory: Memory, skip: Collection[int], budget: int
    ) -> None:
        self.tokens: dict[str, bytes] = {}
        self.opaque: dict[str, tuple[str, int]] = {}
        self.held: dict[str, Held] = {}
        self.notes: dict[str, None] = {}
        self.nodes = 0
        self.before = memory.held
        self.layouts: dict[str, _Layout] = {}
        self._layouts_before = memory.layouts
        self.owners_of: dict[tuple[type, ...], list[Owner]] = {}
        self._owners_before = memory.owners_of
        self.openers = openers
        self._table: dict[type, Opener] = {}
        self._queue: deque[tuple[Expander, str, Any]] = deque()
        self._met: dict[int, str] = {}
        self._kept: list[Any] = []  # an identity must not be used again while the walk lasts
        self.skip = skip
        self._budget = budget
        self._kinds: set[type] = set()
        self._new_kinds: list[Plan] = []
        self._functions: list[Any] = []
        self._leads: list[Owner] = []
        self.owners: dict[str, Any] = {}
        self.around: Mapping[int, str] | None = None  # of the walk that this one looks ahead for

    def run(self, roots: Mapping[str, object]) -> None:
        """Walk everything that can be reached from ``roots``."""
        for name in sorted(roots):
            self.child(spelled((name,)), roots[name])
        self.drain()
        while self._new_kinds or self._functions or self._leads:
            kinds, self._new_kinds = self._new_kinds, []
            leads, self._leads = self._leads, []
            functions, self._functions = self._functions, []
            for function in functions:
                self._function(function)
            for word, name, module, owner in (*self._owners_of(kinds), *leads):
                if id(owner) not in self._met:
                    self._space(owner, self._root(word, name, module, owner))
            self.drain()

    def child(self, path: str, value: Any) -> None:
        """Record what stands at ``path``."""
        kind = type(value)
        if kind in ATOMS:
            self.nodes += 1
            data = atom_bytes(value)
            if len(data) <= SHORT_BYTES:
                self.tokens[path] = data
            else:
                self.plain(path, data)
            return
        opener = self._table.get(kind)
        if opener is None:
            opener = self._table[kind] = self.openers(kind)
        if id(value) in self.skip:
            return
        self.nodes += 1
        opener(self, path, value)

    def is_known(self, path: str, value: Any) -> bool:
        """Tell whether an object has a path already; then that is what stands at ``path``."""
        first = self._met.get(id(value))
        if first is None and self.around is not None:
            first = self.around.get(id(value))
        if first is not None:
            self.tokens[path] = ALIAS + first.encode(errors="surrogatepass")
            return True
        self._met[id(value)] = path
        self._kept.append(value)
        return False

    @property
    def met(self) -> Mapping[int, str]:
        """Every identity that was met, with its path."""
        return self._met

    def later(self, expand: Expander, path: str, value: Any) -> None:
        """Open ``value`` once everything that is nearer was opened."""
        self._queue.append((expand, path, value))

    def plain(self, path: str, data: bytes, about: str = "", kind: Any = None) -> None:
        """Record a plain value by its bytes."""
        before = self.before.get(path)
        if (
            before is not None
            and before[1] is plain_leaf
            and before[2] == data
            and before[3] == about
            and before[4] is kind
        ):
            self.held[path] = before
            self.tokens[path] = before[0]
            return
        token = told_token(f"{kind or ''} {about}", data) if about or kind else short(data)
        self.hold(path, (token, plain_leaf, data, about, kind))

    def hold(self, path: str, held: Held) -> None:
        """Record a leaf with what it is made of."""
        self.held[path] = held
        self.tokens[path] = held[0]

    def shut(self, path: str, about: str, value: Any) -> None:
        """Record a handle that can't be read."""
        self.tokens[path] = OPAQUE + about.encode(errors="surrogatepass")
        self.opaque[path] = (about, id(value))
        self._kept.append(value)

    def note(self, text: str) -> None:
        """Say what was cut or could not be read."""
        if len(self.notes) < _MOST_NOTES:
            self.notes[text] = None

    def has_room(self, path: str, count: int) -> bool:
        """Tell whether ``count`` more values fit into the budget; if not, say so."""
        if self.nodes + count <= self._budget:
            return True
        self.note(f"{path} was not opened: the budget of {self._budget:,} values is used up")
        return False

    def met_kind(self, plan: Plan) -> None:
        """Have the classes of an object looked at, once."""
        if plan.kind not in self._kinds:
            self._kinds.add(plan.kind)
            self._new_kinds.append(plan)

    def met_function(self, function: Any) -> None:
        """Have what a function holds looked at, once."""
        if id(function) not in self._met:
            self._met[id(function)] = ""
            self._kept.append(function)
            self._functions.append(function)

    def layout(self, path: str, names: tuple[Any, ...], leaves: Collection[str]) -> _Layout:
        """Return the paths of an object's attributes, made once while their names stay."""
        layout = self._layouts_before.get(path)
        if layout is None or layout[0] != names or layout[1] is not leaves:
            chosen = sorted(
                name for name in names if type(name) is str and name and is_walked(name)
            )
            kept = [(name, joined(path, name)) for name in chosen if name not in leaves]
            layout = (names, leaves, kept)
        self.layouts[path] = layout
        return layout

    def finished(self) -> Walk:
        """Return what was found."""
        return Walk(self.tokens, self.opaque, tuple(self.notes), self.nodes, self.held)

    def drain(self) -> None:
        """Open what waits to be opened, the nearest first."""
        queue = self._queue
        while queue:
            expand, path, value = queue.popleft()
            if self.nodes > self._budget:
                self.has_room(path, 1)
                self.shut(path, "budget", value)
            elif len(path) > _LONGEST_PATH:
                # Of a chain of objects all paths together grow with the square of its length.
                self.note(f"{path[:_SHOWN]}… was not opened: it lies too deep")
                self.shut(path, "depth", value)
            else:
                expand(self, path, value)

    def _owners_of(self, kinds: Sequence[Plan]) -> list[Owner]:
        key = tuple(plan.kind for plan in kinds)
        found = self._owners_before.get(key)
        if found is None:
            found = _owners(kinds)
        self.owners_of[key] = found
        return found

    def _root(self, word: str, name: str, module: str, owner: Any) -> str:
        head = f"{word} {name}"
        number = 1
        while self.owners.setdefault(head, owner) is not owner:
            head = f"{word} {name} {module}" + (f" #{number}" if number > 1 else "")
            number += 1
        return f"[{head}]"

    def _space(self, owner: Any, root: str) -> None:
        self._met[id(owner)] = root
        space = spaces.space_of(owner, root)
        self.tokens.update(space.tokens)
        self.held.update(space.held)
        for path, value in space.changing:
            self.child(path, value)
        for function in space.stateful:
            self.met_function(function)
        self._leads += space.leads
        for function in space.with_attributes():
            self.met_function(function)

    def _function(self, function: Any) -> None:
        inner = spaces.wrapped_by(function)
        if inner is not None:
            self.met_function(inner)
        named = inner if type(function) is not FunctionType and inner is not None else function
        is_library = spaces.is_library_function(named)
        root = ""
        for segments, value in spaces.parts_of_function(function):
            if type(value) in spaces.FUNCTIONS:
                self.met_function(value)
            if is_library or is_a(value, type):
                continue
            root = root or self._root("function", *_names(named), function)
            path = root
            for segment in segments:
                path = joined(path, segment)
            self.child(path, value)


def _owners(kinds: Sequence[Plan]) -> list[Owner]:
    """Return (word, name, module, class or module) of all that kinds bring, sorted."""
    owners = {id(each): each for plan in kinds for each in plan.owners}
    found: list[Owner] = [
        ("class", each.__qualname__, module_of(each), each) for each in owners.values()
    ]
    modules = {name: sys.modules.get(name) for plan in kinds for name in plan.modules}
    found += [("module", name, "", each) for name, each in modules.items() if each is not None]
    return sorted(found, key=lambda item: item[:3])


def _names(function: Any) -> tuple[str, str]:
    return str(getattr(function, "__qualname__", "?")), module_of(function)


def is_walked(name: str) -> bool:
    """Tell whether an attribute of this name is state: bookkeeping is not."""
    return not (name[:2] == "__" and name[-2:] == "__")
