from __future__ import annotations

import json
import os
import resource
import signal
from hashlib import sha256
from pathlib import Path

import pytest

from cleandesk.errors import LogError
from cleandesk.log import (
    EpisodeWriter,
    read_episode,
    read_object,
    walk,
    write_json_atomically,
    write_object,
)

PLAN = sha256(b"{}").hexdigest()


def code_of(call) -> str:
    with pytest.raises(LogError) as caught:
        call()
    assert caught.value.do
    return caught.value.code


@pytest.fixture
def small_files():
    """No file may grow beyond 4096 bytes: the nearest thing to a full disk without root."""
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, ignored)


def test_written_entries_form_a_chain_from_the_plan(tmp_path):
    path = tmp_path / "episodes" / "a" / "7-0.jsonl"
    with EpisodeWriter(path, PLAN) as writer:
        writer.append(b'{"episode":"a/7-0","kind":"open"}')
        writer.append(b'{"kind":"verdict","score":1.0}')

    held = walk(path.read_bytes(), PLAN)

    assert (held.entries, held.head) == (writer.entries, writer.head)
    assert writer.close(durable=True) == (held.head, 2)


def test_each_entry_is_in_the_file_as_soon_as_it_is_appended(tmp_path):
    writer = EpisodeWriter(tmp_path / "log.jsonl", PLAN)
    writer.append(b'{"kind":"open"}')

    assert len(read_episode(tmp_path / "log.jsonl")) == 1
    assert writer.close(durable=True)[1] == 1


def test_existing_log_is_never_overwritten(tmp_path):
    path = tmp_path / "log.jsonl"
    EpisodeWriter(path, PLAN).close()

    assert code_of(lambda: EpisodeWriter(path, PLAN)) == "CD-603"


@pytest.mark.parametrize("entry", [b"", b"[]", b'{"a":1}\n', b'{"a":\n1}'])
def test_what_is_no_entry_is_refused_and_nothing_is_written(tmp_path, entry):
    with EpisodeWriter(tmp_path / "log.jsonl", PLAN) as writer:
        assert code_of(lambda: writer.append(entry)) == "CD-608"
    assert (tmp_path / "log.jsonl").read_bytes() == b""


def test_plan_hash_that_is_no_hash_is_refused(tmp_path):
    with pytest.raises(LogError, match="CD-608"):
        EpisodeWriter(tmp_path / "log.jsonl", "plan")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_is_named(tmp_path):
    writer = EpisodeWriter(tmp_path / "log.jsonl", PLAN)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, writer._file)
    os.close(full)

    assert code_of(lambda: writer.append(b'{"kind":"open"}')) == "CD-601"
    writer.close()


def test_write_that_is_cut_short_is_an_error_and_the_rest_verifies(tmp_path, small_files):
    path = tmp_path / "log.jsonl"
    writer = EpisodeWriter(path, PLAN)
    writer.append(b'{"kind":"open"}')

    assert code_of(lambda: writer.append(b'{"x":"%b"}' % (b"x" * 5000))) == "CD-602"
    writer.close()
    held = walk(path.read_bytes(), PLAN)
    assert (held.entries, held.torn) == (1, True)


def test_folder_that_is_a_file_is_named(tmp_path):
    (tmp_path / "episodes").write_text("")
    path = tmp_path / "episodes" / "log.jsonl"

    assert code_of(lambda: EpisodeWriter(path, PLAN)) == "CD-602"
    assert code_of(lambda: write_json_atomically(path, {})) == "CD-602"
    (tmp_path / "objects").write_text("")
    assert code_of(lambda: write_object(tmp_path, b"x")) == "CD-602"


def test_read_only_folder_is_named(tmp_path, request):
    tmp_path.chmod(0o500)
    if os.geteuid() == 0:  # root may write everywhere, nobody may not
        request.addfinalizer(lambda: os.seteuid(0))
        os.seteuid(65534)

    assert code_of(lambda: EpisodeWriter(tmp_path / "log.jsonl", PLAN)) == "CD-602"


def test_torn_log_is_continued_and_the_cut_is_an_entry(tmp_path):
    path = tmp_path / "log.jsonl"
    with EpisodeWriter(path, PLAN) as writer:
        writer.append(b'{"kind":"open"}')
    path.write_bytes(path.read_bytes() + b'{"entry":{"ki')

    with EpisodeWriter.reopen(path, PLAN) as writer:
        writer.append(b'{"kind":"verdict"}')

    assert read_episode(path) == [
        {"kind": "open"},
        {"cut": 13, "kind": "event"},
        {"kind": "verdict"},
    ]
    assert walk(path.read_bytes(), PLAN).entries == 3


def test_whole_log_is_continued_without_an_entry_of_its_own(tmp_path):
    path = tmp_path / "log.jsonl"
    with EpisodeWriter(path, PLAN) as writer:
        writer.append(b'{"kind":"open"}')

    assert EpisodeWriter.reopen(path, PLAN).close() == (writer.head, 1)


def test_broken_or_missing_log_is_not_continued(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"garbage\n")

    assert code_of(lambda: EpisodeWriter.reopen(path, PLAN)) == "CD-608"
    assert path.read_bytes() == b"garbage\n"
    assert code_of(lambda: EpisodeWriter.reopen(tmp_path / "other", PLAN)) == "CD-602"


def test_object_comes_back_under_the_hash_of_its_bytes(tmp_path):
    name = write_object(tmp_path, b"page" * 1000)

    assert name == sha256(b"page" * 1000).hexdigest()
    assert read_object(tmp_path, name) == b"page" * 1000
    assert [path.name for path in (tmp_path / "objects").iterdir()] == [f"{name}.zst"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["objects"]


def test_object_that_is_there_is_kept(tmp_path):
    name = write_object(tmp_path, b"")
    path = tmp_path / "objects" / f"{name}.zst"
    before = path.stat().st_mtime_ns

    assert write_object(tmp_path, b"") == name
    assert path.stat().st_mtime_ns == before
    assert read_object(tmp_path, name) == b""


def test_object_that_is_withheld_changed_or_misnamed_is_an_error(tmp_path):
    name, other = write_object(tmp_path, b"one"), write_object(tmp_path, b"two")
    path = tmp_path / "objects" / f"{name}.zst"

    path.write_bytes((tmp_path / "objects" / f"{other}.zst").read_bytes())
    assert code_of(lambda: read_object(tmp_path, name)) == "CD-607"
    path.write_bytes(b"junk")
    assert code_of(lambda: read_object(tmp_path, name)) == "CD-607"
    path.unlink()
    assert code_of(lambda: read_object(tmp_path, name)) == "CD-607"
    with pytest.raises(LogError, match="not the name of an object"):
        read_object(tmp_path, "../../plan")


def test_json_file_is_canonical_or_indented_and_leaves_nothing_beside(tmp_path):
    write_json_atomically(tmp_path / "a.json", {"b": 1, "a": "é"})
    write_json_atomically(tmp_path / "b.json", {"b": 1}, indent=2)

    assert (tmp_path / "a.json").read_bytes() == '{"a":"é","b":1}\n'.encode()
    assert json.loads((tmp_path / "b.json").read_bytes()) == {"b": 1}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json"]


def test_json_file_that_can_not_be_written_keeps_the_old_one(tmp_path, small_files):
    write_json_atomically(tmp_path / "a.json", {"old": True})

    assert code_of(lambda: write_json_atomically(tmp_path / "a.json", "x" * 9000)) == "CD-602"
    assert json.loads((tmp_path / "a.json").read_bytes()) == {"old": True}
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
