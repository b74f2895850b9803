"""What a certificate depends on: packages, interpreter, machine, and the rig's own digest.

A reference is of use only where its stamp is the same; a certificate is bit for bit
reproducible on the same machine and build, and says which those are.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any


def versions_of(modules: Iterable[str]) -> dict[str, str]:
    """Return ``NAME`` -> ``VERSION sha256:..`` of the distributions that were imported from.

    The digest is that of the list of files that the distribution was installed with, so
    that two builds of one version are told apart. Of a distribution without such a list
    the version stands alone.
    """
    loaded = {name.partition(".")[0] for name in modules}
    found: dict[str, str] = {}
    for each in metadata.distributions():
        name = each.metadata["Name"]
        if not name or not loaded & _top_level(each, name):
            continue
        record = each.read_text("RECORD")
        digest = f" sha256:{hashlib.sha256(record.encode()).hexdigest()[:16]}" if record else ""
        found[name] = f"{each.version}{digest}"
    return dict(sorted(found.items()))


def _top_level(each: metadata.Distribution, name: str) -> set[str]:
    listed = each.read_text("top_level.txt")
    if listed:
        return set(listed.split())
    record = each.read_text("RECORD") or ""
    heads = {line.partition("/")[0] for line in record.splitlines() if "/" in line}
    return {head for head in heads if head.isidentifier()} or {name.replace("-", "_")}


def machine_of() -> dict[str, str]:
    """Return what the bits of a computation depend on: interpreter, processor, libraries."""
    return {
        "blas": _blas(),
        "cpu": _cpu(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def _cpu() -> str:
    """Return the processor's name and a digest of its abilities, which choose its code paths."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    fields: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    flags = " ".join(sorted(fields.get("flags", fields.get("Features", "")).split()))
    digest = hashlib.sha256(flags.encode()).hexdigest()[:8]
    return f"{fields.get('model name', 'unknown')} (flags {digest})"


def _blas() -> str:
    numpy: Any = sys.modules.get("numpy")
    if numpy is None:
        return "none"
    try:
        held = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    except (KeyError, TypeError):
        return "unknown"
    return f"{held.get('name', 'unknown')} {held.get('version', '')}".strip()


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the names of the parts in which two stamps differ: ``packages.numpy``."""
    found = []
    for key in sorted({*one, *other}):
        before, after = one.get(key), other.get(key)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            found += [f"{key}.{name}" for name in differing(before, after)]
        elif before != after:
            found.append(key)
    return found
