"""The reference encoder of canon/1: small, pure, and the truth.

Not for speed: ``state/canon.py`` takes orjson where both spell the same.

Source: docs/spec/canon-1.md.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from cleandesk.errors import StateError

INLINE_BYTES = 1024
"""Arrays with more bytes of data than this are spelled by their digest."""

MAX_DEPTH = 200
"""Values nested deeper than this are refused; they may contain themselves."""

_ARRAY = "numpy.ndarray"
_INT_LOW, _INT_HIGH = -(2**63), 2**64 - 1

Path = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A value with the name of what it was: an object's class and its fields.

    Attributes:
        name: Such as ``"shop.models:Order"``.
        fields: Field names to values that canon/1 knows.
    """

    name: str
    fields: Mapping[str, Any]


def encode_reference(value: Any, *, inline_bytes: int = INLINE_BYTES) -> bytes:
    """Return the canonical bytes of ``value``; see ``canon.encode``."""
    try:
        return _Encoder(inline_bytes).text(value, ()).encode()
    except RecursionError as error:
        raise _too_deep("the caller's own stack is nearly full", ()) from error


def float_text(value: float) -> str:
    """Spell a finite float: shortest digits that read back, in the form of section 3.

    A decimal point stands where the first digit's exponent lies in [-5, 15]; outside it
    the form is ``d.ddde±n`` with a sign only where it is negative or, above, ``+``.
    """
    sign = "-" if value < 0 or (value == 0 and str(value)[0] == "-") else ""
    mantissa, _, exponent_text = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    exponent = len(whole) - 1 + int(exponent_text or 0)
    stripped = digits.lstrip("0")
    exponent -= len(digits) - len(stripped)
    digits = stripped.rstrip("0")
    if not digits:
        return sign + "0.0"
    if -5 <= exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    if 0 <= exponent < 16:
        padded = digits.ljust(exponent + 1, "0")
        return f"{sign}{padded[: exponent + 1]}.{padded[exponent + 1 :] or '0'}"
    tail = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if exponent > 0 else ''}{exponent}"


class _Encoder:
    """One encoding; holds how large an array may be spelled in place."""

    def __init__(self, inline_bytes: int) -> None:
        self._inline_bytes = inline_bytes

    def text(self, value: Any, path: Path) -> str:
        if len(path) > MAX_DEPTH:
            raise _too_deep(f"deeper than {MAX_DEPTH}, or contains itself", path)
        spell = _SPELLINGS.get(type(value))
        if spell is not None:
            return spell(self, value, path)
        array = self._array(value)
        if array is None:
            raise StateError(
                "CD-101",
                f"canon/1 does not know the type {_type_name(type(value))}",
                where=f"field {spelled(path)}",
                do="turn it into plain values, or ignore the field in the contract with a reason",
            )
        return self.text(array, path) if isinstance(array, Named) else array

    def items(self, values: Any, path: Path) -> str:
        # Lists, not generators, here and below: a level costs fewer frames of the stack.
        inner = [self.text(item, (*path, place)) for place, item in enumerate(values)]
        return f"[{','.join(inner)}]"

    def mapping(self, value: Mapping[Any, Any], path: Path) -> str:
        if all(type(key) is str and key[:1] != "$" and _encodable(key) for key in value):
            # By code point, which is the order of the UTF-8 bytes too.
            inner = [
                f"{_string(key)}:{self.text(value[key], (*path, key))}" for key in sorted(value)
            ]
            return "{" + ",".join(inner) + "}"
        pairs = [
            (self.text(key, path), self.text(item, (*path, key))) for key, item in value.items()
        ]
        return '{"$map":[' + ",".join(f"[{key},{item}]" for key, item in sorted(pairs)) + "]}"

    def members(self, value: Any, path: Path) -> str:
        inner = [self.text(item, (*path, "{}")) for item in value]
        return f"[{','.join(sorted(inner))}]"

    def _array(self, value: Any) -> str | Named | None:
        # numpy is asked for only where a value of it can exist.
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return None
        # Exactly an array: a subclass may hold more, such as a mask.
        if type(value) is not numpy.ndarray and not isinstance(value, numpy.generic):
            return None
        array = numpy.asarray(value)
        if array.dtype.hasobject:
            # Addresses are not state; the objects are, with the array's shape.
            return Named("numpy.object", {"items": array.ravel().tolist(), "shape": [*array.shape]})
        dtype = array.dtype.newbyteorder("<") if array.dtype.byteorder == ">" else array.dtype
        data = numpy.ascontiguousarray(array.astype(dtype, copy=False)).tobytes()
        name = _string(dtype.str if dtype.names is None else repr(dtype.descr))
        shape = ",".join(map(str, array.shape))
        if len(data) <= self._inline_bytes:
            held = base64.b64encode(data).decode()
            return f'{{"$nd":{{"data":"{held}","dtype":{name},"shape":[{shape}]}}}}'
        held = hashlib.sha256(data).hexdigest()
        return f'{{"$nd":{{"dtype":{name},"sha256":"{held}","shape":[{shape}]}}}}'


def _too_deep(how: str, path: Path) -> StateError:
    return StateError(
        "CD-102",
        f"a value is nested too deep: {how}",
        where=f"field {spelled(path[:6])}…",
        do="flatten it, or leave this field out of the contract with a reason",
    )


def _type_name(kind: type) -> str:
    # Classes of compiled code may have no module.
    return f"{getattr(kind, '__module__', 'unknown')}.{kind.__qualname__}"


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _spell_str(_: _Encoder, value: str, __: Path) -> str:
    if _encodable(value):
        return _string(value)
    # A lone surrogate (a Linux file name, say) has no UTF-8; it is kept as bytes.
    raw = value.encode("utf-8", "surrogatepass")
    return f'{{"$u":"{base64.b64encode(raw).decode()}"}}'


