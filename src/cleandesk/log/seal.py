"""The seal of a run: one root over its plan and its accepted episodes.

Two runs of a deterministic agent in deterministic worlds have the same root
(law 7), so tries that were set aside, which depend on what went wrong that day,
are sealed under a root of their own.

Source:
    docs/spec/log-1.md, section 5 "Seal" and section 8 "Signature".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from cleandesk.errors import LogError, shown
from cleandesk.log import tree
from cleandesk.log.chain import canonical
from cleandesk.log.folder import RunFolder, episode_file
from cleandesk.log.store import cannot_read, write_json_atomically

FORMAT = "log/1"
_HASH = re.compile(r"[0-9a-f]{64}\Z")
_SIGNATURE = re.compile(r"[0-9a-f]{128}\Z")


class Sealed(NamedTuple):
    """One episode as it is sealed.

    Attributes:
        episode: ``<task>/<seed>-<trial>``.
        head: Hash of its last entry, 64 hex digits.
        entries: Number of its entries.
        file: Its log, relative to the run folder, with ``/``.
    """

    episode: str
    head: str
    entries: int
    file: str


@dataclass(frozen=True, slots=True)
class Seal:
    """What root.json says.

    Attributes:
        plan: SHA-256 of plan.json's bytes.
        root: Root over the plan and the accepted episodes.
        accepted: The accepted episodes, in the plan's order.
        reruns_root: Root over the plan and the tries set aside; None without any.
        reruns: The tries set aside.
    """

    plan: str
    root: str
    accepted: tuple[Sealed, ...]
    reruns_root: str | None
    reruns: tuple[Sealed, ...]


@dataclass(frozen=True, slots=True)
class Misread:
    """Why root.json can't be read as a seal."""

    reason: str


def root_of(plan_hash: str, leaves: Iterable[bytes]) -> str:
    """Return the root over a plan and the leaves of its episodes."""
    return tree.root([canonical({"plan": plan_hash, "version": FORMAT}), *leaves])


def leaf(sealed: Sealed) -> bytes:
    """Return the leaf of an accepted episode; its file follows from its name."""
    return canonical(_accepted_leaf(sealed))


def rerun_leaf(sealed: Sealed) -> bytes:
    """Return the leaf of a try that was set aside; it holds its file as well."""
    return canonical(_rerun_leaf(sealed))


def encode_seal(plan_hash: str, accepted: Sequence[Sealed], reruns: Sequence[Sealed]) -> bytes:
    """Return the bytes of root.json; there is exactly one spelling."""
    return canonical(_document(plan_hash, accepted, reruns)) + b"\n"


def seal(
    run_folder: Path,
    plan_hash: str,
    accepted: Sequence[tuple[str, str, int, str]],
    reruns: Sequence[tuple[str, str, int, str]] = (),
) -> str:
    """Write root.json.

    Args:
        run_folder: The run folder.
        plan_hash: SHA-256 of plan.json's bytes.
        accepted: (episode, head, entries, file relative to the folder) of each
            accepted episode, in the plan's order.
        reruns: The same of each try that was set aside, in a stated order.

    Returns:
        The root, 64 hex digits. Keep it apart from the folder.

    Raises:
        LogError: CD-609, the folder has another seal already, or what was given
            is not a record; CD-601 or CD-602, it can't be written.
    """
    path = RunFolder(run_folder).root
    document = _document(
        plan_hash, [Sealed(*given) for given in accepted], [Sealed(*given) for given in reruns]
    )
    data = canonical(document) + b"\n"
    read = parse_seal(data)
    if isinstance(read, Misread):
        raise LogError("CD-609", f"this can't be sealed: {read.reason}", where=str(path))
    _require_own_files(path, accepted, reruns)
    if path.exists() and path.read_bytes() != data:
        raise LogError(
            "CD-609",
            "this run is sealed already, and not with these episodes",
            where=str(path),
            do="run into a new folder; a seal is never replaced",
        )
    write_json_atomically(path, document)
    return read.root


def parse_seal(data: bytes) -> Seal | Misread:
    """Read root.json; what does not fit the format is a finding, not an error."""
    try:
        document = json.loads(data)
        if document["format"] != FORMAT:
            return Misread(f"its format is {shown(document['format'], 40)!r}, not {FORMAT!r}")
        aside = document["reruns"]
        read = Seal(
            plan=_hash(document["plan"]),
            root=_hash(document["root"]),
            accepted=tuple(
                _sealed(given, episode_file(given["episode"])) for given in document["leaves"]
            ),
            reruns_root=None if aside["root"] is None else _hash(aside["root"]),
            reruns=tuple(_sealed(given, given["file"]) for given in aside["leaves"]),
        )
    except (ValueError, RecursionError):
        return Misread("it is not JSON with the values of a seal")
    except (KeyError, TypeError, AttributeError):
        return Misread("it lacks a part of a seal, or has one of another kind")
    files = [sealed.file for sealed in (*read.accepted, *read.reruns)]
    if len(set(files)) < len(files):
        return Misread("it seals one log twice")
    return read


