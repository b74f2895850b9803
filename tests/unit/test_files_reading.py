"""Reading a folder: records, readers, and what is ignored."""

from __future__ import annotations

import hashlib
import io
import json
import os
import socket
import sqlite3
import stat
import zipfile

import pytest

from cleandesk.errors import SuiteError, WorldError
from cleandesk.state.canon import decode
from cleandesk.surfaces.files import Files, files, read_folder


def records(folder, terms=None):
    tables, _, _ = read_folder(folder, "home", terms)
    return tables["files"].value()


def owner():
    return f"{os.geteuid()}:{os.getegid()}"


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def zipped(members, *, when=(2020, 1, 1, 0, 0, 0), kind=zipfile.ZIP_DEFLATED):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", kind) as document:
        for name, text in members.items():
            document.writestr(zipfile.ZipInfo(name, when), text, kind)
    return held.getvalue()


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def workbook(rows, shared=(), **how):
    return zipped(
        {
            "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>'
            '<sheet name="Costs" sheetId="1" r:id="rId1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": "<Relationships>"
            '<Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>',
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{MAIN}"><cols><col min="1"/></cols>'
            f"<sheetData>{rows}</sheetData></worksheet>",
            "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">'
            + "".join(f"<si><t>{text}</t></si>" for text in shared)
            + "</sst>",
        },
        **how,
    )


def test_an_entry_of_each_kind_is_one_record(tmp_path):
    put(tmp_path / "a.txt", "one\ntwo\n").chmod(0o640)
    put(tmp_path / "b.bin", b"\0\xff")
    (tmp_path / "empty").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("no/such/file")
    os.mkfifo(tmp_path / "fifo", 0o600)
    with socket.socket(socket.AF_UNIX) as held:
        held.bind(str(tmp_path / "socket"))
    (tmp_path / "socket").chmod(0o600)
    tmp_path.chmod(0o750)

    assert records(tmp_path) == {
        ".": {"mode": "0750", "owner": owner(), "type": "folder"},
        "a.txt": {"lines": ["one", "two", ""], "mode": "0640", "owner": owner(), "type": "file"},
        "b.bin": {
            "bytes": {"sha256": hashlib.sha256(b"\0\xff").hexdigest(), "size": 2},
            "mode": f"{stat.S_IMODE((tmp_path / 'b.bin').stat().st_mode):04o}",
            "owner": owner(),
            "type": "file",
        },
        "empty": {"mode": "0700", "owner": owner(), "type": "folder"},
        "fifo": {"mode": "0600", "owner": owner(), "type": "fifo"},
        "link": {"mode": "0777", "owner": owner(), "target": "no/such/file", "type": "link"},
        "socket": {"mode": "0600", "owner": owner(), "type": "socket"},
    }


def test_a_name_that_is_not_utf_8_is_kept_as_bytes(tmp_path):
    (tmp_path / os.fsdecode(b"\xff\xfe")).touch()

    assert set(records(tmp_path)) == {".", b"\xff\xfe"}


def test_files_with_several_names_name_the_smallest(tmp_path):
    put(tmp_path / "b", "x")
    os.link(tmp_path / "b", tmp_path / "c")
    os.link(tmp_path / "b", tmp_path / "a")

    read = records(tmp_path)

    assert [read[name]["hardlinks"] for name in "abc"] == ["a", "a", "a"]


def test_a_file_whose_other_name_lies_elsewhere_has_no_group(tmp_path):
    put(tmp_path / "in" / "a", "x")
    os.link(tmp_path / "in" / "a", tmp_path / "out")

    assert "hardlinks" not in records(tmp_path / "in")["a"]


def test_extended_attributes_are_read(tmp_path):
    put(tmp_path / "a", "x")
    try:
        os.setxattr(tmp_path / "a", "user.note", b"\x00hi")
    except OSError:
        pytest.skip("no extended attributes of users on this file system")

    assert records(tmp_path)["a"]["xattrs"] == {"user.note": b"\x00hi"}


def test_a_link_is_never_followed(tmp_path):
    put(tmp_path / "outside" / "secret", "x")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "way").symlink_to(tmp_path / "outside")

    assert set(records(tmp_path / "in")) == {".", "way"}


