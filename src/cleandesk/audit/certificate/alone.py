"""One certificate in a process of its own, which is ended when its time is over.

For many rigs in a row: what one of them does to the process that judges it, and the time
that it takes, can't reach the others. The process that asks never imports a rig.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from typing import Any

from cleandesk.audit.certificate import sentences
from cleandesk.audit.certificate.certificate import Certificate, Class, Profile
from cleandesk.audit.certificate.links import DeviceError
from cleandesk.audit.certificate.rig import Declared
from cleandesk.audit.certificate.settings import Settings
from cleandesk.audit.certificate.spelling import from_json, to_json
from cleandesk.channel import ChannelClosedError, ChannelTimeoutError, FrameTooLargeError
from cleandesk.errors import CleandeskError, remade, shown, text_of
from cleandesk.processes import channel_of_arguments, kill_group, start_role
from cleandesk.state import decode, encode

Progress = Callable[[str], None]

_MODULE = "cleandesk.audit.certificate.alone"
_LONGEST_S = 3600.0
_GRACE_S, _GRACE_SHARE = 5.0, 0.25
"""What a certificate may take over its budget to say what it found, before it is ended."""


@dataclass(frozen=True, slots=True)
class Job:
    """One certificate to be made.

    Attributes:
        reference: What is judged.
        settings: Keyword arguments of ``certify``.
        label: What it is called beside others, or empty.
    """

    reference: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""


def certify_each(
    jobs: Sequence[Job],
    *,
    workers: int = 1,
    on_done: Callable[[Job, Certificate], None] | None = None,
) -> list[Certificate]:
    """Return a certificate for each job, in their order; none of them raises.

    Args:
        jobs: What is to be judged.
        workers: How many at a time.
        on_done: Called with each certificate as it is made.
    """
    running: set[int] = set()
    found: dict[int, Certificate] = {}
    pool = ThreadPoolExecutor(max(1, workers))
    try:
        futures: dict[Future[Certificate], int] = {
            pool.submit(certify_alone, job, running): place for place, job in enumerate(jobs)
        }
        for future in as_completed(futures):
            place = futures[future]
            found[place] = future.result()
            if on_done is not None:
                on_done(jobs[place], found[place])
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for pid in tuple(running):
            kill_group(pid)
        pool.shutdown(wait=True)
    return [found[place] for place in range(len(jobs))]


def certify_alone(job: Job, running: set[int] | None = None) -> Certificate:
    """Return the certificate of one job, made in a process of its own.

    What can't be judged (no such rig, an import that raises, a process that ends, time
    that is over) is a certificate of the class ERROR, with the reason.

    Args:
        job: What is to be judged.
        running: Takes the process's id while it runs.
    """
    started = time.monotonic()
    budget_s = job.settings.get("budget_s")
    limit_s = _LONGEST_S if budget_s is None else budget_s * (1 + _GRACE_SHARE) + _GRACE_S
    try:
        text = ask("certify", [job.reference, _plain(job.settings)], limit_s, running)
        found = from_json(json.loads(text))
    except CleandeskError as error:
        reason = sentences.ERROR_BUILD(error=shown(f"{error.code} {error.message}", 400))
        found = _failed(job.reference, Settings(**job.settings), reason)
    except DeviceError as error:
        found = of_error(job.reference, Settings(**job.settings), error)
    if found.took_s == 0.0:
        found = replace(found, took_s=round(time.monotonic() - started, 3))
    return replace(found, rig=job.label) if job.label else found


def ask(name: str, values: Any, limit_s: float, running: set[int] | None = None) -> Any:
    """Return what an operation of this module says in a new process.

    Args:
        name: ``certify``, ``references`` or ``takes``.
        values: What it is given; plain values.
        limit_s: Wall seconds until the process is ended.
        running: Takes the process's id while it runs.

    Raises:
        CleandeskError: The operation raised it.
        DeviceError: The process ended (``crashed``), or its time is over (``slow``).
    """
    with tempfile.TemporaryFile() as output:
        role = start_role(_MODULE, output=output)
        pids = running if running is not None else set()
        pids.add(role.pid)
        try:
            role.channel.send(b"A", encode([name, values]), timeout_s=limit_s)
            kind, parts = role.channel.receive(limit_s)
        except ChannelTimeoutError as error:
            said = f"it did not end within {limit_s:.0f} s and was ended"
            raise DeviceError("slow", name, said) from error
        except (ChannelClosedError, FrameTooLargeError) as error:
            said = _last_words(output) or "nothing was printed"
            raise DeviceError("crashed", name, said) from error
        finally:
            pids.discard(role.pid)
            role.stop()
    if kind == b"X":
        code, message, where, do = decode(parts[0])
        if code:
            raise remade(code, message, where=where, do=do)
        raise DeviceError("crashed", name, message)
    return decode(parts[0])


def main() -> None:
    """Carry out the operation in the first frame."""
    channel = channel_of_arguments()
    _, (asked,) = channel.receive()
    name, values = decode(asked)
    try:
        answer = _OPERATIONS[name](*values)
    except CleandeskError as error:
        channel.send(b"X", encode([error.code, error.message, error.where, error.do]))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - importing runs code of whoever wrote it
        channel.send(b"X", encode(["", f"the instrument raised {text_of(error)}", "", ""]))
    else:
        channel.send(b"o", encode(answer))


def _certify(reference: str, settings: dict[str, Any]) -> str:
    from cleandesk.audit.certificate.certify import certify

    declare = [Declared(*each) if type(each) is list else each for each in settings["declare"]]
    return json.dumps(to_json(certify(reference, **{**settings, "declare": declare})))


def _references(scheme: str, path: list[str]) -> list[str]:
    from cleandesk.audit.certificate.recipes import references
    from cleandesk.finding import look_in

    look_in(path)
    return references(scheme)


def _takes(reference: str, argument: str, path: list[str]) -> bool:
    from cleandesk.finding import look_in
    from cleandesk.worlds.importer import find_world
    from cleandesk.worlds.serve import arguments_of

    look_in(path)
    factory, leading = find_world(reference, path)
    names, _ = arguments_of(factory) if not leading else ((), False)
    return argument in names


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "certify": _certify,
    "references": _references,
    "takes": _takes,
}


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as plain values, for the wire."""
    declare = [
        [each.pattern, each.sampler, each.why] if isinstance(each, Declared) else each
        for each in settings.get("declare", ())
    ]
    held = {
        name: list(value) if isinstance(value, tuple | range) else value
        for name, value in settings.items()
    }
    path = [*settings.get("path", ())] or [os.getcwd()]  # noqa: PTH109 - as text
    return {
        **held,
        "arguments": dict(settings.get("arguments", {})),
        "declare": declare,
        "path": path,
    }


