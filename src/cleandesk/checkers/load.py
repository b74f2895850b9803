"""Find a checker by its name and see that it is one."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from cleandesk.checkers.evidence import ARGUMENTS
from cleandesk.errors import CheckerError, shown
from cleandesk.finding import find, source_digest

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Checker:
    """A checker that was found, with what it asks for.

    Attributes:
        ref: The name it was found by.
        function: What to call, by keyword.
        required: Arguments without a default.
        optional: Arguments with one.
        source_sha256: Of the file that holds it, in hex; ``unknown`` if there is none.
    """

    ref: str
    function: Callable[..., Any]
    required: tuple[str, ...]
    optional: tuple[str, ...]
    source_sha256: str

    def asks(self, given: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the parts of the evidence to hand over, beside the arguments ``given``.

        Raises:
            CheckerError: CD-505, an argument that nothing gives, or one given that the
                checker does not take.
        """
        names = (*self.required, *self.optional)
        for name in given:
            if name not in names or name in ARGUMENTS:
                taken = [one for one in names if one not in ARGUMENTS]
                raise CheckerError(
                    "CD-505",
                    f"the checker {self.ref} takes no argument {shown(repr(name), 60)} from with",
                    where=f"checker {self.ref}",
                    do=f"give with: {', '.join(taken) or 'nothing'}",
                )
        for name in self.required:
            if name not in ARGUMENTS and name not in given:
                raise CheckerError(
                    "CD-505",
                    f"the checker {self.ref} asks for {name!r}, which nothing gives",
                    where=f"checker {self.ref}",
                    do=f"ask for: {', '.join(ARGUMENTS)}; or set it in the check's with table",
                )
        return tuple(name for name in names if name in ARGUMENTS)


def load_checker(ref: str, *, folders: Sequence[str | Path] = ()) -> Checker:
    """Find the checker ``ref``.

    Args:
        ref: ``module:function``, ``path/file.py:function``, or a registered name.
        folders: Where a relative path is looked for, before the working directory.

    Raises:
        CheckerError: CD-501, it can't be found or its module can't be imported; CD-504,
            it contains an ``assert``; CD-510, it is no plain function.
    """
    return _load(ref, tuple(map(str, folders)))


# Reading the source of a function takes longer than most checks do.
@lru_cache(maxsize=4096)
def _load(ref: str, folders: tuple[str, ...]) -> Checker:
    place, _, name = ref.rpartition(":")
    found = next(
        (path for folder in folders if (path := Path(folder, place)).is_file()), Path(place)
    )
    is_file = place.endswith(".py")
    return checked(find("checker", f"{found}:{name}" if is_file else ref), ref)


def checked(function: Any, ref: str) -> Checker:
    """Return ``function`` as a checker.

    Raises:
        CheckerError: CD-504 or CD-510, as ``load_checker``.
    """
    if not callable(function) or inspect.isclass(function):
        raise _no_function(f"{ref} is {shown(repr(function), 60)}, not a function", ref)
    code = function if inspect.isroutine(function) else type(function).__call__
    if inspect.iscoroutinefunction(code) or inspect.isgeneratorfunction(code):
        raise _no_function(f"{ref} is asynchronous or a generator", ref)
    _refuse_assert(code, ref)
    required: list[str] = []
    optional: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in _BY_NAME:
            raise _no_function(f"{ref} takes {parameter}, which has no name to ask by", ref)
        (required if parameter.default is parameter.empty else optional).append(name)
    return Checker(ref, function, tuple(required), tuple(optional), source_digest(code))


def _refuse_assert(function: Callable[..., Any], ref: str) -> None:
    try:
        source = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError):
        # Compiled, or a lambda within a larger expression: there is no text to read.
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            first = inspect.getsourcelines(function)[1]
            condition = ast.unparse(node.test)
            raise CheckerError(
                "CD-504",
                f"the checker {ref} contains `assert {shown(condition, 80)}`",
                where=f"{inspect.getsourcefile(function)}, line {first + node.lineno - 1}",
                do="python -O drops it, and its failure would look like a bug of the checker; "
                f'write `if not ({shown(condition, 80)}): return cleandesk.fail("why")`',
            )


def _no_function(message: str, ref: str) -> CheckerError:
    return CheckerError(
        "CD-510",
        message,
        where=f"checker {ref}",
        do="write a plain function: def says_why(task, change, answer): ...",
    )