def test_the_modification_time_is_kept_where_it_is_asked_for(tmp_path):
    put(tmp_path / "d" / "a", "x")
    os.utime(tmp_path / "d" / "a", ns=(5, 1_000_000_007))

    read = records(tmp_path, files("x", mtime=True))

    assert read["d/a"]["mtime"] == 1_000_000_007
    assert "mtime" not in read["d"]


@pytest.mark.parametrize("text", ["", "\n", "a\r\nb", "é\n\n", "no end", "$x\n$"])
def test_lines_are_the_text_exactly(tmp_path, text):
    put(tmp_path / "a", text)

    assert "\n".join(records(tmp_path)["a"]["lines"]) == text


@pytest.mark.parametrize(
    "data", [b"a\0b", b"\xff", b"x" * (256 * 1024 + 1)], ids=["NUL", "no UTF-8", "big"]
)
def test_what_is_no_small_text_is_read_by_its_digest(tmp_path, data):
    put(tmp_path / "a", data)

    assert records(tmp_path)["a"]["bytes"] == {
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
    }


def test_json_is_read_by_key_and_its_spelling_is_not(tmp_path):
    put(tmp_path / "a.json", '{"b": [1, 1.0, null], "a": {"$x": "é"}}')
    put(tmp_path / "b.json", '{ "a":{"$x":"\\u00e9"},"b":[1,1.0,null]}\n')
    tables, _, not_read = read_folder(tmp_path, "home")
    read = tables["files"].value()

    assert read["a.json"]["json"] == {"a": {"$x": "é"}, "b": [1, 1.0, None]}
    assert tables["files"].records[b'"a.json"'] == tables["files"].records[b'"b.json"']
    assert any("JSON" in text for text in not_read)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}', "{", '{"a": NaN}', "[1e999]", "[1e-999]", "[" * 180 + "]" * 180,
        "\ufeff{}", "[" * 100_000,
    ],
    ids=["twice", "cut", "NaN", "overflow", "underflow", "deep", "mark", "very deep"],
)  # fmt: skip
def test_what_json_would_not_tell_exactly_is_read_as_lines(tmp_path, text):
    put(tmp_path / "a.json", text)

    assert records(tmp_path)["a.json"]["lines"] == [text]


def test_a_reader_can_be_turned_off_by_name_or_path(tmp_path):
    put(tmp_path / "d" / "a.json", "{}")
    put(tmp_path / "d" / "b.json", "{}")
    terms = files("x", readers={"d/a.json": "bytes", "*.json": "lines"})

    read = records(tmp_path, terms)

    assert "bytes" in read["d/a.json"]
    assert read["d/b.json"]["lines"] == ["{}"]


def test_a_document_is_the_same_when_only_its_zip_differs(tmp_path):
    put(tmp_path / "a.docx", zipped({"word/document.xml": "<a><b/></a>", "x.bin": b"\0"}))
    put(
        tmp_path / "b.docx",
        zipped(
            {"x.bin": b"\0", "word/document.xml": "<a><b/></a>"},
            when=(2024, 5, 6, 7, 8, 10),
            kind=zipfile.ZIP_STORED,
        ),
    )
    tables, _, not_read = read_folder(tmp_path, "home")
    held = tables["files"].records

    assert held[b'"a.docx"'] == held[b'"b.docx"']
    assert tables["files"].value()["a.docx"]["office"]["members"] == {
        "word/document.xml": ["<a>", "<b/>", "</a>"],
        "x.bin": {"sha256": hashlib.sha256(b"\0").hexdigest(), "size": 1},
    }
    assert any("zip" in text for text in not_read)


