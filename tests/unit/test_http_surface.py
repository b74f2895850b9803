from __future__ import annotations

import threading
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleandesk.errors import ContractError, WorldError
from cleandesk.state import encode
from cleandesk.surfaces.http import http
from cleandesk.surfaces.http.exact import parse_exact
from cleandesk.surfaces.http.reading import is_answered, read_http, reset_http, unread


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        service = self.server.service
        service.calls.append(f"{self.command} {self.path}")
        status, kind, body = service.pages.get(self.path, (404, "text/plain", b"no such page"))
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer  # noqa: N815 - as http.server calls them

    def log_message(self, *_):
        pass


class Service:
    """A service whose pages are set by the test."""

    def __init__(self):
        self.pages, self.calls = {}, []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = False
        self.server.service = self
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self):
        self.server.shutdown()
        self.thread.join()
        # It waits for the threads that answered, and these for our ends of the connections.
        self.server.server_close()

    def json(self, path, text):
        self.pages[path] = (200, "application/json", text.encode())

    def get_url(self, name=None):
        assert name in {None, "shop"}
        return self.url


@pytest.fixture
def service():
    held = Service()
    yield held
    held.close()


def test_a_json_endpoint_is_a_table_and_any_other_is_text(service):
    service.json("/cache", '{"HZ bolt": 2, "price": 0.1}')
    service.pages["/log"] = (200, "text/plain; charset=latin-1", "é".encode("latin-1"))
    service.pages["/raw"] = (200, "application/octet-stream", b"\xff\x00")
    terms = http(cache="/cache", log="/log", raw="/raw")

    assert read_http(service.get_url, "app", terms) == (
        {"cache": {"HZ bolt": 2, "price": 0.1}, "log": "é", "raw": b"\xff\x00"},
        set(),
    )


def test_an_outside_service_is_read_where_it_is(service):
    service.json("/v", "1")

    assert read_http(lambda _: "", "api", http(service.url, v="/v"))[0] == {"v": 1}


def test_ignored_fields_are_left_out_and_their_patterns_count(service):
    service.json("/rows", '[{"id": 1, "at": 7}, {"id": 2, "at": 8}]')
    terms = http(rows="/rows", ignore={"rows[*].at": "the time", "rows[*].no": "absent"})

    assert read_http(service.get_url, "app", terms) == (
        {"rows": [{"id": 1}, {"id": 2}]},
        {"app.rows[*].at"},
    )


def test_the_reset_call_is_made_with_its_method(service):
    service.json("/reset", "{}")
    reset_http(service.get_url, "app", http(a="/a", reset="POST /reset"))
    reset_http(service.get_url, "app", http(a="/a"))

    assert service.calls == ["POST /reset"]


def test_reading_sends_nothing_but_get_and_leaves_no_descriptor():
    """Law 2."""
    before = set(Path("/proc/self/fd").iterdir())
    service = Service()
    service.json("/a", "1")
    read_http(service.get_url, "app", http(a="/a", reset="POST /reset"))
    service.close()

    assert set(Path("/proc/self/fd").iterdir()) == before
    assert service.calls == ["GET /a"]


def test_what_a_service_does_not_list_is_said_to_be_unread():
    (line,) = unread(http(cache="/cache", jobs="/jobs"))

    assert line == "a service: whatever it does not list at GET /cache, GET /jobs"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("1.0", 1.0),
        ("-0.0", -0.0),
        ("0.1", 0.1),
        ("1e16", 1e16),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        # The nearest float is another number.
        ("0.10000000000000000001", Decimal("0.10000000000000000001")),
        ("9007199254740993.0", Decimal("9007199254740993.0")),
        ("1e400", Decimal("1e400")),
    ],
)
def test_a_number_is_read_exactly(text, value):
    assert encode(parse_exact(text)) == encode(value)


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers())
def test_a_number_that_a_program_writes_comes_back_as_it_was(number):
    assert encode(parse_exact(repr(number))) == encode(number)


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 2}', "NaN", "[Infinity]", "{", "[" * 100_000, "1e" + "9" * 30, "9" * 5000],
    ids=["a key twice", "NaN", "infinity", "cut", "deep", "exponent", "digits"],
)
def test_json_that_would_lose_something_is_refused(service, text):
    service.json("/a", text)

    with pytest.raises(WorldError, match="CD-274"):
        read_http(service.get_url, "app", http(a="/a"))


@pytest.mark.parametrize(
    ("given_terms", "said"),
    [
        ({}, "no endpoint"),
        ({"a": "cache"}, "the table a"),
        ({"a": "/x y"}, "the table a"),
        ({"url": "ftp://x", "a": "/a"}, "no address"),
        ({"url": "http://x/deep", "a": "/a"}, "no address"),
        ({"url": "http://x", "app": "y", "a": "/a"}, "both"),
        ({"reset": "/reset", "a": "/a"}, "the reset"),
    ],
)
def test_terms_that_cannot_be_meant_are_refused(given_terms, said):
    with pytest.raises(ContractError, match=f"CD-202 .*{said}"):
        http(**given_terms)


def test_a_condition_holds_only_where_it_is_answered_with_200(service):
    service.json("/ready", "{}")
    service.pages["/busy"] = (503, "text/plain", b"")

    assert is_answered(service.url, "/ready", 5)
    assert not is_answered(service.url, "/busy", 5)
    assert not is_answered("http://127.0.0.1:1", "/ready", 5)