def sign(root_json: Path, private_key_pem: bytes) -> Path:
    """Sign root.json with an Ed25519 key, as root.sig beside it.

    Args:
        root_json: The seal.
        private_key_pem: An unencrypted PKCS 8 key, as ``openssl genpkey
            -algorithm ed25519`` writes it.

    Raises:
        LogError: CD-611, cryptography is missing or the key is of another kind;
            CD-606, CD-601 or CD-602, a file can't be read or written.
    """
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError as error:
        raise _no_key("cryptography is not installed", "pip install cryptography") from error
    try:
        key = load_pem_private_key(private_key_pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _no_key(f"this is not a private key in PEM: {shown(error)}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _no_key("this private key is not an Ed25519 key")
    try:
        signature = key.sign(root_json.read_bytes())
    except OSError as error:
        raise cannot_read(error, root_json) from error
    path = root_json.with_name("root.sig")
    public = key.public_key().public_bytes_raw()
    write_json_atomically(
        path, {"format": "ed25519", "key": public.hex(), "signature": signature.hex()}
    )
    return path


def check_signature(root_json: bytes, root_sig: bytes) -> str | Misread | None:
    """Check root.sig against root.json.

    Returns:
        The public key that signed it (hex), why it does not hold, or None if
        cryptography is not installed.
    """
    try:
        document: dict[str, Any] = json.loads(root_sig)
        key, signature = document["key"], document["signature"]
        is_read = bool(_HASH.match(key) and _SIGNATURE.match(signature))
    except (ValueError, RecursionError, KeyError, TypeError):
        is_read = False
        key = signature = ""
    written = {"format": "ed25519", "key": key, "signature": signature}
    if not is_read or canonical(written) + b"\n" != root_sig:
        return Misread("it is not a signature of log/1")
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        return None
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(bytes.fromhex(signature), root_json)
    except (InvalidSignature, ValueError):
        return Misread("root.json is not what this key signed")
    return str(key)


def _no_key(what: str, do: str = "make one: openssl genpkey -algorithm ed25519") -> LogError:
    return LogError("CD-611", what, where="the key that signs root.json", do=do)


def _document(
    plan_hash: str, accepted: Sequence[Sealed], reruns: Sequence[Sealed]
) -> dict[str, object]:
    aside = root_of(plan_hash, map(rerun_leaf, reruns)) if reruns else None
    return {
        "format": FORMAT,
        "leaves": [_accepted_leaf(sealed) for sealed in accepted],
        "plan": plan_hash,
        "reruns": {"leaves": [_rerun_leaf(sealed) for sealed in reruns], "root": aside},
        "root": root_of(plan_hash, map(leaf, accepted)),
    }


def _accepted_leaf(sealed: Sealed) -> dict[str, object]:
    return {"entries": sealed.entries, "episode": sealed.episode, "head": sealed.head}


def _rerun_leaf(sealed: Sealed) -> dict[str, object]:
    return {**_accepted_leaf(sealed), "file": sealed.file}


def _sealed(given: dict[str, Any], file: object) -> Sealed:
    episode, entries = given["episode"], given["entries"]
    if not isinstance(episode, str) or type(entries) is not int or not isinstance(file, str):
        raise TypeError("a leaf has a value of another kind")
    return Sealed(episode, _hash(given["head"]), entries, file)


def _hash(value: str) -> str:
    if not _HASH.match(value):
        raise ValueError("not 64 hex digits")
    return value


def _require_own_files(
    path: Path,
    accepted: Sequence[tuple[str, str, int, str]],
    reruns: Sequence[tuple[str, str, int, str]],
) -> None:
    strays = [file for episode, _, _, file in accepted if file != episode_file(episode)]
    strays += [
        file
        for _, _, _, file in reruns
        if not file.startswith("reruns/") or not file.endswith(".jsonl") or ".." in file.split("/")
    ]
    if strays:
        raise LogError(
            "CD-609",
            f"{shown(strays[0])} is not where log/1 keeps this log",
            where=str(path),
            do="take the file's name from episode_path or rerun_path",
        )