def of_error(reference: str, chosen: Settings, error: DeviceError) -> Certificate:
    """Return the certificate of a rig that raised, ended, or did not answer in time."""
    said = shown(error.said, 400)
    if error.kind == "slow" and chosen.budget_s is not None:
        reason = sentences.OVER_BUDGET(budget=chosen.budget_s, done=0, asked=chosen.count)
    elif error.kind == "rig" and error.stage in {"build", "import"}:
        reason = sentences.ERROR_BUILD(error=said)
    elif error.kind == "rig":
        reason = sentences.ERROR_PLAY(stage=error.stage, error=said)
    else:
        reason = sentences.ERROR_ENDED(stage=error.stage, how=said)
    return _failed(reference, chosen, reason)


def _failed(reference: str, chosen: Settings, reason: str) -> Certificate:
    horizon = chosen.horizon
    profile = Profile(0, 0, horizon.seeds, horizon.episode_seeds, "")
    return Certificate(reference, chosen.reset, Class.ERROR, reason, profile)


def _last_words(output: Any, limit_bytes: int = 400) -> str:
    size = os.fstat(output.fileno()).st_size
    data = os.pread(output.fileno(), limit_bytes, max(0, size - limit_bytes))
    return data.decode(errors="replace").strip()


if __name__ == "__main__":
    main()
