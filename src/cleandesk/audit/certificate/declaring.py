"""What is meant to vary: taken out of the comparison by pattern, and held to its sampler.

A declaration is a claim. One that names no field, or whose sampler can't have drawn what
is there, is wrong, and a field outside its sampler stays in the comparison.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cleandesk.audit.certificate.certificate import DeclaredField
from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.rig import Declared
from cleandesk.audit.certificate.texts import text_of_leaf
from cleandesk.errors import ContractError, UsageError, shown
from cleandesk.state.canon import Named
from cleandesk.state.pattern import Pattern, fits
from cleandesk.state.sampler import Sampler

Sides = tuple[Leaf | None, Leaf | None]
"""What a fresh build has at a path, and what the judged rig has there."""

_NAMED = 2
KEPT = "kept"
"""The sampler of what persists on purpose: a fresh build is given it before its reset."""

_FORMS = "any, kept, uniform LOW HIGH, integer LOW HIGH, choice A B ..."
_WORDS = frozenset({"any", KEPT, "uniform", "integer", "integers", "choice"})
_OF_A_RIG = re.compile(r"[A-Za-z_]\w*(\.\w+)+")
_CHECKED = frozenset({Kind.VALUE, Kind.ARRAY})
_OF_A_CONTAINER = frozenset({Kind.LENGTH, Kind.ORDER, Kind.ALIAS})
"""What a walk says of a container: no value that a sampler draws."""


@dataclass(frozen=True, slots=True)
class Term:
    """One declaration, read.

    Attributes:
        declared: As it was written.
        pattern: What it names.
        sampler: What the value is drawn from, or None: words of a rig's own.
        is_default: Whether the rig says it by itself; then it may name nothing.
    """

    declared: Declared
    pattern: Pattern
    sampler: Sampler | None
    is_default: bool = False

    def problem(self, leaf: Leaf | None) -> str:
        """Return why the sampler can't have drawn the value of ``leaf``, or empty."""
        if leaf is None or self.sampler is None or self.sampler.text == "any":
            return ""
        if leaf.kind in _OF_A_CONTAINER:
            return ""
        if leaf.kind not in _CHECKED:
            return f"{text_of_leaf(leaf, 60)} can't be held against {self.declared.sampler!r}"
        if _is_drawn(self.sampler, leaf.value):
            return ""
        return f"{text_of_leaf(leaf, 60)} lies outside {self.declared.sampler!r}"


class Declaring:
    """The declarations of one certificate.

    Args:
        defaults: Those of the rig itself; one that names nothing is no problem.
        given: Those of whoever asks for the certificate.

    Raises:
        ContractError: CD-203, a pattern can't be read; CD-205, a sampler can't.
    """

    def __init__(self, defaults: Sequence[Declared] = (), given: Sequence[Declared] = ()) -> None:
        # What was asked for goes first: it may give a default its sampler.
        self.terms = (
            *(_term(each) for each in given),
            *(_term(each, is_default=True) for each in defaults),
        )

    def split_off(self, apart: Mapping[str, Sides]) -> tuple[dict[str, Sides], dict[str, Sides]]:
        """Part the fields that differ: (those to be judged, those declared to vary).

        A declared field with a value outside its sampler is among those to be judged.
        """
        kept: dict[str, Sides] = {}
        taken: dict[str, Sides] = {}
        for path, sides in apart.items():
            term = self.term_of(path)
            is_taken = term is not None and not any(map(term.problem, sides))
            (taken if is_taken else kept)[path] = sides
        return kept, taken

    def outside(self, apart: Mapping[str, Sides]) -> dict[str, str]:
        """Return, by path, why a declared field can't have been drawn from its sampler."""
        found: dict[str, str] = {}
        for path, sides in apart.items():
            term = self.term_of(path)
            problems = [] if term is None else [*filter(None, map(term.problem, sides))]
            if problems:
                found[path] = problems[-1]
        return found

    def term_of(self, path: str) -> Term | None:
        """Return the first declaration that names ``path``, or None."""
        parts = parts_of(path) if self.terms else ()
        return next((term for term in self.terms if names(term.pattern, parts)), None)

    def to_check(self, paths: Iterable[str]) -> list[str]:
        """Return which of ``paths`` have a sampler that a value can be held against."""
        if not any(term.sampler and term.sampler.text != "any" for term in self.terms):
            return []
        found = ((path, self.term_of(path)) for path in paths)
        return [
            path
            for path, term in found
            if term is not None and term.sampler is not None and term.sampler.text != "any"
        ]

    def results(
        self,
        paths: Iterable[str],
        apart: Iterable[Mapping[str, Sides]],
        leaf_of: Callable[[str], Leaf | None] | None = None,
    ) -> tuple[DeclaredField, ...]:
        """Return what became of each declaration.

        Args:
            paths: All fields that were read, on either side.
            apart: The fields that differed at each boundary, declared or not; also equal
                ones of ``to_check``, if they are to be held against their sampler.
            leaf_of: Returns the leaf at a path, so that a pattern that points into a
                packed container is known to name something.
        """
        named: dict[int, set[str]] = {id(term): set() for term in self.terms}
        problems: dict[int, str] = {}
        for sides_of in apart:
            for path, sides in sides_of.items():
                term = self.term_of(path)
                if term is None:
                    continue
                named[id(term)] |= {path} if _is_difference(sides) else set()
                problem = next(filter(None, map(term.problem, sides)), "")
                if problem:
                    problems.setdefault(id(term), f"{path}: {problem}")
        missing = self._naming_nothing([t for t in self.terms if not named[id(t)]], paths, leaf_of)
        return tuple(
            DeclaredField(
                term.declared.pattern,
                term.declared.sampler,
                term.declared.why,
                tuple(sorted(named[id(term)])),
                problems.get(id(term)) or ("it names no field" if id(term) in missing else ""),
            )
            for term in self.terms
        )

    @property
    def kept(self) -> list[str]:
        """The patterns of what persists on purpose."""
        return [term.declared.pattern for term in self.terms if term.declared.sampler == KEPT]

    def unchecked(self) -> tuple[str, ...]:
        """Return, in a sentence per sampler, for which fields no value was held against it."""
        patterns: dict[str, list[str]] = {}
        for term in self.terms:
            if term.sampler is None:
                patterns.setdefault(term.declared.sampler, []).append(term.declared.pattern)
        return tuple(
            f"values declared as {sampler!r}: {', '.join(each[:_NAMED])}"
            + (f" and {len(each) - _NAMED} more" if len(each) > _NAMED else "")
            for sampler, each in patterns.items()
        )

    def _naming_nothing(
        self,
        terms: Sequence[Term],
        paths: Iterable[str],
        leaf_of: Callable[[str], Leaf | None] | None,
    ) -> set[int]:
        open_ = [term for term in terms if not term.is_default]
        for path in paths if open_ else ():
            parts = parts_of(path)
            open_ = [term for term in open_ if not _is_named(term, path, parts, leaf_of)]
            if not open_:
                break
        return {id(term) for term in open_}


