"""Services that are out of reach, slow, too large or wrong: never an empty state."""

from __future__ import annotations

import socket
import threading

import pytest

from cleandesk.errors import WorldError
from cleandesk.surfaces.http import http, reading
from cleandesk.surfaces.http.reading import read_http, reset_http

TERMS = http(a="/a", reset="POST /reset")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.fixture
def answering():
    """Answers every connection with the given bytes, then closes it."""
    stops = []

    def start(data, then=lambda _connection: None):
        server = socket.create_server(("127.0.0.1", 0))

        def serve():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(1 << 16)
                    connection.sendall(data)
                    then(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        stops.append((server, thread))
        return lambda _: f"http://127.0.0.1:{server.getsockname()[1]}"

    yield start
    for server, thread in stops:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


def test_a_clean_service_is_read(answering):
    get_url = answering(HEAD + b"Content-Length: 2\r\n\r\n12")

    assert read_http(get_url, "app", TERMS)[0] == {"a": 12}


def test_a_service_out_of_reach_is_an_error_with_its_address():
    with pytest.raises(WorldError, match=r"CD-272 .*127\.0\.0\.1:1 .*refused"):
        read_http(lambda _: "http://127.0.0.1:1", "app", TERMS)


@pytest.mark.parametrize("status", [b"204 No Content", b"302 Found", b"404 Gone", b"500 Oh"])
def test_another_status_than_200_is_an_error_even_if_it_is_no_failure(answering, status):
    get_url = answering(b"HTTP/1.1 " + status + b"\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")

    with pytest.raises(WorldError, match=f"CD-273 .*{status[:3].decode()}"):
        read_http(get_url, "app", TERMS)


def test_a_reset_that_fails_is_an_error(answering):
    get_url = answering(b"HTTP/1.1 500 Oh\r\nContent-Length: 4\r\n\r\n\x1b[2J")

    with pytest.raises(WorldError, match=r"CD-273 POST /reset .*500: \\x1b\[2J"):
        reset_http(get_url, "app", TERMS)


def test_a_body_that_breaks_off_is_an_error(answering):
    get_url = answering(HEAD + b"Content-Length: 20\r\n\r\n12")

    with pytest.raises(WorldError, match=r"CD-272 .*IncompleteRead"):
        read_http(get_url, "app", TERMS)


def test_a_body_that_is_too_large_is_an_error(answering, monkeypatch):
    monkeypatch.setattr(reading, "MOST_BYTES", 10)
    get_url = answering(HEAD + b"Content-Length: 20\r\n\r\n" + b"1" * 20)

    with pytest.raises(WorldError, match=r"CD-274 .*larger than 10 bytes"):
        read_http(get_url, "app", TERMS)


def test_a_body_that_trickles_is_given_up(answering, monkeypatch):
    monkeypatch.setattr(reading, "TIMEOUT_S", 0.2)
    gate = threading.Event()

    def trickle(connection):
        # Each byte comes within the time of one read, and the whole never does.
        while not gate.wait(0.02):
            try:
                connection.sendall(b"1")
            except OSError:
                return

    get_url = answering(HEAD + b"Content-Length: 100000\r\n\r\n", trickle)

    with pytest.raises(WorldError, match=r"CD-272 .*took longer"):
        read_http(get_url, "app", TERMS)
    gate.set()


def test_what_is_no_http_is_an_error(answering):
    get_url = answering(b"SSH-2.0-OpenSSH\r\n")

    with pytest.raises(WorldError, match=r"CD-272 .*BadStatusLine"):
        read_http(get_url, "app", TERMS)