def _spell_int(_: _Encoder, value: int, __: Path) -> str:
    return str(value) if _INT_LOW <= value <= _INT_HIGH else f'{{"$i":"{value}"}}'


def _spell_float(_: _Encoder, value: float, __: Path) -> str:
    if value != value:
        return '{"$f":"nan"}'
    if value in (float("inf"), float("-inf")):
        return '{"$f":"inf"}' if value > 0 else '{"$f":"-inf"}'
    return float_text(value)


def _tagged(tag: str, spell: Callable[[Any], str]) -> Callable[[_Encoder, Any, Path], str]:
    return lambda _encoder, value, _path: f'{{"{tag}":{_string(spell(value))}}}'


def _spell_named(encoder: _Encoder, value: Named, path: Path) -> str:
    fields = encoder.mapping(dict(value.fields), path)
    if value.name == _ARRAY:
        # An array whose data is elsewhere, as decoded: it goes back as it came.
        return f'{{"$nd":{fields}}}'
    return f'{{"$obj":[{_string(value.name)},{fields}]}}'


def _microseconds(value: timedelta) -> str:
    return str(value // timedelta(microseconds=1))


_SPELLINGS: dict[type, Callable[[_Encoder, Any, Path], str]] = {
    type(None): lambda _e, _v, _p: "null",
    bool: lambda _e, value, _p: "true" if value else "false",
    int: _spell_int,
    float: _spell_float,
    str: _spell_str,
    list: _Encoder.items,
    dict: _Encoder.mapping,
    tuple: lambda encoder, value, path: f'{{"$t":{encoder.items(value, path)}}}',
    set: lambda encoder, value, path: f'{{"$set":{encoder.members(value, path)}}}',
    frozenset: lambda encoder, value, path: f'{{"$fset":{encoder.members(value, path)}}}',
    bytes: _tagged("$b", lambda value: base64.b64encode(value).decode()),
    bytearray: _tagged("$ba", lambda value: base64.b64encode(value).decode()),
    datetime: _tagged("$dt", datetime.isoformat),
    date: _tagged("$d", date.isoformat),
    time: _tagged("$tm", time.isoformat),
    timedelta: _tagged("$td", _microseconds),
    Decimal: _tagged("$dec", str),
    UUID: _tagged("$uuid", str),
    complex: lambda encoder, value, path: (
        f'{{"$c":{encoder.items([value.real, value.imag], path)}}}'
    ),
    Named: _spell_named,
}

LEAVES = frozenset(_SPELLINGS) - {list, dict, tuple, set, frozenset, Named}
"""The types that stand for themselves and hold no other value."""


def spelled(path: Path) -> str:
    """Return ``path`` as people write it, surface first: ``desk.events[3].title``.

    ``Pattern.parse`` reads the same segments back. No spelling of it can hold a line
    break, or both ``"]`` and ``']``.
    """
    text = ""
    for place, part in enumerate(path):
        if isinstance(part, str) and part.isidentifier():
            text += f".{part}" if text else part
        else:
            # Of a table's name a dot looks like the end: hr.person is one name.
            text += _bracketed(str(part), is_quoted=place == 1 and "." in str(part))
    return text or "(the value itself)"


def _bracketed(text: str, *, is_quoted: bool) -> str:
    if not (is_quoted or text == "*" or "]" in text or text[:1] in {'"', "'"}):
        return f"[{text}]"
    quote = "'" if '"]' in text else '"'
    return f"[{quote}{text}{quote}]"


def _read_array(held: dict[str, Any]) -> Any:
    dtype = held["dtype"]
    if "sha256" in held or dtype.startswith("["):
        return Named(_ARRAY, held)
    import numpy

    data = base64.b64decode(held["data"])
    array = numpy.frombuffer(data, dtype=dtype).reshape(held["shape"]).copy()
    # Of no dimensions: a scalar, which can be a key again.
    return array if array.shape else array[()]


_READERS: dict[str, Callable[[Any], Any]] = {
    "$u": lambda held: base64.b64decode(held).decode("utf-8", "surrogatepass"),
    "$i": int,
    "$f": float,
    "$t": lambda held: tuple(untag(item) for item in held),
    "$set": lambda held: {untag(item) for item in held},
    "$fset": lambda held: frozenset(untag(item) for item in held),
    "$map": lambda held: {untag(key): untag(item) for key, item in held},
    "$b": base64.b64decode,
    "$ba": lambda held: bytearray(base64.b64decode(held)),
    "$dt": datetime.fromisoformat,
    "$d": date.fromisoformat,
    "$tm": time.fromisoformat,
    "$td": lambda held: timedelta(microseconds=int(held)),
    "$dec": Decimal,
    "$uuid": UUID,
    "$c": lambda held: complex(untag(held[0]), untag(held[1])),
    "$nd": _read_array,
    "$obj": lambda held: Named(held[0], untag(held[1])),
}


def untag(value: Any) -> Any:
    """Turn parsed JSON with tags back into values.

    Raises:
        StateError: CD-103, a tag that canon/1 does not know.
    """
    if type(value) is list:
        return [untag(item) for item in value]
    if type(value) is not dict:
        return value
    if len(value) == 1:
        (tag, held), *_ = value.items()
        if tag[:1] == "$":
            reader = _READERS.get(tag)
            if reader is None:
                raise StateError(
                    "CD-103",
                    f"canon/1 has no tag {tag!r}",
                    do="read this record with the version of cleandesk that wrote it",
                )
            return reader(held)
    return {key: untag(item) for key, item in value.items()}
