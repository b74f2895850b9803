"""Taking fields out of a value by pattern, without touching the value itself."""

from __future__ import annotations

from typing import Any

from cleandesk.state.pattern import fits, holds
from cleandesk.state.reference import Named

Parts = tuple[str | None, ...]


def prune(value: Any, parts: Parts) -> tuple[Any, bool]:
    """Return ``value`` without the fields that ``parts`` name below it.

    Args:
        value: A dict, list, tuple or ``Named``; anything else has no fields.
        parts: Segments as in ``Pattern.parts``, from this value down.

    Returns:
        A copy as far down as it differs, and whether the parts fit: some field was
        named, or a ``*`` met a container that is empty.
    """
    if isinstance(value, Named):
        fields, fits = prune(dict(value.fields), parts)
        return Named(value.name, fields), fits
    if isinstance(value, dict):
        return _prune_map(value, parts)
    if isinstance(value, list | tuple):
        return _prune_list(value, parts)
    return value, False


def _prune_map(value: dict[Any, Any], parts: Parts) -> tuple[Any, bool]:
    first, rest = parts[0], parts[1:]
    is_named = first is None and not value
    kept: dict[Any, Any] = {}
    for key, item in value.items():
        if not fits(first, key):
            kept[key] = item
            # What may come below a folder is named by the folder.
            is_named = is_named or (not rest and holds(first, key))
        elif rest:
            kept[key], found = prune(item, rest)
            is_named = is_named or found
        else:
            is_named = True
    return kept, is_named


def _prune_list(value: list[Any] | tuple[Any, ...], parts: Parts) -> tuple[Any, bool]:
    first, rest = parts[0], parts[1:]
    is_named = first is None and not value
    kept: list[Any] = []
    for place, item in enumerate(value):
        if not fits(first, place):
            kept.append(item)
        elif rest:
            pruned, found = prune(item, rest)
            kept.append(pruned)
            is_named = is_named or found
        else:
            # The place stays, so that the other places keep their numbers.
            kept.append(None)
            is_named = True
    return type(value)(kept), is_named


def pick(value: Any, parts: Parts) -> list[Any]:
    """Return the values of the fields that ``parts`` name below ``value``."""
    if not parts:
        return [value]
    fields: Any = value.fields if isinstance(value, Named) else value
    if isinstance(fields, list | tuple):
        items: Any = enumerate(fields)
    elif hasattr(fields, "items"):
        items = fields.items()
    else:
        return []
    first, rest = parts[0], parts[1:]
    return [found for key, item in items if fits(first, key) for found in pick(item, rest)]
