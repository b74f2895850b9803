"""State in a service, as far as the service itself lists it.

``reading`` asks for it, from the world's own process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from cleandesk.errors import ContractError, shown
from cleandesk.state.contract import SurfaceTerms

_CALL = re.compile(r"(GET|POST|PUT|PATCH|DELETE) (/\S*)")
_URL = re.compile(r"https?://[^/\s?#@]+/?")


def http(
    url: str | None = None,
    *,
    app: str | None = None,
    reset: str | None = None,
    ignore: Mapping[str, str] | None = None,
    incidental: Sequence[str] = (),
    declared: Mapping[str, str] | None = None,
    **tables: str,
) -> SurfaceTerms:
    """Name the endpoints of a service that list its state.

    A JSON body is read as a value, any other body as text. Name only endpoints that
    change nothing when they are read. What the service lists nowhere is not read.

    Args:
        url: Where an outside service is, such as ``http://127.0.0.1:8000``.
        app: In its place, the name of an app that the world serves (``at.serve``);
            without either, the world's only app.
        reset: Called before each reset of the world, such as ``POST /reset``.
        ignore: Pattern below the surface -> reason; such a field is never compared.
        incidental: Patterns verified at the start and free to change.
        declared: Pattern -> sampler; such a field varies per episode.
        tables: Table name -> path that is read with GET, such as ``cache="/cache"``.

    Raises:
        ContractError: CD-202, no endpoint, or a term that can't be meant.

    Example:
        >>> http(cache="/cache", jobs="/jobs?state=open", reset="POST /reset")
    """
    _require_meant(url, app, reset, tables)
    return SurfaceTerms(
        "http",
        {"app": app, "reset": reset, "tables": dict(tables), "url": url},
        dict(ignore or {}),
        tuple(incidental),
        dict(declared or {}),
    )


def _require_meant(
    url: str | None, app: str | None, reset: str | None, tables: Mapping[str, str]
) -> None:
    if url is not None and app is not None:
        raise _refused(f"both a url and the app {shown(app, 40)!r}", "give one of them")
    if url is not None and not _URL.fullmatch(url):
        raise _refused(f"{shown(repr(url), 80)} is no address", "write http://HOST:PORT")
    if not tables:
        raise _refused("no endpoint that lists state", 'name one, such as cache="/cache"')
    for name, path in tables.items():
        if not re.fullmatch(r"/[!-~]*", path):
            raise _refused(
                f"the table {name} at {shown(repr(path), 80)}", "a path begins with / and is ASCII"
            )
    if reset is not None and not _CALL.fullmatch(reset):
        raise _refused(f"the reset {shown(repr(reset), 80)}", 'write it as "POST /reset"')


def _refused(what: str, do: str) -> ContractError:
    return ContractError("CD-202", f"http(..) was given {what}", where="a contract", do=do)
