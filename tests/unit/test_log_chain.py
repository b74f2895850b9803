from __future__ import annotations

import json
from hashlib import sha256

import pytest

from cleandesk.log.chain import Fault, canonical, entry_of, link, previous_of, walk

PLAN = sha256(b"{}").hexdigest()


def chain_of(*entries: bytes, first: str = PLAN) -> tuple[list[bytes], str]:
    lines, head = [], first
    for index, entry in enumerate(entries):
        line, head = link(head, entry, index)
        lines.append(line + b"\n")
    return lines, head


def test_line_is_canonical_json_of_entry_index_and_previous_hash():
    line, _ = link(PLAN, b'{"kind":"step"}', 3)

    assert line == canonical({"entry": {"kind": "step"}, "index": 3, "previous": PLAN})


def test_hash_covers_the_previous_hash_and_the_stored_line():
    line, hashed = link(PLAN, b'{"kind":"step"}', 0)

    assert hashed == sha256(PLAN.encode() + line).hexdigest()


def test_walk_of_a_whole_chain_gives_head_and_number_of_entries():
    lines, head = chain_of(b'{"kind":"open"}', b'{"kind":"verdict"}')

    held = walk(b"".join(lines), PLAN)

    assert (held.entries, held.head, held.fault, held.torn) == (2, head, None, False)
    assert (held.opening, held.closing) == (b'{"kind":"open"}', b'{"kind":"verdict"}')


@pytest.mark.parametrize("size", [1, 7, 100, 150, 151, 10_000])
def test_walk_does_not_depend_on_how_the_file_is_cut_into_pieces(size):
    lines, _ = chain_of(*(canonical({"kind": "step", "n": n}) for n in range(5)))
    data = b"".join(lines)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]

    assert walk(pieces, PLAN) == walk(data, PLAN)


def test_walk_of_nothing_ends_at_the_plan():
    assert walk(b"", PLAN) == walk([], PLAN)
    assert (walk(b"", PLAN).entries, walk(b"", PLAN).head) == (0, PLAN)


def test_empty_entry_is_an_entry():
    lines, head = chain_of(b"{}")

    assert walk(lines, PLAN).head == head
    assert entry_of(lines[0].rstrip()) == b"{}"


def test_chain_of_another_plan_is_refused_at_its_first_entry():
    lines, _ = chain_of(b'{"kind":"open"}', b'{"kind":"end"}', first="0" * 64)

    assert walk(b"".join(lines), PLAN).fault == Fault(0, "entry 0 does not start from this plan")


def test_last_line_without_newline_is_torn_and_not_counted():
    lines, _ = chain_of(b'{"kind":"open"}', b'{"kind":"end"}')

    held = walk(b"".join(lines)[:-1], PLAN)

    assert (held.entries, held.torn, held.fault) == (1, True, None)


def test_edit_of_the_last_previous_hash_is_told_from_an_edit_before_by_the_sealed_head():
    lines, head = chain_of(b'{"kind":"open"}', b'{"kind":"step"}', b'{"kind":"end"}')
    own = [*lines[:2], lines[2][:-67] + b"0" * 64 + lines[2][-3:]]
    before = [lines[0], lines[1].replace(b"step", b"stop"), lines[2]]

    assert walk(own, PLAN, sealed=head).fault.entry == 2
    assert walk(before, PLAN, sealed=head).fault.entry == 1
    assert walk(before, PLAN).fault.entry == 1


def test_inserted_last_but_one_entry_is_told_from_the_last_by_the_sealed_head():
    lines, head = chain_of(b'{"kind":"open"}', b'{"kind":"verdict"}')
    extra, _ = link(previous_of(lines[1].rstrip()), b'{"kind":"step"}', 1)
    data = b"".join([lines[0], extra + b"\n", lines[1]])

    assert walk(data, PLAN, sealed=head).fault == Fault(
        1, "entry 1 was inserted: it is not part of the chain"
    )


def test_copy_of_a_later_entry_is_an_insertion_and_not_a_move():
    lines, _ = chain_of(*(canonical({"kind": "step", "n": n}) for n in range(6)))
    data = b"".join([*lines[:2], lines[4], *lines[2:]])

    assert "inserted" in walk(data, PLAN).fault.reason
    assert walk(data, PLAN).fault.entry == 2