def test_a_workbook_is_read_by_sheet_and_cell(tmp_path):
    rows = (
        '<row r="1" spans="1:2"><c r="A1" t="s"><v>1</v></c><c r="B1" s="2"><v>4.5</v></c></row>'
        '<row r="2"><c r="A2"><f>B1*2</f><v>9</v></c></row>'
    )
    put(tmp_path / "a.xlsx", workbook(rows, ["unused", "Taxi"]))
    put(tmp_path / "b.xlsx", workbook(rows.replace("<v>1<", "<v>0<"), ["Taxi"]))
    read = records(tmp_path)

    assert read["a.xlsx"]["office"]["cells"] == {
        "Costs": {
            "A1": {"type": "text", "value": "Taxi"},
            "A2": {"formula": "B1*2", "type": "n", "value": "9"},
            "B1": {"style": "2", "type": "n", "value": "4.5"},
        }
    }
    assert read["a.xlsx"] == read["b.xlsx"]


def test_what_a_sheet_says_beside_its_cells_is_not_lost(tmp_path):
    tall = '<row r="1" ht="40"><c r="A1"><v>1</v></c></row>'
    put(tmp_path / "a.xlsx", workbook('<row r="1"><c r="A1"><v>1</v></c></row>'))
    put(tmp_path / "b.xlsx", workbook(tall))
    read = records(tmp_path)

    assert read["a.xlsx"]["office"]["cells"] == read["b.xlsx"]["office"]["cells"]
    assert read["a.xlsx"] != read["b.xlsx"]


def test_a_spreadsheet_with_repeated_cells_is_read_by_cell(tmp_path):
    names = (
        'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
        'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    )
    content = (
        f'<office:d {names}><table:table table:name="S"><table:table-row>'
        '<table:table-cell table:number-columns-repeated="2" office:value="3">'
        "<text:p>3</text:p></table:table-cell>"
        '<table:table-cell table:number-columns-repeated="16000"/>'
        "</table:table-row></table:table></office:d>"
    )
    put(tmp_path / "a.ods", zipped({"content.xml": content}))

    assert records(tmp_path)["a.ods"]["office"]["cells"] == {
        "S": {"A1": {"text": "3", "value": "3"}, "B1": {"text": "3", "value": "3"}}
    }


@pytest.mark.parametrize(
    "data",
    [b"no zip", zipped({"a": "x"})[:-10], b"PK\x03\x04" + b"\0" * 40],
    ids=["text", "cut", "zeros"],
)
def test_what_is_no_document_is_read_plainly(tmp_path, data):
    put(tmp_path / "a.docx", data)

    assert "office" not in records(tmp_path)["a.docx"]


def test_a_document_that_unpacks_to_too_much_is_read_by_its_digest(tmp_path):
    put(tmp_path / "a.docx", zipped({"word/a.bin": bytes(129 * 1024 * 1024)}))

    assert "bytes" in records(tmp_path)["a.docx"]


def test_a_sheet_that_declares_entities_is_not_expanded(tmp_path):
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><worksheet>&b;</worksheet>'
    data = zipped(
        {
            "xl/workbook.xml": bomb,
            "xl/_rels/workbook.xml.rels": "<Relationships/>",
        }
    )
    put(tmp_path / "a.xlsx", data)
    read = records(tmp_path)["a.xlsx"]["office"]

    assert "cells" not in read
    assert "".join(read["members"]["xl/workbook.xml"]) == bomb


def database(path, rows, *, wal=False):
    link = sqlite3.connect(path)
    if wal:
        link.execute("PRAGMA journal_mode=wal")
    link.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
    link.executemany("INSERT INTO t VALUES (?, ?)", rows)
    link.commit()
    return link


def test_a_database_is_read_by_row_with_its_log_as_one(tmp_path):
    link = database(tmp_path / "a.db", [(1, "x"), (2, 2.5)], wal=True)
    try:
        assert (tmp_path / "a.db-wal").exists()
        read = records(tmp_path)
    finally:
        link.close()

    assert set(read) == {".", "a.db"}
    assert read["a.db"]["sqlite"]["t"] == {1: {"id": 1, "v": "x"}, 2: {"id": 2, "v": 2.5}}


def test_reading_a_database_leaves_its_folder_alone(tmp_path):
    """Law 2."""
    database(tmp_path / "a.db", [(1, "x")], wal=True).close()
    before = sorted(tmp_path.iterdir()), (tmp_path / "a.db").read_bytes()

    records(tmp_path)

    assert (sorted(tmp_path.iterdir()), (tmp_path / "a.db").read_bytes()) == before


def test_what_only_begins_like_a_database_is_read_with_its_companions_apart(tmp_path):
    put(tmp_path / "a.db", b"SQLite format 3\0" + b"\x07" * 500)
    put(tmp_path / "a.db-wal", "x")
    read = records(tmp_path)

    assert "bytes" in read["a.db"]
    assert read["a.db-wal"]["lines"] == ["x"]


def test_a_companion_without_its_database_is_a_file(tmp_path):
    put(tmp_path / "notes-wal", "x")
    put(tmp_path / "notes", "y")

    assert set(records(tmp_path)) == {".", "notes", "notes-wal"}


def test_a_database_whose_reader_is_turned_off_is_read_by_its_digest(tmp_path):
    database(tmp_path / "a.db", [(1, "x")]).close()
    read = records(tmp_path, files("x", readers={"*.db": "bytes"}))

    assert "bytes" in read["a.db"]


def test_ignored_fields_and_folders_are_left_out_and_named(tmp_path):
    put(tmp_path / "cache" / "deep" / "x", "1")
    put(tmp_path / "a.json", '{"id": 1, "otp": 5}')
    put(tmp_path / "log", "x")
    terms = files(
        "x",
        ignore={
            "files[cache/**]": "made anew",
            'files["a.json"].json.otp': "random",
            "files[log]": "noise",
            "files[*].owner": "of this machine",
            "files[none/**]": "not there",
        },
    )
    tables, ignored, _ = read_folder(tmp_path, "home", terms)
    read = tables["files"].value()

    assert set(read) == {".", "a.json", "cache"}
    assert read["a.json"]["json"] == {"id": 1}
    assert "owner" not in read["."]
    assert ignored == {
        "home.files[cache/**]",
        'home.files["a.json"].json.otp',
        "home.files[log]",
        "home.files[*].owner",
    }


def test_the_terms_say_what_was_asked():
    terms = files("home", ignore={"files[a]": "why"}, incidental=["files[b]"], mtime=True)

    assert terms.kind == "files"
    assert terms.source == {"from": "home", "method": "auto", "mtime": True, "readers": {}}
    assert terms.ignore == {"files[a]": "why"}
    assert terms.incidental == ("files[b]",)


@pytest.mark.parametrize(
    ("chosen", "code"),
    [({"readers": {"*": "magic"}}, "CD-281"), ({"method": "magic"}, "CD-282")],
)
def test_a_reader_or_method_that_does_not_exist_is_refused(chosen, code):
    with pytest.raises(WorldError) as caught:
        files("home", **chosen)

    assert caught.value.code == code


def test_an_argument_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match="magic"):
        files("home", magic=True)


