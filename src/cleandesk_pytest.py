"""The pytest plugin: one test case for each environment whose reset is judged.

    @pytest.mark.reset_certificate("gym:myrobots:Reach-v2", "gym:myrobots:Peg-v1", budget=20)
    def test_resets(reset_certificate):
        assert not reset_certificate.inert

``pytest -m reset`` selects these, and whatever else calls ``assert_resets``. Options are
those of ``cleandesk.assert_resets``. (A class or function alone goes through ``with_args``:
pytest takes ``mark(function)`` for a decoration.) Where a test leaves one open, the table
``[tool.cleandesk.certify]`` of pyproject.toml is asked. Nothing of cleandesk is imported
until a certificate is made.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from cleandesk.audit.certificate.certificate import Certificate
    from cleandesk.audit.certificate.known import Settled

_MARKER, _ALIAS = "reset_certificate", "reset"
_ASSERT = "assert_resets"
_OPTIONS = ("budget", "episodes", "steps")
_RUNNING: list[pytest.Item] = []
_JUDGED: pytest.StashKey[tuple[Settled, bool]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that hold for all environments of a session."""
    group = parser.getgroup("cleandesk", "resets (cleandesk)")
    group.addoption(
        "--reset-budget", type=float, metavar="SECONDS", help="seconds for each certificate"
    )
    group.addoption(
        "--reset-episodes", type=int, metavar="N", help="resets judged of each environment"
    )
    group.addoption("--reset-steps", type=int, metavar="N", help="steps of each trace")
    group.addoption("--reset-json", metavar="FOLDER", help="keep each certificate there, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the two markers."""
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(*worlds, **options): judge the reset of each world, a case for each; "
        "the options are those of cleandesk.assert_resets",
    )
    config.addinivalue_line("markers", f"{_ALIAS}: judges a reset")


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> None:
    """Have what is marked use the fixture, whether it asks for it by name or not."""
    function = getattr(obj, "__func__", obj)
    if not inspect.isfunction(function):
        return
    own = [mark.name for mark in getattr(function, "pytestmark", ())]
    if _MARKER in own or collector.get_closest_marker(_MARKER) is not None:
        pytest.mark.usefixtures(_MARKER)(function)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a case of each world that a marker names."""
    marker = metafunc.definition.get_closest_marker(_MARKER)
    if marker is None:
        return
    if not marker.args:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: name what is judged: "
            f'@pytest.mark.{_MARKER}("gym:CartPole-v1")'
        )
    names = [world if isinstance(world, str) else _name(world) for world in marker.args]
    metafunc.parametrize(_MARKER, marker.args, ids=names, indirect=True)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Have ``-m reset`` select what judges a reset, however it does so."""
    code = getattr(getattr(item, "function", None), "__code__", None)
    is_calling = code is not None and _ASSERT in code.co_names
    is_using = {_MARKER, _ASSERT} & set(getattr(item, "fixturenames", ()))
    if (is_calling or is_using) and item.get_closest_marker(_ALIAS) is None:
        item.add_marker(_ALIAS)


@pytest.fixture
def reset_certificate(request: pytest.FixtureRequest) -> Certificate:
    """The certificate of the world that the marker names; it has passed where a test runs."""
    marker = request.node.get_closest_marker(_MARKER)
    if marker is None or not hasattr(request, "param"):
        raise pytest.UsageError(
            f'{request.node.nodeid}: mark it with @pytest.mark.{_MARKER}("gym:CartPole-v1")'
        )
    options = dict(marker.kwargs)
    # What it leads to is decided in the call, so that JUnit counts a failure and no error.
    is_allowed = bool(options.pop("allow_unknown", False))
    settled = _judged(request.node, request.param, options)
    request.node.stash[_JUDGED] = (settled, is_allowed)
    return settled.certificate


@pytest.fixture
def assert_resets(request: pytest.FixtureRequest) -> Callable[..., Certificate]:
    """``cleandesk.assert_resets``, with the session's options and the certificate in JUnit's file."""

    def assert_these(world: Any, *, allow_unknown: bool = False, **options: Any) -> Certificate:
        __tracebackhide__ = True
        from cleandesk.report.assertion import require_clean

        settled = _judged(request.node, world, options)
        require_clean(settled, allow_unknown=allow_unknown)
        return settled.certificate

    return assert_these


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Know which test runs, for what it imports."""
    _RUNNING.append(item)
    try:
        return (yield)
    finally:
        _RUNNING.pop()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Fail with the first screen of the certificate, before the test itself."""
    if pyfuncitem.get_closest_marker(_MARKER) is None:
        return
    from cleandesk.report.assertion import require_clean

    # A case that is marked and was not judged must not pass: there is no default here.
    settled, is_allowed = pyfuncitem.stash[_JUDGED]
    try:
        require_clean(settled, allow_unknown=is_allowed)
    except AssertionError as failure:
        said = str(failure)
    else:
        return
    # Without lines of this file beneath it: they say nothing of the environment.
    pytest.fail(said, pytrace=False)


def _judged(item: pytest.Item, world: Any, options: dict[str, Any]) -> Settled:
    """Make the certificate, and keep it where reports look for it."""
    from cleandesk.report.assertion import judged, reference_of

    reference, _ = reference_of(world)
    chosen = _chosen(item.config, reference, options)
    settled = judged(world, chosen.pop("known"), **chosen)
    _keep(item, settled)
    return settled


def keep(settled: Settled) -> None:
    """Keep the certificate of an ``assert_resets`` that was imported, for the test that runs."""
    if _RUNNING:
        _keep(_RUNNING[-1], settled)


def _keep(item: pytest.Item, settled: Settled) -> None:
    from cleandesk.audit.certificate.spelling import to_json

    certificate = settled.certificate
    held = json.dumps(to_json(certificate), sort_keys=True)
    item.user_properties.append((_MARKER, held))
    folder = item.config.getoption("--reset-json")
    if folder:
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^\w.-]+", "_", item.nodeid.replace("::", "."))[-200:]
        (path / f"{name}.json").write_text(held + "\n", "utf-8")
    if certificate.repro is not None:
        item.add_report_section("call", "script that reproduces it", certificate.repro)


def _chosen(config: pytest.Config, reference: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``judged``: command line, then the test, then pyproject.toml."""
    from cleandesk.audit.certificate.known import Known
    from cleandesk.cli.settings import settings_for

    settings = settings_for(reference, config.rootpath)
    held = {**settings.to_call(), "known": settings.read_known(reference)}
    given = {"budget_s" if name == "budget" else name: value for name, value in options.items()}
    if given.get("known") is not None:
        given["known"] = Known.parse(given["known"])
    said = {name: config.getoption(f"--reset-{name}") for name in _OPTIONS}
    said["budget_s"] = said.pop("budget")
    return {**held, **given, **{name: value for name, value in said.items() if value is not None}}


def _name(world: object) -> str:
    return str(getattr(world, "__qualname__", type(world).__name__))