def test_inserted_line_with_an_index_beyond_the_end_is_an_insertion():
    lines, _ = chain_of(*(canonical({"kind": "step", "n": n}) for n in range(4)))
    extra, _ = link("1" * 64, b'{"kind":"step"}', 99)
    data = b"".join([*lines[:2], extra + b"\n", *lines[2:]])

    assert walk(data, PLAN).fault == Fault(2, "entry 2 was inserted: it is not part of the chain")


def test_last_entry_that_was_moved_ahead_is_a_move():
    lines, _ = chain_of(*(canonical({"kind": "step", "n": n}) for n in range(4)))

    fault = walk(b"".join([lines[0], lines[3], *lines[1:3]]), PLAN).fault

    assert fault == Fault(1, "entries were reordered: entry 3 stands where entry 1 was")


def test_other_version_of_an_entry_after_the_real_one_is_the_one_that_was_inserted():
    lines, _ = chain_of(*(canonical({"kind": "step", "n": n}) for n in range(4)))
    other, _ = link(previous_of(lines[1].rstrip()), b'{"kind":"step","n":9}', 1)

    fault = walk(b"".join([*lines[:2], other + b"\n", *lines[2:]]), PLAN).fault

    assert fault == Fault(2, "entry 2 was inserted: entry 1 stands there again")


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("index", [0, 1, 2, 3, 4, 7])
def test_index_that_was_edited_is_named(place, index):
    lines, _ = chain_of(*(canonical({"kind": "step", "n": n}) for n in range(4)))
    lines[place] = lines[place].replace(b'"index":%d,' % place, b'"index":%d,' % index)
    edited = Fault(place, f"entry {place} was edited: it says that it is entry {index}")

    assert walk(lines, PLAN).fault == (None if index == place else edited)


def test_entry_whose_index_and_previous_hash_were_edited_is_named():
    lines, _ = chain_of(*(canonical({"kind": "step", "n": n}) for n in range(4)))
    lines[1] = link("0" * 64, b'{"kind":"step","n":1}', 7)[0] + b"\n"

    assert walk(lines, PLAN).fault == Fault(1, "entry 1 was edited: it says that it is entry 7")


def test_first_entry_that_is_missing_is_named():
    lines, _ = chain_of(b'{"kind":"open"}', b'{"kind":"step"}', b'{"kind":"end"}')

    fault = walk(b"".join(lines[1:]), PLAN).fault

    assert fault == Fault(0, "entry 0 is missing: entry 1 stands there")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b'{"entry":{},"index":00,"previous":"' + b"0" * 64 + b'"}',
        b'{"Entry":{},"index":0,"previous":"' + b"0" * 64 + b'"}',
        b'{"entry":[],"index":0,"previous":"' + b"0" * 64 + b'"}',
        b'{"entry":{},"index":0,"previous":"' + b"A" * 64 + b'"}',
        b'{"entry":{}, "index":0,"previous":"' + b"0" * 64 + b'"}',
        b'{"entry":{},"index":' + b"9" * 5000 + b',"previous":"' + b"0" * 64 + b'"}',
    ],
)
def test_line_of_another_shape_is_not_an_entry(line):
    assert walk(line + b"\n", "0" * 64).fault == Fault(0, "entry 0 is not an entry of log/1")
    assert previous_of(line) is None
    assert entry_of(line) == b""


def test_entry_that_looks_like_the_end_of_a_line_stays_whole():
    trap = canonical({"kind": "step", "text": '},"index":7,"previous":"' + "0" * 64 + '"}'})
    lines, head = chain_of(trap, b'{"kind":"end"}')

    assert walk(lines, PLAN).head == head
    assert json.loads(entry_of(lines[0].rstrip()))["kind"] == "step"


def test_canonical_json_sorts_keys_keeps_characters_and_refuses_nan():
    assert canonical({"b": "é\u2028", "a": [1, None]}) == '{"a":[1,null],"b":"é\u2028"}'.encode()
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical(float("nan"))
