"""Reading JSON without losing anything: no rounding, no key dropped, no extension."""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal
from math import isfinite
from typing import Any


def parse_exact(text: str) -> Any:
    """Return the value that a JSON text spells, exactly.

    A number with a fraction or an exponent is a float where the float is that number as
    a program would write it, and a ``Decimal`` where it would be rounded.

    Raises:
        ValueError: It is not JSON, spells NaN or infinity, has a key twice in one
            object, or is nested too deep.
    """
    try:
        return json.loads(
            text, parse_float=_number, parse_constant=_refuse, object_pairs_hook=_object
        )
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except ArithmeticError:
        raise ValueError("it holds a number with an exponent out of all bounds") from None


def _number(text: str) -> float | Decimal:
    value, exact = float(text), Decimal(text)
    if isfinite(value) and Decimal(repr(value)) == exact:
        return value
    return exact


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _object(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise ValueError(f"the key {key!r} stands twice in one object")
        made[key] = value
    return made
