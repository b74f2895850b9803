"""The rows of a trace: what each reset and step said, channel by channel, bit for bit.

A row is the SHA-256 over its five channels' spellings and the row before it, so that
equal last rows mean equal traces. The spelling is exact (types, dtypes, shapes, bits)
and fast for arrays; what can't be spelled stands there by the name of its type.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cleandesk.audit.certificate.rig import CHANNELS, Outcome
from cleandesk.audit.certificate.walk.numbers import without_gaps
from cleandesk.errors import CleandeskError, shown
from cleandesk.state.canon import ALL_BYTES, decode, encode
from cleandesk.state.diff import ABSENT, diff_values
from cleandesk.state.reference import Named, spelled
from cleandesk.surfaces.objects import flatten

ROW_BYTES = 32
_KEPT_BYTES = 64 << 20
_LENGTHS = struct.Struct(">5I")
_LENGTH = struct.Struct(">I")
_DOUBLE = struct.Struct(">d")
_FIXED = {None: b"N", True: b"B1", False: b"B0"}
_SHOWN = 160
_DEEPEST = 100


class Rows:
    """The rows of one trace.

    Attributes:
        digests: 32 bytes for each row, row 0 being the reset.
        steps: For each row, how many steps came before what it holds was said.
        unread: Types of values that could not be spelled, by channel.
    """

    def __init__(self) -> None:
        self.digests = bytearray()
        self.steps: list[int] = []
        self.unread: dict[str, str] = {}
        self._last = b""
        self._kept: list[tuple[bytes, ...] | None] = []
        self._held_bytes = 0
        self._seen: set[bytes] = set()
        self._outcomes: set[bytes] = set()

    def __len__(self) -> int:
        return len(self.digests) // ROW_BYTES

    @property
    def distinct(self) -> int:
        """How many different observations there were."""
        return len(self._seen)

    @property
    def has_moved(self) -> bool:
        """Whether two steps ever said something different, infos left aside."""
        return len(self._outcomes) > 1

    def add(self, outcome: Outcome, step: int) -> None:
        """Add what the reset (0), the step of that number, or a reset after it said."""
        self.steps.append(step)
        self._append(
            (
                self._spelled(outcome.observation, 0),
                self._spelled(outcome.reward, 1),
                self._spelled(outcome.terminated, 2),
                self._spelled(outcome.truncated, 3),
                self._spelled(outcome.info, 4),
            )
        )

    def add_error(self, error: BaseException, step: int) -> None:
        """Add that a step or reset raised; nothing follows."""
        self.steps.append(step)
        said = spell(f"raised {type(error).__name__}: {shown(error, 300)}", [])
        self._append((said, b"N", b"N", b"N", b"N"))

    def channels(self, place: int) -> tuple[bytes, ...] | None:
        """Return the spellings of the channels of a row, or None if they were too large to keep."""
        return self._kept[place] if place < len(self._kept) else None

    def _append(self, parts: tuple[bytes, ...]) -> None:
        sizes = _LENGTHS.pack(*map(len, parts))
        self._last = hashlib.sha256(b"".join((self._last, sizes, *parts))).digest()
        self.digests += self._last
        self._seen.add(hashlib.blake2b(parts[0], digest_size=8).digest())
        if parts[1] != _FIXED[None] and len(self._outcomes) < 2:
            # A reset has no reward, and is no step.
            self._outcomes.add(hashlib.blake2b(b"".join(parts[:4]), digest_size=8).digest())
        self._held_bytes += sum(map(len, parts))
        self._kept.append(parts if self._held_bytes <= _KEPT_BYTES else None)

    def _spelled(self, value: Any, channel: int) -> bytes:
        unread: list[str] = []
        data = spell(value, unread)
        if unread:
            self.unread.setdefault(CHANNELS[channel], unread[0])
        return data


def spell(value: Any, unread: list[str], above: tuple[int, ...] = ()) -> bytes:
    """Return the exact bytes of ``value``.

    Args:
        value: Anything that an environment may say.
        unread: Takes the types of what could not be spelled.
        above: Identities of the containers that hold it.
    """
    kind = type(value)
    if kind is np.ndarray and not value.dtype.hasobject:
        head = f"{value.dtype.str if value.dtype.names is None else value.dtype.descr}{value.shape}"
        data = without_gaps(value).tobytes()
        return b"".join((b"A", _LENGTH.pack(len(head)), head.encode(), data))
    if kind is float:
        return b"F" + _DOUBLE.pack(value)
    if value is None or kind is bool:
        return _FIXED[value]
    if isinstance(value, np.generic):
        return b"G" + spell(np.asarray(value), unread)
    if kind is dict or kind is list or kind is tuple:
        return _container(value, unread, above)
    return _otherwise(value, unread)


def _container(value: Any, unread: list[str], above: tuple[int, ...]) -> bytes:
    kind = type(value)
    if id(value) in above or len(above) >= _DEEPEST:
        return _unread(f"{kind.__module__} {kind.__name__} (in itself, or too deep)", unread)
    inside = (*above, id(value))
    if kind is dict:
        parts = sorted(
            (spell(key, unread, inside), spell(item, unread, inside)) for key, item in value.items()
        )
        return b"D" + _joined([half for pair in parts for half in pair])
    letter = b"L" if kind is list else b"T"
    return letter + _joined([spell(item, unread, inside) for item in value])


def _unread(name: str, unread: list[str]) -> bytes:
    unread.append(name)
    return b"J" + encode(Named("unread", {"type": name}))


def _otherwise(value: Any, unread: list[str]) -> bytes:
    try:
        return b"J" + encode(value, inline_bytes=ALL_BYTES)
    except (CleandeskError, RecursionError):
        pass
    if isinstance(value, np.ndarray):
        # Of objects, or of a subclass: its elements stand for it.
        return b"O" + spell(list(value.shape), unread) + spell(value.ravel().tolist(), unread)
    try:
        return b"J" + encode(flatten(value), inline_bytes=ALL_BYTES)
    except Exception:  # noqa: BLE001 - a foreign object may refuse in any way
        name = f"{getattr(type(value), '__module__', '?')} {type(value).__qualname__}"
        return _unread(name, unread)


def _joined(parts: Sequence[bytes]) -> bytes:
    return b"".join((_LENGTH.pack(len(parts)), *(_LENGTH.pack(len(part)) + part for part in parts)))


def unspell(data: bytes) -> Any:
    """Return the value that ``spell`` wrote, as far as a reader needs it."""
    letter, rest = data[:1], data[1:]
    if letter == b"A":
        return _array(rest)
    if letter == b"G":
        return unspell(rest).item()
    if letter == b"F":
        return _DOUBLE.unpack(rest)[0]
    if letter in {b"N", b"B"}:
        return {b"N": None, b"B1": True, b"B0": False}[data]
    if letter == b"D":
        halves = [unspell(part) for part in _parts(rest)]
        keys = [key if isinstance(key, str | int | float) else str(key) for key in halves[::2]]
        return dict(zip(keys, halves[1::2], strict=True))
    if letter in {b"L", b"T"}:
        items = [unspell(part) for part in _parts(rest)]
        return items if letter == b"L" else tuple(items)
    return decode(rest) if letter == b"J" else Named("array of objects", {"bytes": rest})


def _array(rest: bytes) -> Any:
    (size,) = _LENGTH.unpack_from(rest)
    head, data = rest[_LENGTH.size : _LENGTH.size + size].decode(), rest[_LENGTH.size + size :]
    dtype, _, shape = head.partition("(")
    if dtype.startswith("["):
        return Named("structured array", {"bytes": data})
    places = [int(part) for part in shape.rstrip(")").split(",") if part.strip()]
    return np.frombuffer(data, dtype=dtype).reshape(places)


def _parts(data: bytes) -> Iterator[bytes]:
    (count,) = _LENGTH.unpack_from(data)
    at = _LENGTH.size
    for _ in range(count):
        (size,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        yield data[at : at + size]
        at += size


def first_unequal(one: bytes, other: bytes) -> int | None:
    """Return the number of the first row that differs, or None where all are equal."""
    if one == other:
        return None
    shorter = min(len(one), len(other)) // ROW_BYTES
    low, high = 0, shorter
    # Chained: from the first unequal row on all are unequal.
    while low < high:
        middle = (low + high) // 2
        at = slice(middle * ROW_BYTES, (middle + 1) * ROW_BYTES)
        if one[at] == other[at]:
            low = middle + 1
        else:
            high = middle
    return low


def difference(fresh: Sequence[bytes], judged: Sequence[bytes]) -> tuple[str, str, str]:
    """Return (channel, what the fresh build said, what the judged rig said) of two rows.

    The values are cut down to the first part that differs: ``[3] 0.5``.
    """
    for channel, one, other in zip(CHANNELS, fresh, judged, strict=True):
        if one != other:
            return channel, *_first_part(unspell(one), unspell(other))
    # Only what came before differs.
    return CHANNELS[0], "", ""


def _first_part(one: Any, other: Any) -> tuple[str, str]:
    # Two spellings that differ and show no difference do so in their types alone.
    path, _, one, other = next(diff_values(one, other), ((), "", one, other))
    place = spelled(path) if path else ""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.shape != other.shape or one.dtype != other.dtype:
            kinds = [f"{side.dtype}{side.shape}" for side in (one, other)]
            return f"{place} {kinds[0]}".strip(), f"{place} {kinds[1]}".strip()
        index, one, other = _first_element(one, other)
        place += index
    texts = [_text(side) for side in (one, other)]
    if texts[0] == texts[1] and all(isinstance(side, float | np.generic) for side in (one, other)):
        # Of NaNs all texts are one.
        texts = [
            f"{text} (0x{_bits(side)})" for text, side in zip(texts, (one, other), strict=True)
        ]
    return f"{place} {texts[0]}".strip(), f"{place} {texts[1]}".strip()


def _bits(value: Any) -> str:
    number = np.asarray(value)
    return number.astype(number.dtype.newbyteorder(">")).tobytes().hex()


def _first_element(one: Any, other: Any) -> tuple[str, Any, Any]:
    width = one.dtype.itemsize
    bits = [
        np.ascontiguousarray(side).reshape(-1).view("u1").reshape(-1, width)
        for side in (one, other)
    ]
    at = int(np.argmax((bits[0] != bits[1]).any(axis=1)))
    index = np.unravel_index(at, one.shape)
    return "".join(f"[{int(part)}]" for part in index), one.flat[at], other.flat[at]


def _text(value: Any) -> str:
    if value is ABSENT:
        return "absent"
    return shown(repr(value.item() if isinstance(value, np.generic) else value), _SHOWN)
