from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cleandesk.errors import ContractError
from cleandesk.surfaces.process import PARTS, process
from cleandesk.surfaces.process.parts import READERS
from cleandesk.surfaces.process.reading import Own, baseline, read_process, unread
from cleandesk.surfaces.process.wording import Wording

BUILD = """
import json, os, random, socket, subprocess, sys, tempfile, threading
import numpy
from cleandesk.surfaces.process import process
from cleandesk.surfaces.process.reading import baseline, private_temp, read_process
for spare in range(int(sys.argv[1])):
    os.open("/dev/null", os.O_RDONLY)
random.seed(sys.argv[1]); numpy.random.seed(int(sys.argv[1]))
private_temp(sys.argv[2])
held = baseline({"db": sys.argv[2] + "/db"}, sys.argv[2])
random.random(); random.gauss(0, 1); numpy.random.rand(3)
os.environ["DATABASE"] = sys.argv[2] + "/db"
os.environ["ORDER"] = ",".join(sorted({"a", "b", "c"}))
keep = [tempfile.NamedTemporaryFile(), tempfile.TemporaryFile(), socket.create_server(("127.0.0.1", 0)), os.pipe()]
gate = threading.Event()
threading.Thread(target=gate.wait, daemon=True).start()
child = subprocess.Popen(["sleep", "30"])
import wsgiref.simple_server, orjson, msgspec
first = read_process(held, "desk", process())[0]
again = read_process(held, "desk", process())[0]
assert first == again, (first, again)
print(json.dumps(first, sort_keys=True))
child.kill(); child.wait()
"""


def build(number, folder):
    result = subprocess.run(
        [sys.executable, "-c", BUILD, str(number), str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": str(number)},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_two_builds_say_the_same_whatever_their_numbers_are(tmp_path):
    """Other hash seed, process ids, descriptor numbers, ports, folders and random streams."""
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    one = build(1, tmp_path / "one")

    assert one == build(7, tmp_path / "other")
    assert one["environment"] == {"DATABASE": "{db}", "ORDER": "a,b,c"}
    assert one["random"] == {"numpy": {"drew": 6}, "python": {"drew": 6, "keeps": True}}
    assert one["children"] == {"sleep 30": 1}
    assert one["sockets"] == {"tcp 127.0.0.1:*": 1}
    assert one["threads"] == {"Thread-* (wait)": 1}
    assert list(one["temp_files"]) == ["tmp*"]
    opened = {"closed": 0, "opened": 1}
    assert one["descriptors"]["file {temp}/tmp*"] == opened
    assert len(one["descriptors"]) == 4
    assert "orjson" in one["modules"] or "msgspec" in one["modules"] or one["modules"] == {}


def test_looking_twice_says_the_same_and_leaves_no_descriptor():
    """Law 2."""
    held = baseline()
    before = set(Path("/proc/self/fd").iterdir()), set(sys.modules)
    first = read_process(held, "desk", process())
    second = read_process(held, "desk", process())

    assert first == second
    assert (set(Path("/proc/self/fd").iterdir()), set(sys.modules)) == before


def test_a_process_that_nobody_touched_has_no_difference():
    tables, _ = read_process(baseline(), "desk", process())

    assert not any(tables.values())


def test_only_the_parts_that_are_named_are_read_and_the_others_are_said():
    terms = process("threads", "umask")
    held = baseline()
    tables, _ = read_process(held, "desk", terms)

    assert set(tables) == {"threads", "umask"}
    assert "a process: its environment" in unread(held, terms)


def test_temporary_files_of_a_shared_folder_are_not_read_and_that_is_said():
    held = baseline()
    tables, _ = read_process(held, "desk", process())

    assert "temp_files" not in tables
    assert any("temporary files" in line for line in unread(held, process()))


def test_what_the_harness_holds_is_left_out():
    held = baseline()
    own = os.open("/dev/null", os.O_RDONLY)
    try:
        tables, _ = read_process(held, "desk", process(), Own(descriptors=frozenset({own})))
    finally:
        os.close(own)

    assert tables["descriptors"] == {}


def test_an_ignored_variable_is_left_out_and_its_pattern_counts(monkeypatch):
    terms = process("environment", ignore={"environment.NOISE": "a count"})
    held = baseline()
    monkeypatch.setenv("NOISE", "1")
    monkeypatch.setenv("SIGNAL", "1")
    tables, matched = read_process(held, "desk", terms)

    assert tables == {"environment": {"SIGNAL": "1"}}
    assert matched == {"desk.environment.NOISE"}


def test_a_part_can_be_ignored_as_a_whole():
    tables, matched = read_process(baseline(), "desk", process(ignore={"modules": "lazy"}))

    assert "modules" not in tables
    assert matched == {"desk.modules"}


def test_an_unknown_part_is_refused_with_those_there_are():
    with pytest.raises(ContractError, match=r"CD-202 .*'registers'"):
        process("registers")


def test_every_part_has_a_reader():
    assert set(PARTS) == set(READERS)


def test_a_place_within_another_is_named_by_the_inner_one():
    wording = Wording({"home": "/copies/7", "db": "/copies/7/shop.db"})

    assert wording.say("/copies/7/shop.db-wal in /copies/7") == "{db}-wal in {home}"


def test_declaring_a_process_imports_nothing_heavy():
    code = (
        "import sys; from cleandesk.surfaces.process import process; process(); "
        "print('logging' in sys.modules and 'cleandesk.surfaces.process.parts' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert result.stdout.strip() == "False"
    assert Path("/proc/self/fd").exists()
