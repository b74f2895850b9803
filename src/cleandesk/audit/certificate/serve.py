"""The processes in which rigs live: a server that never builds one, and its forks.

A server imports what a rig needs and then forks a child for each device that is asked
for. Two servers differ in hash seed, global random states and address layout, because
two forks of one process share all three and would agree falsely.

Requests are frames ``O`` with canon/1 of [operation, values, in a fork?]; answers are
``o`` with the result, ``r`` with parts of bytes, or ``X`` with [kind, code, message, where, do].
"""

from __future__ import annotations

import os
import random
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from cleandesk.audit.certificate.declaring import parts_of, reaches
from cleandesk.audit.certificate.device import Device, RigRaisedError, Trace
from cleandesk.audit.certificate.recipes import prepare
from cleandesk.audit.certificate.rig import Recipe
from cleandesk.audit.certificate.stamp import machine_of, versions_of
from cleandesk.audit.certificate.surroundings import Surroundings, settle_in
from cleandesk.audit.certificate.surroundings.entropy import drawn
from cleandesk.audit.certificate.walk import Walk
from cleandesk.channel import Channel, ChannelClosedError
from cleandesk.errors import CleandeskError, text_of
from cleandesk.finding import look_in
from cleandesk.processes import channel_of_arguments, mark_own, serve_forks
from cleandesk.state import Pattern, decode, encode
from cleandesk.state.canon import ALL_BYTES
from cleandesk.worlds.importer import seed_globals
from cleandesk.worlds.network import guard_network

Operation = Callable[["Served", dict[str, Any]], Any]

RIG, OURS, CRASHED, THREADS = "rig", "ours", "crashed", "threads"
"""Kinds of failures: the rig raised, cleandesk says no, the fork died, it can't be forked."""

# Their pools of threads do not live through a fork.
_UNFORKABLE = ("torch", "jax", "tensorflow")


def main() -> None:
    """Import what the recipe in the first frame needs, then fork a device per request."""
    channel = channel_of_arguments()
    requests = socket.socket(fileno=int(sys.argv[3]))
    _, (hello,) = channel.receive()
    settings: dict[str, Any] = decode(hello)
    recipe = recipe_of(settings["recipe"])
    look_in(list(recipe.path))
    guard_network(())
    # Before the imports too: a module may draw while it is imported.
    seed_globals(settings["streams"])
    try:
        prepare(recipe)
    except CleandeskError as error:
        channel.send(b"X", encode([OURS, error.code, error.message, error.where, error.do]))
        return
    except Exception as error:  # noqa: BLE001 - importing runs code of whoever wrote the rig
        channel.send(b"X", encode([RIG, "import", text_of(error), "", ""]))
        return
    seed_globals(settings["streams"])
    is_forkable = threading.active_count() == 1 and not set(_UNFORKABLE) & set(sys.modules)
    channel.send(b"I", encode({"is_forkable": is_forkable}))
    # While nobody waits: a device would import it each time.
    operation("alias")
    serve_forks(channel, requests, lambda given: serve_device(given, recipe))


def recipe_of(plain: dict[str, Any]) -> Recipe:
    """Return the recipe that ``plain_of`` spelled."""
    return Recipe(plain["reference"], plain["arguments"], plain["reset"], tuple(plain["path"]))


