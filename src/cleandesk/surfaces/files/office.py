"""Documents that are zip files: their members, and the cells of their sheets.

Left out is what saving a document anew changes without changing what it says: the times
and the order of the members, how they were compressed, and in which order a workbook
keeps its shared texts.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as Xml

from cleandesk.surfaces.files.content import MOST_TEXT, UnreadableError, digest_of, lines_of

_MOST_MEMBERS = 10_000
_MOST_BYTES = 128 * 1024 * 1024
_MOST_CELLS = 200_000
_SHEETS = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_BETWEEN_TAGS = re.compile(r"(?<=>)(?=<)")
_SHARED = "xl/sharedStrings.xml"
_WORKBOOK = "xl/workbook.xml"
_BINDINGS = "xl/_rels/workbook.xml.rels"
_CONTENT = "content.xml"


def read_document(path: str, data: bytes) -> dict[str, Any]:
    """Return a document: member -> its text or digest, and ``cells`` by sheet and reference.

    Raises:
        UnreadableError: It is no such document, or one that is too big to unpack.
    """
    members = _members(data)
    ending = path.lower().rpartition(".")[2]
    cells: dict[str, Any] | None = None
    try:
        if ending == "xlsx" and _WORKBOOK in members:
            members, cells = _workbook(members)
        elif ending == "ods" and _CONTENT in members:
            members, cells = _spreadsheet(members)
    except (Xml.ParseError, KeyError, ValueError, IndexError):
        # Its members are still all read.
        cells = None
    read: dict[str, Any] = {
        "members": {name: _member(name, held) for name, held in members.items()}
    }
    if cells is not None:
        read["cells"] = cells
    return read


def _members(data: bytes) -> dict[str, bytes]:
    members: dict[str, bytes] = {}
    left = _MOST_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as held:
            names = held.namelist()
            if len(names) > _MOST_MEMBERS or len(set(names)) < len(names):
                raise UnreadableError
            for name in names:
                with held.open(name) as member:
                    # A small zip may unpack to anything: it is stopped by what comes out.
                    text = member.read(left + 1)
                left -= len(text)
                if left < 0:
                    raise UnreadableError
                members[name] = text
    except (
        zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError,
        OSError,
    ) as error:  # fmt: skip
        raise UnreadableError from error
    return members


def _member(name: str, data: bytes) -> Any:
    if name.endswith((".xml", ".rels")):
        # Cut between tags, since a document is often one line; joined it is the data.
        lines = lines_of(data)
        if lines is not None:
            return _BETWEEN_TAGS.split("\n".join(lines))
        return digest_of(data)
    lines = lines_of(data) if len(data) <= MOST_TEXT else None
    return digest_of(data) if lines is None else lines


def _tree(data: bytes) -> Xml.Element:
    # What could expand or fetch anything is refused before it is parsed.
    if b"<!" in data.replace(b"<!--", b"").replace(b"<![CDATA[", b"") or b"\0" in data:
        raise ValueError
    return Xml.fromstring(data)  # noqa: S314 - it has no DTD


def _workbook(members: dict[str, bytes]) -> tuple[dict[str, bytes], dict[str, Any]]:
    shared = [_shared_text(item) for item in _tree(members[_SHARED])] if _SHARED in members else []
    places = {
        item.attrib["Id"]: _member_path(item.attrib["Target"]) for item in _tree(members[_BINDINGS])
    }
    kept = {name: held for name, held in members.items() if name != _SHARED}
    cells: dict[str, Any] = {}
    for sheet in _tree(members[_WORKBOOK]).iter(f"{_SHEETS}sheet"):
        name = places[sheet.attrib[_RELATION]]
        if name not in members or sheet.attrib["name"] in cells:
            raise ValueError
        tree = _tree(members[name])
        cells[sheet.attrib["name"]] = _sheet_cells(tree, shared)
        kept[name] = Xml.tostring(tree, "utf-8")
    return kept, cells


def _member_path(target: str) -> str:
    return target[1:] if target.startswith("/") else f"xl/{target}"


def _shared_text(item: Xml.Element) -> str:
    parts = list(item)
    if len(parts) == 1 and parts[0].tag == f"{_SHEETS}t":
        return parts[0].text or ""
    # Text with formats of its own: its markup is what it says.
    return Xml.tostring(item, "unicode")


def _sheet_cells(tree: Xml.Element, shared: list[str]) -> dict[str, Any]:
    """Return the cells by reference, and take them out of ``tree``."""
    cells: dict[str, Any] = {}
    for rows in tree.iter(f"{_SHEETS}sheetData"):
        for row in list(rows):
            for cell in list(row):
                reference = cell.attrib["r"]
                if cell.tag != f"{_SHEETS}c" or reference in cells:
                    raise ValueError
                cells[reference] = _sheet_cell(cell, shared)
                row.remove(cell)
            # What is left of a row is its height and format; most have none.
            if not set(row.attrib) - {"r", "spans"}:
                rows.remove(row)
    return cells


def _sheet_cell(cell: Xml.Element, shared: list[str]) -> dict[str, Any]:
    kind = cell.attrib.get("t", "n")
    held: dict[str, Any] = {"type": "text" if kind == "s" else kind}
    for name, value in cell.attrib.items():
        if name not in {"r", "t"}:
            held["style" if name == "s" else name] = value
    for part in cell:
        name = part.tag.removeprefix(_SHEETS)
        text = part.text or ""
        if name == "v":
            held["value"] = shared[int(text)] if kind == "s" else text
        elif name == "f" and not part.attrib:
            held["formula"] = text
        else:
            part.tail = None
            held[name] = Xml.tostring(part, "unicode")
    return held


def _spreadsheet(members: dict[str, bytes]) -> tuple[dict[str, bytes], dict[str, Any]]:
    tree = _tree(members[_CONTENT])
    cells: dict[str, Any] = {}
    for table in tree.iter(f"{_TABLE}table"):
        name = table.attrib[f"{_TABLE}name"]
        if name in cells:
            raise ValueError
        cells[name] = dict(_table_cells(table))
    return {**members, _CONTENT: Xml.tostring(tree, "utf-8")}, cells


def _table_cells(table: Xml.Element) -> Iterator[tuple[str, dict[str, Any]]]:
    row_number, count = 0, 0
    for row in table.iter(f"{_TABLE}table-row"):
        repeated = int(row.attrib.get(f"{_TABLE}number-rows-repeated", "1"))
        column = 0
        for cell in list(row):
            wide = int(cell.attrib.pop(f"{_TABLE}number-columns-repeated", "1"))
            held = _table_cell(cell)
            if held:
                count += wide * repeated
                if count > _MOST_CELLS:
                    raise ValueError
                for down in range(repeated):
                    for right in range(wide):
                        yield f"{_letters(column + right)}{row_number + down + 1}", held
            column += wide
            row.remove(cell)
        row_number += repeated


def _table_cell(cell: Xml.Element) -> dict[str, Any]:
    held: dict[str, Any] = {}
    for name, value in cell.attrib.items():
        short = name.rpartition("}")[2]
        held[name if short in held else short] = value
    parts = list(cell)
    if len(parts) == 1 and not len(parts[0]) and not parts[0].attrib:
        held["text"] = parts[0].text or ""
    elif parts:
        held["text"] = "".join(Xml.tostring(part, "unicode") for part in parts)
    return held


def _letters(column: int) -> str:
    text = ""
    column += 1
    while column:
        column, place = divmod(column - 1, 26)
        text = chr(ord("A") + place) + text
    return text
