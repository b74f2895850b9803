"""Real programs as apps: the stock app, programs in other languages, and hard ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import cleandesk.worlds
from cleandesk.errors import WorldError
from cleandesk.surfaces.http import http
from cleandesk.surfaces.http.reading import read_http
from cleandesk.surfaces.process import process
from cleandesk.surfaces.process.reading import baseline, read_process
from cleandesk.worlds.app_process import Around
from cleandesk.worlds.apps import Apps
from cleandesk.worlds.serve import await_condition

pytestmark = pytest.mark.service

STOCK = "python -m cleandesk.worlds.stock_app --db {db} --port {port}"
TERMS = http(cache="/cache")
SERVER = """
import http.server, sys, {more}
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"{body}")
{before}
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "stock.db"
    schema = Path(cleandesk.worlds.__file__).with_name("stock.sql").read_text("utf-8")
    with sqlite3.connect(path) as connection:
        connection.executescript(schema)
    connection.close()
    return path


@pytest.fixture
def apps(database):
    held = Apps({"db": str(database)})
    yield held
    held.close()


def ask(app, method, path, given=None):
    place = urlsplit(app.url)
    connection = HTTPConnection(place.hostname, place.port, timeout=20)
    connection.request(method, path, None if given is None else json.dumps(given))
    answer = connection.getresponse()
    read = answer.status, json.loads(answer.read())
    connection.close()
    return read


def bolts(app):
    return ask(app, "GET", "/stock?item=bolt&warehouse=HZ")[1]["stock"]


def restock(app, quantity):
    given = {"item": "bolt", "warehouse": "HZ", "quantity": quantity}
    assert ask(app, "POST", "/restock", given)[0] == 200


def cache(apps):
    return read_http(apps.url_of, "app", TERMS)[0]["cache"]


def test_the_cache_answers_with_what_was_and_a_restart_ends_it(apps):
    app = apps.serve(STOCK, ready="/healthz", idle="/idle")
    restock(app, 2)
    assert bolts(app) == 2
    restock(app, 4)
    assert (bolts(app), cache(apps)) == (2, {"HZ bolt": 2})
    url, pid = app.url, app.pid
    app.restart()

    assert (bolts(app), app.url) == (4, url)
    assert app.pid != pid


def test_an_app_that_is_kept_lives_through_a_restore_with_its_cache(apps):
    app = apps.serve(STOCK, ready="/healthz", keep=True)
    restock(app, 2)
    bolts(app)
    apps.stop_for_restore()
    apps.start_after_restore()
    restock(app, 4)

    assert apps.kept() == ("app",)
    assert (bolts(app), cache(apps)) == (2, {"HZ bolt": 2})


def test_the_clean_twin_is_stopped_for_a_restore_and_started_after_it(apps):
    app = apps.serve(STOCK, ready="/healthz")
    restock(app, 2)
    bolts(app)
    apps.stop_for_restore()
    assert not app.is_running
    apps.start_after_restore()
    restock(app, 4)

    assert cache(apps) == {}
    assert bolts(app) == 4


def test_a_reservation_is_written_to_the_database_and_through_the_cache(apps, database):
    app = apps.serve(STOCK, ready="/healthz")
    given = {"item": "bolt", "warehouse": "SZ", "quantity": 7}
    assert ask(app, "POST", "/reserve", given) == (200, {"reserved": 7})
    assert ask(app, "POST", "/reserve", given)[0] == 409
    with sqlite3.connect(database) as connection:
        rows = connection.execute("SELECT item, warehouse, quantity FROM reservations").fetchall()
    connection.close()

    assert rows == [("bolt", "SZ", 7)]
    assert cache(apps) == {"SZ bolt": 0}


@pytest.mark.parametrize(
    ("method", "path", "given", "status"),
    [
        ("GET", "/stock?item=bolt", None, 400),
        ("GET", "/stock?item=bolt&warehouse=XX", None, 404),
        ("POST", "/reserve", {"item": "bolt", "warehouse": "HZ", "quantity": 0}, 400),
        ("POST", "/reserve", {"item": "bolt", "warehouse": "HZ", "quantity": True}, 400),
        ("POST", "/reserve", [], 400),
        ("GET", "/nothing", None, 404),
    ],
)
def test_a_request_that_cannot_be_meant_is_refused(apps, method, path, given, status):
    app = apps.serve(STOCK, ready="/healthz")

    assert ask(app, method, path, given)[0] == status


def test_the_app_is_no_leftover_of_the_worlds_process(apps):
    held = baseline()
    apps.serve(STOCK, ready="/healthz")
    tables, _ = read_process(held, "desk", process(), apps.own())
    apps.close()
    after, _ = read_process(held, "desk", process())

    found = {name: value for name, value in tables.items() if value}
    assert found == {}
    assert not any(after.values())


