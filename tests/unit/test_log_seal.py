from __future__ import annotations

import json
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from cleandesk.errors import LogError
from cleandesk.log import rerun_file, seal, sign, tree
from cleandesk.log.seal import Misread, check_signature, leaf, parse_seal, rerun_leaf

PLAN, HEAD = "1" * 64, "2" * 64
ONE = ("a/7-0", HEAD, 9, "episodes/a/7-0.jsonl")
OTHER = ("b c/7-0", HEAD, 5, "episodes/b%20c/7-0.jsonl")
RERUN = ("a/7-0", HEAD, 4, rerun_file("a/7-0", 1))


def pem(key) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def sign_with(tmp_path, key: bytes) -> str:
    with pytest.raises(LogError) as caught:
        sign(tmp_path / "root.json", key)
    return caught.value.code


def test_root_is_over_the_plan_and_each_episode_in_the_given_order(tmp_path):
    first = b'{"plan":"%b","version":"log/1"}' % PLAN.encode()
    second = b'{"entries":9,"episode":"a/7-0","head":"%b"}' % HEAD.encode()
    third = b'{"entries":5,"episode":"b c/7-0","head":"%b"}' % HEAD.encode()

    assert seal(tmp_path, PLAN, [ONE, OTHER]) == tree.root([first, second, third])


def test_root_of_accepted_episodes_does_not_depend_on_reruns(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()

    assert seal(tmp_path / "a", PLAN, [ONE]) == seal(tmp_path / "b", PLAN, [ONE], [RERUN])


def test_seal_is_read_back_as_it_was_written(tmp_path):
    root = seal(tmp_path, PLAN, [ONE, OTHER], [RERUN])
    document = json.loads((tmp_path / "root.json").read_bytes())
    read = parse_seal((tmp_path / "root.json").read_bytes())

    assert document["format"] == "log/1"
    assert document["leaves"] == [json.loads(leaf(one)) for one in read.accepted]
    assert document["reruns"]["leaves"] == [json.loads(rerun_leaf(one)) for one in read.reruns]
    assert (read.plan, read.root, read.accepted, read.reruns) == (
        PLAN,
        root,
        (ONE, OTHER),
        (RERUN,),
    )


def test_run_without_episodes_can_be_sealed(tmp_path):
    seal(tmp_path, PLAN, [])

    assert json.loads((tmp_path / "root.json").read_bytes())["reruns"] == {
        "leaves": [],
        "root": None,
    }


def test_seal_is_never_replaced_by_another(tmp_path):
    root = seal(tmp_path, PLAN, [ONE])

    assert seal(tmp_path, PLAN, [ONE]) == root
    with pytest.raises(LogError, match="CD-609 this run is sealed already"):
        seal(tmp_path, PLAN, [ONE, OTHER])


@pytest.mark.parametrize(
    ("accepted", "reruns"),
    [
        ([ONE, ONE], []),
        ([("a/7-0", "head", 9, ONE[3])], []),
        ([("a/7-0", HEAD, True, ONE[3])], []),
        ([("a/7-0", HEAD, 9, "episodes/b/7-0.jsonl")], []),
        ([], [("a/7-0", HEAD, 9, "episodes/a/7-0.jsonl")]),
        ([], [("a/7-0", HEAD, 9, "reruns/../plan.jsonl")]),
        ([], [("a/7-0", HEAD, 9, "reruns/a.txt")]),
    ],
)
def test_what_is_no_record_is_not_sealed(tmp_path, accepted, reruns):
    with pytest.raises(LogError, match="CD-609"):
        seal(tmp_path, PLAN, accepted, reruns)
    assert not (tmp_path / "root.json").exists()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b'{"format":"log/2"}',
        b'{"format":"log/1"}',
        b"[" * 100_000,
        b'{"format":"log/1","leaves":3,"plan":"%b","reruns":{"leaves":[],"root":null},"root":"%b"}'
        % (HEAD.encode(), HEAD.encode()),
    ],
)
def test_root_json_that_is_no_seal_is_a_finding_and_no_error(data):
    assert isinstance(parse_seal(data), Misread)


def test_signature_holds_for_these_bytes_and_this_key_only(tmp_path):
    key = Ed25519PrivateKey.generate()
    seal(tmp_path, PLAN, [ONE])
    signature = sign(tmp_path / "root.json", pem(key)).read_bytes()
    data = (tmp_path / "root.json").read_bytes()
    public = key.public_key().public_bytes_raw().hex()

    assert check_signature(data, signature) == public
    assert isinstance(check_signature(data + b" ", signature), Misread)
    other = signature.replace(public.encode(), sha256(b"").hexdigest().encode())
    assert isinstance(check_signature(data, other), Misread)
    assert isinstance(check_signature(data, signature + b" "), Misread)
    assert isinstance(check_signature(data, b"{}"), Misread)


def test_key_that_can_not_sign_is_named(tmp_path):
    good = pem(Ed25519PrivateKey.generate())

    assert sign_with(tmp_path, b"junk") == "CD-611"
    assert sign_with(tmp_path, pem(generate_private_key(SECP256R1()))) == "CD-611"
    assert sign_with(tmp_path, good) == "CD-606"
