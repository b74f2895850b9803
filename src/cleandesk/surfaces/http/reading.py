"""Asking a service for its state, over connections that are closed at once.

Only GET is sent for a reading. Redirects are not followed: another address may be
another service. Coverage is partial by nature (law 15): see ``unread``.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from cleandesk.errors import WorldError, shown
from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.pattern import Pattern
from cleandesk.state.prune import prune
from cleandesk.surfaces.http.exact import parse_exact

MOST_BYTES = 32 << 20
TIMEOUT_S = 10.0
_CHUNK = 1 << 16
_CHARSET = re.compile(r"charset=\"?([\w.-]+)", re.IGNORECASE)

GetUrl = Callable[[str | None], str]
"""Returns the address of an app by its name; of the only one for None."""


def read_http(
    get_url: GetUrl, surface: str, terms: SurfaceTerms
) -> tuple[dict[str, Any], set[str]]:
    """Read the endpoints that a contract names.

    Args:
        get_url: Finds an app of the world.
        surface: The surface's name in the contract, for messages.
        terms: What the contract says of it.

    Returns:
        Table -> value, without the ignored fields; and the ignored patterns (from the
        surface down) that named something.

    Raises:
        WorldError: CD-272, the service can't be reached; CD-273, it answered with
            another status than 200; CD-274, its answer can't be read exactly.
    """
    tables: dict[str, Any] = {}
    where = f"surface {surface}"
    with _connected(_url(get_url, terms), where) as connection:
        for name, path in terms.source["tables"].items():
            status, kind, body = _ask(connection, "GET", path, where)
            if status != 200:
                raise _bad_status(f"GET {path}", status, body, where)
            tables[name] = _value(kind, body, path, where)
    matched: set[str] = set()
    for text in terms.ignore:
        tables, fits = prune(tables, Pattern.parse(text).parts)
        if fits:
            matched.add(f"{surface}.{text}")
    return tables, matched


def reset_http(get_url: GetUrl, surface: str, terms: SurfaceTerms) -> None:
    """Make the call that resets the service, if the contract names one.

    Raises:
        WorldError: CD-272, it can't be reached; CD-273, it did not answer 200 to 299.
    """
    call = terms.source["reset"]
    if call is None:
        return
    method, _, path = call.partition(" ")
    where = f"the reset of surface {surface}"
    with _connected(_url(get_url, terms), where) as connection:
        status, _, body = _ask(connection, method, path, where)
    if not 200 <= status <= 299:
        raise _bad_status(call, status, body, where)


def unread(terms: SurfaceTerms) -> tuple[str, ...]:
    """Return what a reading under ``terms`` does not look at."""
    paths = ", ".join(f"GET {path}" for path in terms.source["tables"].values())
    return (f"a service: whatever it does not list at {paths}",)


def is_answered(url: str, path: str, timeout_s: float) -> bool:
    """Tell whether GET ``path`` is answered with 200 now."""
    where = "a condition of an app"
    try:
        with _connected(url, where, timeout_s) as connection:
            return _ask(connection, "GET", path, where)[0] == 200
    except WorldError as error:
        if isinstance(error.__cause__, OSError | http.client.HTTPException):
            return False
        raise


def _url(get_url: GetUrl, terms: SurfaceTerms) -> str:
    url = terms.source["url"]
    return str(url) if url is not None else get_url(terms.source["app"])


@contextlib.contextmanager
def _connected(
    url: str, where: str, timeout_s: float | None = None
) -> Iterator[http.client.HTTPConnection]:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout_s or TIMEOUT_S)
    try:
        yield connection
    except (OSError, http.client.HTTPException) as error:
        raise WorldError(
            "CD-272",
            f"the service at {shown(url, 120)} can't be read: "
            f"{type(error).__name__}: {shown(error)}",
            where=where,
            do="look whether it runs; an address outside must be named under [network] world",
        ) from error
    finally:
        connection.close()


def _ask(
    connection: http.client.HTTPConnection, method: str, path: str, where: str
) -> tuple[int, str, bytes]:
    """Return status, content type and body."""
    deadline = time.monotonic() + (connection.timeout or TIMEOUT_S)
    headers = {"Accept": "application/json, */*", "Cache-Control": "no-cache"}
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    parts: list[bytes] = []
    size = 0
    # A read at a time: one that trickles would otherwise never be too slow.
    while data := answer.read1(_CHUNK):
        parts.append(data)
        size += len(data)
        if size > MOST_BYTES:
            raise _unreadable(f"the answer is larger than {MOST_BYTES} bytes", path, where)
        if time.monotonic() > deadline:
            raise TimeoutError(f"{method} {path} took longer than {connection.timeout} s")
    left = answer.length
    # A response of known length does not end by itself, and blocks the next request.
    answer.close()
    if left:
        raise http.client.IncompleteRead(b"".join(parts), left)
    return answer.status, answer.headers.get("Content-Type", ""), b"".join(parts)


def _value(kind: str, body: bytes, path: str, where: str) -> Any:
    charset = _CHARSET.search(kind)
    try:
        text = body.decode(charset[1] if charset else "utf-8")
    except (UnicodeDecodeError, LookupError):
        # Compared by its bytes.
        return body
    media = kind.partition(";")[0].strip().lower()
    if media != "application/json" and not media.endswith("+json"):
        return text
    try:
        return parse_exact(text)
    except ValueError as error:
        raise _unreadable(f"the answer is no exact JSON: {shown(error)}", path, where) from error


def _bad_status(call: str, status: int, body: bytes, where: str) -> WorldError:
    text = shown(body[:200].decode(errors="replace"), 120)
    return WorldError(
        "CD-273",
        f"{call} was answered with status {status}: {text}",
        where=where,
        do="correct the path in the contract, or the service",
    )


def _unreadable(message: str, path: str, where: str) -> WorldError:
    return WorldError(
        "CD-274",
        message,
        where=f"{where}, GET {path}",
        do="list less there, or in JSON that says each thing once",
    )