def plain_of(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe as plain values, for the wire."""
    return {
        "arguments": dict(recipe.arguments),
        "path": list(recipe.path),
        "reference": recipe.reference,
        "reset": recipe.reset,
    }


@dataclass(frozen=True, slots=True)
class Parts:
    """An answer that goes over the wire as it is.

    Attributes:
        parts: At most 65,535.
    """

    parts: list[bytes]


class Served:
    """A device and what it keeps for later questions.

    Attributes:
        device: The device.
        walks: The walks of the latest judged reset: ``reset`` and ``final``.
        last: Its trace.
        notes: What operations keep from one request to the next.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.device = Device(recipe)
        self.walks: dict[str, Walk] = {}
        self.last: Trace | None = None
        self.notes: dict[str, Any] = {}


def serve_device(channel: Channel, recipe: Recipe) -> None:
    """Answer requests until the channel closes."""
    channel.send(b"P", b"%d" % os.getpid(), mark_own().encode())
    served: Served | None = None
    while True:
        kind, parts = channel.receive()
        if kind != b"O":
            raise ChannelClosedError
        name, values, is_attempt = decode(parts[0])
        if is_attempt:
            _attempt(channel, served, name, values)
            continue
        try:
            if served is None:
                served = Served(recipe)
            answer = operation(name)(served, values)
        except BaseException as error:  # noqa: BLE001 - a rig may raise anything; it is told apart outside
            channel.send(b"X", encode(_failure(name, error)))
        else:
            _answer(channel, answer)


def _answer(channel: Channel, answer: Any) -> None:
    if isinstance(answer, Parts):
        channel.send(b"r", *answer.parts)
    else:
        channel.send(b"o", encode(answer, inline_bytes=ALL_BYTES))


def _attempt(channel: Channel, served: Served | None, name: str, values: dict[str, Any]) -> None:
    """Run an operation in a fork, so that this device stays as it was."""
    if served is None or not _is_forkable(served):
        said = "a fork of this rig is no rig of its own: it has threads, files or programs"
        channel.send(b"X", encode([THREADS, "", said, "", ""]))
        return
    # Python seeds its global stream anew in every fork: a copy begins where this one is.
    stream = random.getstate()
    pid = os.fork()
    if pid == 0:
        status = 1
        random.setstate(stream)
        try:
            _answer(channel, operation(name)(served, values))
            status = 0
        except ChannelClosedError:
            pass
        except BaseException as error:  # noqa: BLE001 - as above
            channel.send(b"X", encode(_failure(name, error)))
            status = 0
        finally:
            os._exit(status)
    _, state = os.waitpid(pid, 0)
    if state:
        how = os.waitstatus_to_exitcode(state)
        channel.send(b"X", encode([CRASHED, "", f"the fork ended with status {how}", "", ""]))


def _is_forkable(served: Served) -> bool:
    is_alone = threading.active_count() == 1 and not set(_UNFORKABLE) & set(sys.modules)
    return is_alone and bool(getattr(served.device.rig, "is_forkable", True))


def _failure(name: str, error: BaseException) -> list[str]:
    if isinstance(error, RigRaisedError):
        return [RIG, error.stage, _words_of(error.error), "", ""]
    if isinstance(error, CleandeskError):
        return [OURS, error.code, error.message, error.where, error.do]
    return [RIG, name, _words_of(error), "", ""]


def _words_of(error: BaseException) -> str:
    """Return what was raised, and the line that did, from its package on."""
    if isinstance(error, CleandeskError):
        # In one line, with what to do and without the class.
        return "; ".join(filter(None, [f"{error.code} {error.message}", error.do]))
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return text_of(error)
    place = "/".join(PurePath(frames[-1].filename).parts[-3:])
    return f"{text_of(error)} ({place}:{frames[-1].lineno})"


def _policy_of(rig: Any) -> str:
    said = getattr(rig, "policy", "")
    # Words: a rig may well hold its policy, the object, under that name.
    return said if isinstance(said, str) and said else "drawn by the rig"


def _build(served: Served, values: dict[str, Any]) -> dict[str, Any]:
    settled = settle_in(Surroundings(**values["surroundings"]))
    served.device.build()
    rig = served.device.rig
    return {
        "declared": [[each.pattern, each.sampler, each.why] for each in rig.declared()],
        "harness": rig.harness,
        "name": rig.name,
        "not_private": list(settled.not_checked),
        "policy": _policy_of(rig),
    }


def _drawn(served: Served, _: dict[str, Any]) -> dict[str, Any]:
    """Return who drew the system's entropy since the build, where that is held."""
    held = drawn()
    if held is None:
        return {"draws": [], "owners": []}
    owners = [
        f"{name}.{attribute}"
        for name, root in served.device.rig.roots().items()
        # By __dict__: a property could do anything.
        for attribute, value in getattr(root, "__dict__", {}).items()
        if any(value is owner for owner in held.owners)
    ]
    return {"draws": [[*key, count] for key, count in held.draws.items()], "owners": owners}


def _judge(served: Served, values: dict[str, Any]) -> dict[str, Any]:
    """Reset, walk, trace and walk again: all that one boundary or reference needs."""
    device = served.device
    served.walks = {}

    def look() -> None:
        if values["look"]:
            served.walks["reset"] = device.look()

    trace = device.trace(values, look)
    if values["look"] and not trace.raised:
        served.walks["final"] = device.look()
    served.last = trace
    return {
        "distinct": trace.rows.distinct,
        "endings": dict(trace.endings),
        "has_moved": trace.rows.has_moved,
        "not_given": list(trace.not_given),
        "final": told(served.walks.get("final")),
        "raised": trace.raised,
        "reset": told(served.walks.get("reset")),
        "return": trace.returned,
        "rows": bytes(trace.rows.digests),
        "unread": dict(trace.rows.unread),
    }


def told(walk: Walk | None) -> dict[str, Any] | None:
    """Return what the parent must know of a walk: no values, which it asks for by path."""
    if walk is None:
        return None
    return {
        "nodes": walk.nodes,
        "notes": list(walk.notes),
        "opaque": {path: [about, identity] for path, (about, identity) in walk.opaque.items()},
        "tokens": walk.tokens,
    }


def _leaves(served: Served, values: dict[str, Any]) -> Parts:
    walk = served.walks[values["which"]]
    return Parts([part for path in values["paths"] for part in walk.leaf(path).to_parts()])


def _row(served: Served, values: dict[str, Any]) -> dict[str, Any]:
    rows = served.last.rows if served.last is not None else None
    place = values["place"]
    if rows is None or place >= len(rows):
        return {"channels": None, "step": None}
    channels = rows.channels(place)
    return {
        "channels": None if channels is None else list(channels),
        "step": rows.steps[place],
    }


def _play(served: Served, values: dict[str, Any]) -> dict[str, Any]:
    return served.device.play(values)


def _reset(served: Served, values: dict[str, Any]) -> None:
    served.device.reset(values["seed"])


def _before(served: Served, values: dict[str, Any]) -> dict[str, Any]:
    """Return what a fresh build is given before its reset, to be comparable with this rig.

    ``state`` is where the streams stand, if the next reset goes on from there; ``kept`` are
    the fields that are declared to persist.
    """
    tell = getattr(served.device.rig, "before_reset", None)
    patterns = [Pattern.parse(text) for text in values["kept"]]
    kept: dict[str, bytes] = {}
    if patterns:
        walked = served.device.look()
        named = (
            path for path in walked.tokens if any(reaches(p, parts_of(path)) for p in patterns)
        )
        kept = {path: walked.leaf(path).to_bytes() for path in named}
    return {"kept": kept, "state": tell() if callable(tell) else None}


def _look(served: Served, values: dict[str, Any]) -> dict[str, Any] | None:
    """Walk now, and keep the walk under a name for ``leaves``."""
    served.walks[values["as"]] = served.device.look()
    return told(served.walks[values["as"]])


def _stamp(served: Served, _: dict[str, Any]) -> dict[str, Any]:
    rig = served.device.rig
    steps, simulated_s = rig.clock()
    return {
        "machine": machine_of(),
        "model": rig.model_hash(),
        "packages": versions_of(sys.modules),
        "simulated_s": float(simulated_s),
        "steps": int(steps),
    }


def _close(served: Served, _: dict[str, Any]) -> None:
    served.device.rig.close()


OPERATIONS: dict[str, Operation] = {
    "before": _before,
    "build": _build,
    "close": _close,
    "drawn": _drawn,
    "judge": _judge,
    "leaves": _leaves,
    "look": _look,
    "play": _play,
    "reset": _reset,
    "row": _row,
    "stamp": _stamp,
}


def operation(name: str) -> Operation:
    """Return the operation of that name; tests and explanations use this module themselves."""
    if name in OPERATIONS:
        return OPERATIONS[name]
    from cleandesk.audit.certificate.checks.inside import OPERATIONS as TESTS
    from cleandesk.audit.certificate.explain.inside import OPERATIONS as EXPLAINING

    return TESTS[name] if name in TESTS else EXPLAINING[name]


if __name__ == "__main__":
    main()