def test_a_source_that_is_not_there_is_named(tmp_path):
    with pytest.raises(WorldError) as caught:
        Files().prepare("home", files("no"), tmp_path, lambda text: tmp_path / text)

    assert caught.value.code == "CD-243"
    assert str(tmp_path / "no") in caught.value.message


def test_a_source_that_holds_the_copies_is_refused(tmp_path):
    (tmp_path / "base").mkdir()
    with pytest.raises(WorldError) as caught:
        Files().prepare("home", files("."), tmp_path / "base", lambda _: tmp_path)

    assert caught.value.code == "CD-243"


def test_files_have_no_questions():
    with pytest.raises(SuiteError) as caught:
        Files().query({}, "SELECT 1")

    assert caught.value.code == "CD-419"


def test_folders_nested_too_deep_are_refused(tmp_path):
    at = os.open(tmp_path, os.O_RDONLY)
    for _ in range(230):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    with pytest.raises(WorldError) as caught:
        read_folder(tmp_path, "home")

    assert caught.value.code == "CD-284"


def test_a_key_is_the_canonical_text_of_its_path(tmp_path):
    put(tmp_path / 'a "quoted" name', "x")
    tables, _, _ = read_folder(tmp_path, "home")

    assert json.dumps('a "quoted" name').encode() in tables["files"].records
    assert {decode(key) for key in tables["files"].records} == {".", 'a "quoted" name'}
