"""``assert_resets``: a reset judged inside somebody's own tests; pytest is not needed for it."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from cleandesk.audit.certificate.certificate import Certificate, Class
from cleandesk.audit.certificate.known import Known, Settled, settle
from cleandesk.errors import CleandeskError, UsageError, shown
from cleandesk.report.certificate import first_screen
from cleandesk.verdict import Status

_UNKNOWN_ID = "CD-222"


class Options(TypedDict, total=False):
    """The other arguments of ``cleandesk.certify``, which says what each means."""

    arguments: Mapping[str, Any]
    steps: int
    seeds: Sequence[int]
    episode_seeds: Sequence[int]
    reset: str
    trace: bool
    pin: Sequence[str]
    path: Sequence[str]
    explain: bool
    order: bool


def assert_resets(
    world: str | Callable[..., Any],
    *,
    budget: float | None = None,
    known: Mapping[str, str] | None = None,
    declare: Mapping[str, str] | None = None,
    episodes: int | None = None,
    allow_unknown: bool = False,
    **options: Unpack[Options],
) -> Certificate:
    """Judge the reset of ``world``; fail with the first screen of its certificate.

    UNKNOWN fails too, with its reason: two fresh builds that disagree are a finding for
    whoever wants to compare scores. ``allow_unknown`` lets REFUSED-AT-ANCHOR and STATE-ONLY
    pass; a rig that can't be built or played (ERROR) never passes.

    Args:
        world: What `certify` takes (``gym:myrobots:Reach-v2``), or a function or class at the
            top of a module that makes one. It is built in processes of their own, so a lambda,
            a function inside a function, or a world that is built already can't be judged.
        budget: Wall seconds.
        known: Field -> ticket of leaks that are known; one that is fixed fails.
        declare: Field -> sampler of what is meant to vary (``{"env._level": "integers 0 9"}``).
        episodes: Boundaries judged.
        allow_unknown: Whether a rig about which nothing can be said passes.
        options: Further arguments of ``cleandesk.certify``.

    Returns:
        The certificate, of a reset that passed.

    Raises:
        AssertionError: It did not pass.
        UsageError: CD-875, the world can't be built in another process; its text says what to
            pass instead.
    """
    __tracebackhide__ = True
    tickets = Known.parse(known or {})
    settled = judged(world, tickets, budget_s=budget, declare=declare, episodes=episodes, **options)
    plugin = sys.modules.get("cleandesk_pytest")
    if plugin is not None:
        plugin.keep(settled)
    require_clean(settled, allow_unknown=allow_unknown)
    return settled.certificate


def judged(world: str | Callable[..., Any], known: Known, /, **chosen: Any) -> Settled:
    """Return the certificate of ``world``, held against the leaks that are known.

    Args:
        world: As in ``assert_resets``.
        known: Leaks with a ticket.
        chosen: Arguments of ``certify``; None where it is to choose.

    Raises:
        UsageError: CD-875 and CD-876, the world can't be built in another process.
    """
    # An error's text says what is wrong and what to do; our lines above it would hide it.
    __tracebackhide__ = True
    from cleandesk.audit.certificate.certify import certify

    reference, folders = reference_of(world)
    given = {name: value for name, value in chosen.items() if value is not None}
    given["path"] = (*given.get("path", ()), *folders)
    if isinstance(given.get("declare"), Mapping):
        given["declare"] = [f"{key}={value}" for key, value in given["declare"].items()]
    try:
        return settle(certify(reference, **given), known)
    except CleandeskError as error:
        failure = error
    if failure.code == _UNKNOWN_ID:
        _require_registered(reference)
    # Without the frames of cleandesk: its text says what is wrong and what to do.
    raise failure.with_traceback(None)


def require_clean(settled: Settled, *, allow_unknown: bool = False) -> None:
    """Raise where the certificate is no PASS, and no FAIL that is wholly known.

    Raises:
        AssertionError: With the certificate's first screen.
    """
    __tracebackhide__ = True
    cls = settled.certificate.cls
    is_unknown = cls.status is Status.UNKNOWN and cls is not Class.ERROR
    if not (settled.is_as_known or (is_unknown and allow_unknown)):
        raise AssertionError(failure_text(settled))


def failure_text(settled: Settled) -> str:
    """Return the first screen, and how to see the rest."""
    certificate = settled.certificate
    reference = certificate.stamp.get("reference", certificate.rig)
    command = f"cleandesk certify {shlex.quote(shown(reference))}"
    return f"{first_screen(certificate, settled)}\nfor the rest: {command}"


def reference_of(world: object) -> tuple[str, tuple[str, ...]]:
    """Return what ``world`` is called in another process, and where that looks for it.

    Raises:
        UsageError: CD-875, another process can't make it.
    """
    __tracebackhide__ = True
    if isinstance(world, str):
        return world, (str(Path.cwd()),)
    if isinstance(world, functools.partial):
        raise _unreachable(
            "a functools.partial", "pass its function, and its keywords as arguments={...}"
        )
    name = getattr(world, "__qualname__", None)
    module = sys.modules.get(getattr(world, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if not callable(world) or name is None or hasattr(world, "__self__"):
        raise _unreachable(*_built(world))
    if "<" in name or module is None or file is None:
        what = "a lambda" if "<lambda>" in name else f"{name}, which no module holds at its top,"
        raise _unreachable(
            what, "define it at the top of a module and pass it, or 'package.module:make'"
        )
    return _named(module.__name__, Path(file).resolve(), name)


def _named(module: str, file: Path, name: str) -> tuple[str, tuple[str, ...]]:
    parts = module.split(".")
    is_package = file.stem == "__init__"
    depth = len(parts) if is_package else len(parts) - 1
    root = file.parents[depth] if depth < len(file.parents) else file.parent
    own = root.joinpath(*parts)
    if file in {own.with_name(own.name + ".py"), own / "__init__.py"}:
        return f"{module}:{name}", (str(root),)
    # A script, or a module under a name that its place does not give it.
    return f"{file}:{name}", (str(file.parent),)


def _built(world: object) -> tuple[str, str]:
    spec = getattr(world, "spec", None)
    known = getattr(spec, "id", None)
    kind = shown(type(world).__name__, 60)
    if known is not None:
        module = _registrar(spec)
        return f"a {kind} that is built already", f"pass 'gym:{module}{shown(known, 100)}'"
    return (
        f"a {kind}, which is no function or class,",
        "pass a function at the top of a module that makes it, or 'package.module:make'",
    )


def _registrar(spec: object) -> str:
    """Return ``PACKAGE:`` where the environment is of another package than Gymnasium."""
    entry = getattr(spec, "entry_point", None)
    package = entry.partition(":")[0].partition(".")[0] if isinstance(entry, str) else ""
    return f"{shown(package, 100)}:" if package not in {"", "gymnasium", "__main__"} else ""


def _unreachable(what: str, do: str) -> UsageError:
    return UsageError(
        "CD-875",
        f"{what} can't be made in another process, where fresh builds come from",
        where="assert_resets, world",
        do=do,
    )


def _require_registered(reference: str) -> None:
    """Say so where an id is registered in this process alone, as by a conftest.py."""
    __tracebackhide__ = True
    name = reference.partition(":")[2]
    registration = sys.modules.get("gymnasium.envs.registration")
    if registration is not None and name in registration.registry:
        raise UsageError(
            "CD-876",
            f"{shown(name)} is registered in this process alone, as by a conftest.py",
            where=f"assert_resets, world {shown(reference)!r}",
            do=f"call gymnasium.register in a module, and pass 'gym:MODULE:{shown(name)}'",
        )
