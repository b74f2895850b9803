"""A small HTTP app over SQLite: stock of warehouses, read through a cache in its memory.

The cache is keyed by item and warehouse alone, so an entry is right only as long as
nobody else writes to the database. Started with ``python -m cleandesk.worlds.stock_app
--db FILE --port PORT``; standard library only.

=======================================  =====================================================
``GET /stock?item=bolt&warehouse=HZ``    ``{"stock": 2}``, from the cache if it is there
``POST /reserve``                        item, warehouse, quantity; written through the cache
``POST /restock``                        item, warehouse, quantity; past the cache
``GET /places``                          ``{"items": [..], "warehouses": [..]}``
``GET /cache``                           every entry of the cache
``GET /healthz``                         200 once it answers
``GET /idle``                            200 where no call is at work, 503 otherwise
=======================================  =====================================================
"""

from __future__ import annotations

import argparse
import json
import socketserver
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

_MOST_BYTES = 1 << 16
_BUSY_S = 10.0

Answer = tuple[int, dict[str, Any]]


class StockDesk:
    """The app itself, without HTTP.

    Attributes:
        cache: ``"HZ bolt"`` -> quantity, as it was when it was first asked for.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        self._at_work = 0
        self.cache: dict[str, int] = {}
        self.answers: dict[tuple[str, str], Callable[[dict[str, Any]], Answer]] = {
            ("GET", "/stock"): self.stock,
            ("GET", "/places"): self.places,
            ("POST", "/reserve"): self.reserve,
            ("POST", "/restock"): self.restock,
        }

    def answer(self, method: str, path: str, given: dict[str, Any]) -> Answer:
        """Answer one request."""
        if (method, path) == ("GET", "/healthz"):
            return 200, {"ok": True}
        if (method, path) == ("GET", "/idle"):
            return (503 if self._at_work else 200), {"at_work": self._at_work}
        if (method, path) == ("GET", "/cache"):
            with self._lock:
                return 200, dict(self.cache)
        call = self.answers.get((method, path))
        if call is None:
            return 404, {"error": f"there is no {method} {path}"}
        self._count(1)
        try:
            with self._lock:
                return call(given)
        except (KeyError, ValueError, TypeError) as error:
            return 400, {"error": f"{type(error).__name__}: {error}"}
        finally:
            self._count(-1)

    def _count(self, by: int) -> None:
        with self._counting:
            self._at_work += by

    def stock(self, given: dict[str, Any]) -> Answer:
        """Say how many of an item a warehouse holds; the first answer is kept."""
        key = _key(given)
        if key not in self.cache:
            with self._open() as database:
                held = _held(database, key)
            if held is None:
                return 404, {"error": f"there is no {key}"}
            self.cache[key] = held
        return 200, {"stock": self.cache[key]}

    def reserve(self, given: dict[str, Any]) -> Answer:
        """Take some of an item and note it."""
        key, quantity = _key(given), _quantity(given, least=1)
        with self._open() as database:
            held = _held(database, key)
            if held is None:
                return 404, {"error": f"there is no {key}"}
            if quantity > held:
                return 409, {"error": f"{given['warehouse']} does not hold {quantity}"}
            with database:
                database.execute(
                    "UPDATE stock SET quantity = quantity - ? WHERE id = ?", (quantity, key)
                )
                database.execute(
                    "INSERT INTO reservations (item, warehouse, quantity) VALUES (?, ?, ?)",
                    (given["item"], given["warehouse"], quantity),
                )
        self.cache[key] = held - quantity
        return 200, {"reserved": quantity}

    def restock(self, given: dict[str, Any]) -> Answer:
        """Set how many there are, as somebody does who has the database alone."""
        key, quantity = _key(given), _quantity(given, least=0)
        with self._open() as database, database:
            changed = database.execute(
                "UPDATE stock SET quantity = ? WHERE id = ?", (quantity, key)
            )
        return (200, {"stock": quantity}) if changed.rowcount else (404, {"error": f"no {key}"})

    def places(self, given: dict[str, Any]) -> Answer:
        """List the items and warehouses."""
        del given
        with self._open() as database:
            rows = database.execute("SELECT item, warehouse FROM stock").fetchall()
        return 200, {
            "items": sorted({row[0] for row in rows}),
            "warehouses": sorted({row[1] for row in rows}),
        }

    def _open(self) -> closing[sqlite3.Connection]:
        # One for each call: none stays open while the file is put back.
        return closing(sqlite3.connect(self._path, timeout=_BUSY_S))


def _held(database: sqlite3.Connection, key: str) -> int | None:
    row = database.execute("SELECT quantity FROM stock WHERE id = ?", (key,)).fetchone()
    return None if row is None else int(row[0])


def _key(given: dict[str, Any]) -> str:
    return f"{given['warehouse']} {given['item']}"


def _quantity(given: dict[str, Any], *, least: int) -> int:
    quantity = given["quantity"]
    if type(quantity) is not int or quantity < least:
        raise ValueError(f"{quantity!r} is not a quantity of {least} or more")
    return quantity


class _Handler(BaseHTTPRequestHandler):
    desk: StockDesk
    protocol_version = "HTTP/1.1"
    # Connections that nobody uses are given up, so that none keeps a thread for ever.
    timeout = 60

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self._send(*self.desk.answer("GET", parts.path, dict(parse_qsl(parts.query))))

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        if size > _MOST_BYTES:
            self.close_connection = True
            self._send(413, {"error": "too long"})
            return
        body = self.rfile.read(size)
        try:
            given = json.loads(body)
        except ValueError:
            given = None
        if not isinstance(given, dict):
            self._send(400, {"error": "the body is no JSON object"})
            return
        self._send(*self.desk.answer("POST", urlsplit(self.path).path, given))

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print no line for each request."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        # Not HTTPServer's, which asks a name server for our name.
        socketserver.TCPServer.server_bind(self)


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description="Stock of warehouses over HTTP.")
    parser.add_argument("--db", required=True)
    parser.add_argument("--port", type=int, required=True)
    chosen = parser.parse_args()
    handler = type("Handler", (_Handler,), {"desk": StockDesk(chosen.db)})
    _Server(("127.0.0.1", chosen.port), handler).serve_forever()


if __name__ == "__main__":
    main()
