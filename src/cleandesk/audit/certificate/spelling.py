"""A certificate as plain JSON, and read back.

What is no JSON is spelled as canon/1 does (a NaN is ``{"$f": "nan"}``), so a file holds
neither NaN nor Infinity, and what is read back equals what was written. Keys that are not
known are passed over: a later version may say more.

Source: docs/spec/certificate.md, "As JSON".
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from cleandesk.audit.certificate.certificate import SCHEMA, Certificate
from cleandesk.errors import CleandeskError, UsageError, shown
from cleandesk.state.canon import encode
from cleandesk.state.reference import untag

_LARGEST_BYTES = 256 << 20
_READ = {field.name for field in dataclasses.fields(Certificate)} | {"class"}


def to_json(certificate: Certificate) -> dict[str, Any]:
    """Return what ``--json`` promises; of plain JSON types through and through."""
    held = msgspec.to_builtins(certificate, builtin_types=(bytes,))
    held |= {"schema": SCHEMA, "status": str(certificate.status), "class": held.pop("cls")}
    for boundary in held["boundaries"]:
        boundary["class"] = boundary.pop("cls")
    # Not through to_builtins: it may hold what JSON has no word for.
    held["stamp"] = dict(certificate.stamp)
    # The certificate's own tuples are lists; canon/1 would tag them.
    plain: dict[str, Any] = json.loads(encode(_listed(held)))
    return plain


def from_json(value: Any) -> Certificate:
    """Return the certificate that ``to_json`` spelled.

    Raises:
        UsageError: CD-871, it is no certificate of a version that this one reads.
    """
    if not isinstance(value, Mapping) or value.get("schema") != SCHEMA:
        found = value.get("schema") if isinstance(value, Mapping) else type(value).__name__
        raise _not_one(f"its schema is {shown(repr(found), 60)}, not {SCHEMA!r}")
    # Left out, a list of leaks would read as none.
    missing = sorted((_READ - {"cls"}) - value.keys())
    if missing:
        raise _not_one(f"it has no {missing[0]!r}")
    try:
        held = {key: untag(item) for key, item in value.items() if key in _READ}
        held["cls"] = held.pop("class")
        held["boundaries"] = [{**row, "cls": row["class"]} for row in held.get("boundaries") or ()]
        certificate = msgspec.convert(held, Certificate)
    except CleandeskError as error:
        raise _not_one(error.message) from error
    except msgspec.ValidationError as error:
        raise _not_one(shown(error)) from error
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise _not_one(f"{type(error).__name__}: {shown(error)}") from error
    if value.get("status") != str(certificate.status):
        raise _not_one(f"its status does not follow from its class {certificate.cls}")
    return certificate


def read_certificate(path: str | Path) -> Certificate:
    """Return the certificate in a file that ``certify --json FILE`` wrote.

    Raises:
        UsageError: CD-871, there is no certificate in it.
    """
    place = Path(path)
    try:
        if place.stat().st_size > _LARGEST_BYTES:
            raise _not_one("it is larger than 256 MiB", place)
        return from_json(json.loads(place.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        raise _not_one(shown(error), place) from error
    except UsageError as error:
        raise _not_one(error.message.partition(": ")[2], place) from error


def _listed(value: Any) -> Any:
    """Turn the tuples of dataclasses into lists; those of a stamp stay what they are."""
    if isinstance(value, dict):
        return {key: item if key == "stamp" else _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, list | tuple) else value


def _not_one(why: str, path: Path | None = None) -> UsageError:
    return UsageError(
        "CD-871",
        f"not a certificate: {why}",
        where=f"file {shown(path, 1000)}" if path is not None else "",
        do="give a file that `cleandesk certify WORLD --json FILE` wrote",
    )
