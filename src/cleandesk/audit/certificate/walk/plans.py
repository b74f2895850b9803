"""What is known of a class once and for all: how its instances are opened."""

from __future__ import annotations

import contextlib
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

from cleandesk.audit.certificate.walk.held import OBJECT
from cleandesk.audit.certificate.walk.skips import (
    is_closed,
    is_foreign,
    module_of,
    name_of,
    names_left_out,
)

_POINTER_BYTES = struct.calcsize("P")


@dataclass(frozen=True, slots=True)
class Plan:
    """How instances of one class are opened without running any code of it.

    Attributes:
        kind: The class.
        token: Stands for "an object of this class".
        about: The class, as people read it.
        attributes: Returns an instance's ``__dict__``, or None if it has none.
        slots: (name, getter) of each slot.
        owners: The classes of its MRO whose own attributes are read.
        modules: Names of the modules that define them.
        leaves: Names of attributes that are not state.
        has_hidden: Whether compiled code keeps more in an instance than Python can see.
    """

    kind: type
    token: bytes
    about: str
    attributes: Callable[[Any], dict[str, Any]] | None
    slots: tuple[tuple[str, Callable[[Any], Any]], ...]
    owners: tuple[type, ...]
    modules: tuple[str, ...]
    leaves: frozenset[str]
    has_hidden: bool

    @property
    def is_open(self) -> bool:
        """Whether an instance has anything that can be walked."""
        return self.attributes is not None or bool(self.slots) or not self.has_hidden


_PLANS: dict[type, Plan] = {}
_MOST_PLANS = 20_000  # a rig that makes classes as it runs must not fill the memory


def plan_of(kind: type) -> Plan:
    """Return the plan of a class."""
    plan = _PLANS.get(kind)
    if plan is None:
        if len(_PLANS) > _MOST_PLANS:
            _PLANS.clear()
        plan = _PLANS[kind] = _made(kind)
    return plan


def _made(kind: type) -> Plan:
    owners = tuple(each for each in kind.__mro__ if not is_foreign(module_of(each)))
    is_shut = any(is_closed(each) for each in kind.__mro__)
    # Of a subclass of, say, a thread, what the subclass adds is read and said to be a part.
    is_entered = bool(owners) or not is_shut
    slots = _slots(kind)
    return Plan(
        kind,
        OBJECT + name_of(kind).encode(),
        name_of(kind).replace(":", " "),
        _attributes(kind) if is_entered else None,
        tuple(sorted(dict(reversed(slots)).items())) if is_entered else (),
        owners,
        tuple(dict.fromkeys(filter(_is_walked, map(module_of, owners)))),
        names_left_out(kind),
        is_shut or _has_hidden(kind, len(slots)),
    )


def is_a(value: object, *bases: type) -> bool:
    """Tell whether a value is of one of some classes, without asking the value.

    ``isinstance`` looks at ``__class__`` too, which a rig may compute.
    """
    mro = type(value).__mro__
    return any(base in mro for base in bases)


def class_dict(kind: type) -> Mapping[str, Any]:
    """Return what a class holds, whatever its metaclass says."""
    found: Mapping[str, Any] = _CLASS_DICT(kind)
    return found


_CLASS_DICT: Any = vars(type)["__dict__"].__get__


def _attributes(kind: type) -> Callable[[Any], dict[str, Any]] | None:
    # The descriptor, since a class may define a property of this name.
    for each in kind.__mro__:
        held: Any = class_dict(each).get("__dict__")
        if type(held) in {GetSetDescriptorType, MemberDescriptorType} and each is not type:
            found: Callable[[Any], dict[str, Any]] = held.__get__
            return found
    return None


def _slots(kind: type) -> list[tuple[str, Callable[[Any], Any]]]:
    """Return every slot along the MRO, nearest first; a name may be there twice."""
    return [
        (name, held.__get__)
        for each in kind.__mro__
        if not _is_compiled(each)
        for name, held in class_dict(each).items()
        if type(held) is MemberDescriptorType and not _is_bookkeeping(name)
    ]


def _is_bookkeeping(name: str) -> bool:
    return name[:2] == "__" and name[-2:] == "__"


def _is_walked(name: str) -> bool:
    return type(sys.modules.get(name)) is ModuleType or name == "__main__"


def _is_compiled(kind: type) -> bool:
    """Tell whether a class was not made by a ``class`` statement."""
    return not kind.__flags__ & (1 << 9)  # Py_TPFLAGS_HEAPTYPE


def _has_hidden(kind: type, slots: int) -> bool:
    """Tell whether an instance has memory beside its attributes and slots."""
    if kind.__itemsize__:
        return True
    # A positive offset is a pointer inside the instance; others are kept in front of it.
    pointers = slots + (kind.__dictoffset__ > 0) + (kind.__weakrefoffset__ > 0)
    return kind.__basicsize__ != object.__basicsize__ + pointers * _POINTER_BYTES


def own_of(owner: object) -> dict[str, Any]:
    """Return the attributes and slots of ``owner`` itself, without running a line of its code."""
    plan = plan_of(type(owner))
    found = dict(plan.attributes(owner)) if plan.attributes is not None else {}
    for name, read in plan.slots:
        with contextlib.suppress(AttributeError):  # it is empty
            found[name] = read(owner)
    return found