def test_connections_are_let_through_the_guard_before_anything_is_asked(database):
    code = """
import sys
from cleandesk.worlds import network
from cleandesk.worlds.apps import Apps
network.guard_network([])
allowed = []
def allow(host, port):
    allowed.append((host, port))
    network.guard_network([f"{host}:{port}"])
apps = Apps({"db": sys.argv[1]}, allow)
app = apps.serve(sys.argv[2], ready="/healthz", timeout_s=20)
print(allowed == [("127.0.0.1", app.port)], network.take_blocked())
apps.close()
"""
    result = subprocess.run(
        [sys.executable, "-c", code, str(database), STOCK],
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.stdout == "True []\n", result.stderr


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (
            "node",
            "require('http').createServer((q, a) => { n = (global.n || 0) + 1; global.n = n;"
            " a.setHeader('Content-Type', 'application/json'); a.end(JSON.stringify({n})) })"
            ".listen({port}, '127.0.0.1')",
        ),
        (
            "perl",
            "use IO::Socket::INET; $s = IO::Socket::INET->new(LocalAddr => '127.0.0.1:{port}',"
            " Listen => 9, ReuseAddr => 1) or die; while ($c = $s->accept) { <$c>; $n++; $b ="
            ' "{\\"n\\":$n}"; print $c "HTTP/1.0 200 OK\\r\\nContent-Type: application/json'
            '\\r\\n\\r\\n$b"; close $c }',
        ),
    ],
)
def test_a_program_in_another_language_loses_what_it_counted(apps, program, code):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not on this machine")
    app = apps.serve([program, "-e", code], ready="/")
    terms = http(count="/")
    first = read_http(apps.url_of, "app", terms)[0]["count"]["n"]
    more = read_http(apps.url_of, "app", terms)[0]["count"]["n"]
    app.restart()

    assert more == first + 1
    assert read_http(apps.url_of, "app", terms)[0]["count"]["n"] <= first


def test_a_port_that_somebody_took_meanwhile_is_chosen_anew(apps, monkeypatch):
    """The other program even answers, so that only whose socket it is tells them apart."""
    other = Apps({})
    code = SERVER.format(more="os", before="", body="other")
    taken = other.serve(["python", "-c", code, "{port}"], ready="/").port
    choices = [taken]
    really = Around.free_port
    monkeypatch.setattr(
        Around, "free_port", lambda self, wanted: choices.pop() if choices else really(self, wanted)
    )
    try:
        code = SERVER.format(more="os", before="", body="ours")
        app = apps.serve(["python", "-c", code, "{port}"], ready="/")
        assert app.port != taken
        assert read_http(apps.url_of, "app", http(a="/"))[0] == {"a": "ours"}
    finally:
        other.close()


def test_what_left_the_apps_group_ends_with_it_all_the_same(apps, tmp_path, ends):
    noted = tmp_path / "pids"
    before = (
        "import subprocess\n"
        "child = subprocess.Popen(['setsid', 'sh', '-c', "
        f"'trap \"\" TERM; echo $$ > {noted}; sleep 60 & wait'])"
    )
    code = SERVER.format(more="os", before=before, body="x")
    app = apps.serve(["python", "-c", code, "{port}"], ready="/", env={"SPARE": "1"})
    await_condition(noted.exists, "the daemon's note", 20)
    await_condition(lambda: noted.read_text().strip(), "the daemon's number", 20)
    pid = int(noted.read_text())
    app.stop()

    assert ends([pid]) == []


def test_an_app_that_ignores_being_asked_is_killed(apps, ends):
    code = SERVER.format(
        more="signal", before="signal.signal(signal.SIGTERM, signal.SIG_IGN)", body="x"
    )
    app = apps.serve(["python", "-c", code, "{port}"], ready="/")
    pid = app.pid
    app.stop()

    assert ends([pid]) == []


def test_an_app_ends_with_the_world_that_is_killed(database, ends):
    code = """
import sys
from cleandesk.worlds.apps import Apps
app = Apps({"db": sys.argv[1]}).serve(sys.argv[2], ready="/healthz")
print(app.pid, flush=True)
sys.stdin.read()
"""
    world = subprocess.Popen(
        [sys.executable, "-c", code, str(database), STOCK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    pid = int(world.stdout.readline())
    world.send_signal(signal.SIGKILL)
    world.wait()
    world.stdin.close()
    world.stdout.close()

    assert ends([pid]) == []


def test_idleness_is_awaited(apps, database):
    app = apps.serve(STOCK, ready="/healthz", idle="/idle", timeout_s=20)
    writer = sqlite3.connect(database, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    # It waits for the lock that this test holds, and is not idle until it has it.
    thread = threading.Thread(target=restock, args=(app, 9))
    thread.start()
    await_condition(lambda: ask(app, "GET", "/idle")[0] == 503, "a call at work", 20)
    writer.rollback()
    apps.settle()
    writer.close()
    thread.join()

    assert bolts(app) == 9


def test_an_app_that_dies_in_use_is_the_worlds_failure(apps):
    app = apps.serve(STOCK, ready="/healthz", idle="/idle")
    os.kill(app.pid, signal.SIGKILL)
    assert app._running.has_ended(5)

    with pytest.raises(WorldError, match=r"CD-265 .*signal SIGKILL"):
        apps.settle()


def test_the_port_is_free_again_after_a_stop(apps):
    app = apps.serve(STOCK, ready="/healthz")
    bolts(app)
    port = app.port
    app.stop()

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
