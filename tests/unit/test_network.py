"""Connections of a process: what the rules let through, and that the rest is reported.

An audit hook stays for the life of its process, so each case runs in one that is made
for it; all of them in the same, since rules can be given anew.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys

import pytest

CASES = r"""
import asyncio, http.client, json, socket, sys
from cleandesk.worlds.network import NetworkBlockedError, guard_network, take_blocked

port, path = int(sys.argv[1]), sys.argv[2]


def connect(host, to=port, family=socket.AF_INET):
    with socket.socket(family) as reached:
        reached.connect((host, to))

def create(host):
    socket.create_connection((host, port), timeout=5).close()

def fetch():
    http.client.HTTPConnection("127.0.0.1", port, timeout=5).connect()

def stream():
    async def opened():
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
    asyncio.run(opened())

def send():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sent:
        sent.sendto(b"x", ("127.0.0.1", port))

def send_message():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sent:
        sent.sendmsg([b"x"], [], 0, ("127.0.0.1", port))

def connect_softly():
    with socket.socket() as reached:
        reached.connect_ex(("127.0.0.1", port))

def unix():
    with socket.socket(socket.AF_UNIX) as reached:
        reached.connect(path)
    one, other = socket.socketpair()
    one.sendall(b"x"); other.recv(1)

cases = {
    "nothing allowed": ([], lambda: connect("127.0.0.1")),
    "softly": ([], connect_softly),
    "by name": ([], lambda: create("localhost")),
    "http": ([], fetch),
    "asyncio": ([], stream),
    "datagram": ([], send),
    "datagram message": ([], send_message),
    "six": ([], lambda: connect("::1", family=socket.AF_INET6)),
    "name of elsewhere": ([], lambda: socket.getaddrinfo("away.invalid", 80)),
    "old way to ask for a name": ([], lambda: socket.gethostbyname("away.invalid")),
    "other port": ([f"127.0.0.1:{port + 1}"], lambda: connect("127.0.0.1")),
    "other port of a name": ([f"localhost:{port}"], lambda: connect("127.0.0.1", port + 1)),
    "other host": (["192.0.2.7"], lambda: connect("127.0.0.1")),
    "address and port": ([f"127.0.0.1:{port}"], lambda: connect("127.0.0.1")),
    "address": (["127.0.0.1"], lambda: connect("127.0.0.1")),
    "everything": (["*"], lambda: connect("127.0.0.1")),
    "port": ([f"*:{port}"], lambda: connect("127.0.0.1")),
    "name": (["LocalHost"], lambda: create("localhost")),
    "name and port": ([f"localhost:{port}"], lambda: create("localhost")),
    "its address": ([f"localhost:{port}"], lambda: connect("127.0.0.1")),
    "http to the allowed": ([f"127.0.0.1:{port}"], fetch),
    "asyncio to the allowed": ([f"127.0.0.1:{port}"], stream),
    "datagram to the allowed": ([f"127.0.0.1:{port}"], send),
    "unix": ([], unix),
    "this machine's name": ([], lambda: socket.getaddrinfo("localhost", 80)),
}
for name, (rules, act) in cases.items():
    guard_network(rules)
    try:
        act()
        said = "passed"
    except NetworkBlockedError as error:
        said = str(error)
    except OSError as error:
        said = f"other: {error}"
    sys.stdout.write(json.dumps([name, said, take_blocked()]) + "\n")
"""
PASS = (
    "address and port",
    "address",
    "everything",
    "port",
    "name",
    "name and port",
    "its address",
    "http to the allowed",
    "asyncio to the allowed",
    "datagram to the allowed",
    "unix",
    "this machine's name",
)
BLOCKED = {
    "nothing allowed": "127.0.0.1:{port}",
    "softly": "127.0.0.1:{port}",
    "by name": ":{port}",
    "http": "127.0.0.1:{port}",
    "asyncio": "127.0.0.1:{port}",
    "datagram": "127.0.0.1:{port}",
    "datagram message": "127.0.0.1:{port}",
    "six": "[::1]:{port}",
    "name of elsewhere": "away.invalid:80",
    "old way to ask for a name": "away.invalid",
    "other port": "127.0.0.1:{port}",
    "other port of a name": "127.0.0.1:{other}",
    "other host": "127.0.0.1:{port}",
}


@pytest.fixture(scope="module")
def port():
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server.getsockname()[1]


@pytest.fixture(scope="module")
def said(port, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("unix") / "socket")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        done = subprocess.run(
            [sys.executable, "-c", CASES, str(port), path],
            capture_output=True,
            check=False,
            timeout=60,
        )
    assert done.returncode == 0, done.stderr.decode()
    rows = map(json.loads, done.stdout.splitlines())
    return {name: (text, blocked) for name, text, blocked in rows}


@pytest.mark.parametrize("case", PASS)
def test_what_the_suite_allows_passes_and_is_not_reported(said, case):
    assert said[case] == ("passed", [])


@pytest.mark.parametrize("case", BLOCKED)
def test_everything_else_is_blocked_and_reported_with_the_rule_that_would_allow_it(
    said, port, case
):
    text, blocked = said[case]
    target = BLOCKED[case].format(port=port, other=port + 1)

    assert target in blocked[0]
    assert f'name "{blocked[0]}" under [network] in the suite' in text
