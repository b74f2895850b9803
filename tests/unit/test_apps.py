from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from cleandesk.errors import WorldError
from cleandesk.worlds.app_process import Program
from cleandesk.worlds.apps import Apps

PLACES = {"db": "/copies/a b/shop.db"}


def program(command, ready="line:up", idle=None, **how):
    return Program.of(command, (ready, idle), PLACES, keep=False, how=how)


@pytest.fixture
def apps():
    held = Apps({})
    yield held
    held.close()


def test_a_text_is_split_as_a_shell_would_and_a_place_stays_one_word():
    held = program("serve --db {db} --title 'two words' --port {port}")

    assert held.words == (
        "serve",
        "--db",
        "/copies/a b/shop.db",
        "--title",
        "two words",
        "--port",
        "{port}",
    )
    assert held.has_port


def test_python_is_the_interpreter_that_runs_the_world():
    assert program("python -m shop").words[0] == sys.executable


def test_in_a_list_other_braces_are_the_programs_own():
    assert program(["perl", "-e", "sub f {return} # {db}"]).words[2] == (
        "sub f {return} # /copies/a b/shop.db"
    )


def test_a_variable_may_hold_the_port():
    assert program("serve", env={"PORT": "{port}"}).has_port


@pytest.mark.parametrize(
    ("command", "terms", "said"),
    [
        ("", {}, "its command is empty"),
        ("serve 'open", {}, "can't be split"),
        ("serve {prot}", {}, r"\{prot\}, and there is no such place"),
        ("serve", {"ready": "/healthz"}, "it has no port"),
        ("serve {port}", {"ready": "healthz"}, "ready='healthz'"),
        ("serve {port}", {"idle": "line:idle"}, "idle='line:idle'"),
        ("serve", {"ready": "line:("}, "is no pattern"),
        ("serve", {"timeout": 3}, "takes no argument 'timeout'"),
    ],
)
def test_what_cannot_be_meant_is_refused(command, terms, said):
    with pytest.raises(WorldError, match=f"CD-264 .*{said}"):
        program(command, **terms)


def test_a_program_that_does_not_exist_is_named(apps):
    before = set(Path("/proc/self/fd").iterdir())
    with pytest.raises(WorldError, match=r"CD-264 .*no-such-program"):
        apps.serve("no-such-program", ready="line:up")

    assert set(Path("/proc/self/fd").iterdir()) == before


def test_a_line_that_is_printed_says_that_it_is_ready(apps):
    app = apps.serve(["sh", "-c", "echo starting; echo up at 1; sleep 30"], ready="line:up at \\d")

    assert app.is_running
    assert os.getpgid(app.pid) == app.pid
    assert os.getsid(app.pid) == os.getsid(0)


def test_a_function_says_that_it_is_ready(apps, tmp_path):
    made = tmp_path / "made"
    apps.serve(["sh", "-c", f"echo > {made}; sleep 30"], ready=lambda _: made.exists())

    assert made.exists()


def test_an_app_that_ends_before_it_is_ready_is_told_with_what_it_printed(apps):
    with pytest.raises(WorldError) as caught:
        apps.serve(["sh", "-c", "echo no such table: orders; exit 3"], ready="line:up")

    assert caught.value.code == "CD-261"
    assert "ended before it was ready with status 3" in caught.value.message
    assert "no such table: orders" in caught.value.message


def test_an_app_that_is_not_ready_in_time_is_ended_and_told(apps):
    with pytest.raises(WorldError, match=r"CD-262 .*not ready within 0.05 s") as caught:
        apps.serve(["sh", "-c", "echo waiting; sleep 30"], ready="line:up", timeout_s=0.05)

    assert "waiting" in caught.value.message or "printed nothing" in caught.value.message
    assert apps.own().children == frozenset()


def test_an_app_that_ended_by_itself_is_told_when_it_is_to_be_idle(apps):
    gate, release = os.pipe()
    os.set_inheritable(gate, True)
    app = apps.serve(
        ["sh", "-c", "echo up; read line < $GATE; kill -9 $$"],
        ready="line:up",
        env={"GATE": f"/proc/{os.getpid()}/fd/{gate}"},
    )
    os.write(release, b"go\n")
    assert app._running.has_ended(5)
    os.close(gate)
    os.close(release)

    with pytest.raises(WorldError, match=r"CD-265 .*ended by itself with signal SIGKILL"):
        apps.settle()


def test_an_app_that_is_never_idle_is_told(apps):
    apps.serve("sh -c 'echo up; sleep 30'", ready="line:up", idle=lambda _: False, timeout_s=0.05)

    with pytest.raises(WorldError, match=r"CD-263 .*not idle within 0.05 s"):
        apps.settle()


def test_what_an_app_prints_reaches_the_worlds_output(apps, capfd):
    apps.serve(["sh", "-c", "echo heard; echo up; sleep 30"], ready="line:up")

    assert "heard\nup\n" in capfd.readouterr().err


def test_two_apps_have_names_and_one_needs_none(apps):
    one = apps.serve(["sh", "-c", "echo up; sleep 30 # {port}"], ready="line:up", name="one")
    assert apps.url_of() == one.url
    apps.serve(["sh", "-c", "echo up; sleep 30"], ready="line:up", name="other")

    assert apps.urls() == {"one": one.url}
    assert apps.url_of("one") == one.url
    with pytest.raises(WorldError, match=r"CD-266 the world serves 2 apps"):
        apps.url_of()
    with pytest.raises(WorldError, match=r"CD-266 the world serves no app 'third'"):
        apps.url_of("third")
    with pytest.raises(WorldError, match=r"CD-264 .*it has no port"):
        apps.url_of("other")
    with pytest.raises(WorldError, match=r"CD-264 .*of this name already"):
        apps.serve("sh -c 'sleep 30'", ready="line:up", name="one")


def test_stopping_leaves_no_process_thread_or_descriptor(apps):
    before = set(Path("/proc/self/fd").iterdir()), threading.enumerate()
    app = apps.serve(["sh", "-c", "sleep 30 & echo up; sleep 30"], ready="line:up")
    app.stop()

    assert (set(Path("/proc/self/fd").iterdir()), threading.enumerate()) == before
    assert not app.is_running
    app.stop()
