"""Outgoing connections: blocked unless the suite allows them, and always reported.

An audit hook sees what Python code of this process opens. It does not see child
programs, nor extension modules that open sockets without Python's ``socket`` module;
``NOT_SEEN`` says so wherever a claim rests on this. It is a guard against accidents,
not against code that wants to get round it.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator, Sequence
from typing import Any

NOT_SEEN = "connections of child programs and of compiled code that bypasses Python's sockets"

_CONNECTIONS = {"socket.connect", "socket.sendto", "socket.sendmsg"}
_LOOK_UPS = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}
_LOCAL = ("127.0.0.1", "::1")
_INTERNET = {socket.AF_INET, socket.AF_INET6}

Rule = tuple[str, str]
"""A host in lower case and a port as text; ``*`` stands for every one."""

_blocked: list[str] = []
_rules: set[Rule] | None = None


class NetworkBlockedError(ConnectionRefusedError):
    """A connection outside what the suite allows."""


def guard_network(allowed: Sequence[str]) -> None:
    """Block every connection of this process that ``allowed`` does not name.

    Args:
        allowed: ``host``, ``host:port`` or ``*`` for all; an IPv6 address with a port is
            written ``[::1]:80``. Unix sockets are always allowed: they do not leave the
            machine.
    """
    global _rules  # noqa: PLW0603 - an audit hook is of the process and can't be removed
    is_first = _rules is None
    _rules = {rule for text in allowed for rule in _parsed(text)}
    if is_first:
        sys.addaudithook(_hook)


def allow_address(host: str, port: int) -> None:
    """Let this process reach a program that the world itself serves."""
    if _rules is not None:
        _rules.add((host, str(port)))


def take_blocked() -> list[str]:
    """Return the destinations blocked since the last call, as ``host:port``."""
    taken = _blocked.copy()
    _blocked.clear()
    return taken


def _parsed(text: str) -> Iterator[Rule]:
    host, colon, port = text.rpartition(":")
    is_address = not text.startswith("[") and text.count(":") > 1
    if is_address or not colon or not port.isdigit():
        host, port = text, "*"
    host = host.strip("[]").lower()
    yield host, port
    if host == "localhost":
        # Known without asking anyone.
        yield from ((address, port) for address in _LOCAL)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _rules is None:
        return
    if event in _CONNECTIONS:
        target = _target(*arguments[:2])
        if target is not None and not _allows(*target):
            _block(*target)
    elif event in _LOOK_UPS:
        host = _text(arguments[0])
        if host is not None:
            _look_up(host, _text(arguments[1] if len(arguments) > 1 else None) or "")


def _target(handle: Any, address: Any) -> Rule | None:
    """Return where a socket is going, or None if that is not on the internet."""
    # Of a connected socket the address was judged when it was connected.
    if getattr(handle, "family", None) not in _INTERNET or not isinstance(address, tuple):
        return None
    return _text(address[0]) or "", str(address[1]) if len(address) > 1 else ""


def _allows(host: str, port: str) -> bool:
    rules = _rules or set()
    return not rules.isdisjoint({("*", "*"), ("*", port), (host, "*"), (host, port)})


def _look_up(host: str, port: str) -> None:
    """Let a name be resolved if a rule names it, and allow the addresses that it has."""
    rules = _rules or set()
    if ("*", "*") in rules or host in {"", "localhost", *_LOCAL}:
        return
    ports = {allowed for name, allowed in rules if name == host}
    if not ports:
        if not any(name == "*" for name, _ in rules):
            _block(host, port)
        return
    # Before asking, or the question below would come here again without an end.
    if not {(host, "resolved")} <= rules:
        rules.add((host, "resolved"))
        try:
            found = socket.getaddrinfo(host, None)
        except OSError:
            return
        rules |= {(str(entry[4][0]), allowed) for entry in found for allowed in ports}


def _block(host: str, port: str) -> None:
    shown = f"[{host}]" if ":" in host else host
    target = f"{shown}:{port}" if port else shown
    _blocked.append(target)
    raise NetworkBlockedError(
        f"cleandesk blocked a connection to {target}: the suite does not allow it "
        f'(to allow it, name "{target}" under [network] in the suite)'
    )


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return (
        value.decode(errors="replace").lower() if isinstance(value, bytes) else str(value).lower()
    )