def parse_declared(text: str) -> Declared:
    """Read ``PATTERN=SAMPLER``, as the command line has it.

    Raises:
        UsageError: CD-821, there is no pattern or no sampler, or the sampler is unknown.
        ContractError: CD-203, the pattern can't be read; CD-205, the sampler can't.
    """
    pattern, sampler = _halves(text)
    word = sampler.partition(" ")[0]
    if not pattern or not (word in _WORDS or _OF_A_RIG.fullmatch(sampler)):
        raise UsageError(
            "CD-821",
            f"{shown(repr(text), 80)} declares nothing",
            where="declare",
            do=f"write PATTERN=SAMPLER, the sampler one of: {_FORMS}",
        )
    declared = Declared(pattern, sampler, "declared by whoever asked for the certificate")
    _term(declared)
    return declared


def names(pattern: Pattern, parts: Sequence[str]) -> bool:
    """Tell whether ``pattern`` names the field of these segments, or one above it.

    A pattern that begins with a name of its own, and not with a root, is looked for
    below the root: ``level`` names ``env.level``.
    """
    if _begins(pattern.parts, parts):
        return True
    return pattern.parts[0] is not None and _begins(pattern.parts, parts[1:])


def reaches(pattern: Pattern, parts: Sequence[str]) -> bool:
    """Tell whether ``pattern`` names the field of these segments, or a part inside it."""
    if names(pattern, parts):
        return True
    return any(
        above and _begins(pattern.parts[: len(above)], above) and len(pattern.parts) > len(above)
        for above in (parts, parts[1:])
    )


def parts_of(path: str) -> tuple[str, ...]:
    """Return the segments of a path that a walk spelled."""
    return _parts_of(path)


@functools.lru_cache(maxsize=65536)
def _parts_of(path: str) -> tuple[str, ...]:
    try:
        return tuple("*" if part is None else part for part in Pattern.parse(path).parts)
    except ContractError:
        # Nobody can have written a pattern for it.
        return (path,)


def _begins(pattern: Sequence[str | None], parts: Sequence[str]) -> bool:
    return len(pattern) <= len(parts) and all(map(fits, pattern, parts))


def _term(declared: Declared, *, is_default: bool = False) -> Term:
    pattern = Pattern.parse(declared.pattern)
    return Term(declared, pattern, _sampler(declared.sampler, is_default=is_default), is_default)


def _sampler(text: str, *, is_default: bool) -> Sampler | None:
    first, _, rest = text.partition(" ")
    if text == KEPT:
        return Sampler.parse("any")
    try:
        # In numpy's words it is "integers".
        return Sampler.parse(f"integer {rest}" if first == "integers" else text)
    except ContractError:
        # A slip of whoever asks must not switch the check off; a rig has words of its own.
        if is_default or _OF_A_RIG.match(text):
            return None
        raise


def _halves(text: str) -> tuple[str, str]:
    """Split at the first ``=`` that stands in no brackets: a key may hold one."""
    depth = 0
    for place, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if char == "=" and depth <= 0:
            return text[:place].strip(), text[place + 1 :].strip()
    return text.strip(), ""


def _is_drawn(sampler: Sampler, value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_drawn(sampler, item) for item in value)
    return sampler.holds(value)


def _is_difference(sides: Sides) -> bool:
    one, other = sides
    return one is None or other is None or one.to_bytes() != other.to_bytes()


def _is_named(
    term: Term, path: str, parts: Sequence[str], leaf_of: Callable[[str], Leaf | None] | None
) -> bool:
    if names(term.pattern, parts):
        return True
    if leaf_of is None:
        return False
    for above in (parts, parts[1:]):
        rest = term.pattern.parts[len(above) :]
        if above and rest and _begins(term.pattern.parts[: len(above)], above):
            leaf = leaf_of(path)
            return leaf is not None and leaf.kind is Kind.VALUE and _holds(leaf.value, rest)
    return False


def _holds(value: Any, parts: Sequence[str | None]) -> bool:
    """Tell whether a packed container has a place that ``parts`` name."""
    if not parts:
        return True
    return any(fits(parts[0], key) and _holds(item, parts[1:]) for key, item in _items(value))


def _items(value: Any) -> Iterator[tuple[object, Any]]:
    if isinstance(value, Named):
        yield from value.fields.items()
    elif isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)
