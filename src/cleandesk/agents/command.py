"""An agent that is a program: JSON lines on its standard input and output.

The program is started for each episode. It reads one line per turn and answers each
with one line:

    {"type": "start", "goal": ..., "observation": ..., "info": ..., ...}
    {"type": "step", "observation": ..., "reward": ..., "info": ...}
    {"type": "end", ...}                         (no answer is read)

    {"action": ...}  {"done": true, "answer": ...}  {"infeasible": "why"}
    {"error": {"kind": "provider", "message": "429"}}

Any answer may carry ``"usage": {"tokens": 12, "usd": 0.001}``. JSON has no NaN and no
bytes: they arrive as null and as text in base64.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import shlex
import subprocess
from pathlib import Path
from typing import IO, Any

import orjson

from cleandesk.agents.session import EpisodeOver, Session
from cleandesk.agents.usage import report_usage
from cleandesk.errors import AgentError, ProviderError, shown
from cleandesk.processes import die_with_parent, kill_group, pin_to
from cleandesk.state.canon import Named

LIMIT_BYTES = 16 << 20
"""A longer line is refused: it is no action, and it would fill the log."""

_END_SECONDS = 1.0
_STATUS_SECONDS = 0.2


def command_digest(command: str) -> str:
    """Return the SHA-256 of a command line and of the files that it names."""
    held = hashlib.sha256(command.encode())
    for word in shlex.split(command):
        path = Path(word)
        if path.is_file() and path.stat().st_size <= LIMIT_BYTES:
            held.update(path.read_bytes())
    return held.hexdigest()


class CommandAgent:
    """An agent that owns its loop, played by a program."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._input: IO[bytes] = io.BytesIO()
        self._output: IO[bytes] = io.BytesIO()

    def play(self, session: Session) -> None:
        """Start the program and carry its answers out until one ends the episode."""
        process = self._start()
        try:
            request = {
                "type": "start",
                "goal": session.goal,
                "task": session.task,
                "trial": session.trial,
                "action_space": session.action_space,
                "tools": session.tools,
                "max_steps": session.max_steps,
                "observation": session.observation,
                "info": session.info,
            }
            while not session.is_over:
                answer = self._ask(process, request)
                request = self._carry_out(session, answer)
            self._tell(request)
        except EpisodeOver:
            self._tell({"type": "end", "reason": "limit"})
        finally:
            self._end(process)

    def _start(self) -> subprocess.Popen[bytes]:
        # The program may well use threads; it does not share our core.
        pin_to(None)
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command line
                shlex.split(self._command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # A group of its own, so that what it starts ends with it.
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - this process has one thread
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise AgentError(
                "CD-303",
                f"the agent program can't be started: {error}",
                where=f"cmd:{shown(self._command)}",
                do="run that command line by hand",
            ) from error
        if process.stdin is None or process.stdout is None:
            raise AssertionError("the program was started with pipes")
        self._input, self._output = process.stdin, process.stdout
        return process

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Give the program a moment to end by itself, then end it and what it started."""
        with contextlib.suppress(OSError):
            self._input.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
        kill_group(process.pid)
        process.wait()
        self._output.close()

    def _ask(self, process: subprocess.Popen[bytes], request: dict[str, Any]) -> dict[str, Any]:
        self._tell(request)
        line = self._output.readline(LIMIT_BYTES + 1)
        if len(line) > LIMIT_BYTES:
            raise AgentError(
                "CD-304",
                f"the agent program answered more than {LIMIT_BYTES >> 20} MB in one line",
                where=f"cmd:{shown(self._command)}",
                do="answer one action per line",
            )
        if not line.endswith(b"\n"):
            # It closed its output, as a rule because it ends.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_STATUS_SECONDS)
            status = process.poll()
            how = "closed its output" if status is None else f"ended with status {status}"
            raise AgentError(
                "CD-303",
                f"the agent program {how} before it was done",
                where=f"cmd:{shown(self._command)}",
                do='end an episode with {"done": true}; see what it printed in output/',
            )
        try:
            answer = orjson.loads(line)
        except orjson.JSONDecodeError:
            answer = None
        if not isinstance(answer, dict):
            raise self._unfit(
                f"answered {shown(line[:80].decode('utf-8', 'replace').rstrip())!r}, "
                "which is no JSON object"
            )
        return answer

    def _carry_out(self, session: Session, answer: dict[str, Any]) -> dict[str, Any]:
        usage = answer.get("usage") or {}
        if not isinstance(usage, dict):
            raise self._unfit(f"reports a usage of {shown(repr(usage), 80)}, which is no object")
        report_usage(tokens=usage.get("tokens", 0), usd=usage.get("usd", 0.0))
        if "error" in answer:
            error = answer["error"] if isinstance(answer["error"], dict) else {}
            message = shown(error.get("message", answer["error"]))
            if error.get("kind") == "provider":
                raise ProviderError("CD-311", f"the agent reports its provider: {message}")
            raise AgentError("CD-306", f"the agent program reports an error: {message}")
        if answer.get("infeasible", False) is not False:
            session.infeasible(str(answer["infeasible"]))
        elif answer.get("done"):
            session.done(answer.get("answer"))
        elif "action" in answer:
            step = session.step(answer["action"])
            kind = "end" if step.is_over else "step"
            return {
                "type": kind,
                "observation": step.observation,
                "reward": step.reward,
                "info": step.info,
            }
        else:
            raise self._unfit(
                "answered with none of action, done, infeasible, error: its keys are "
                f"{shown(sorted(answer))}"
            )
        return {"type": "end", "reason": "done"}

    def _tell(self, request: dict[str, Any]) -> None:
        # It may be gone or have closed its input; its answer, or the lack of one, says the rest.
        with contextlib.suppress(OSError):
            self._input.write(as_line(request))
            self._input.flush()

    def _unfit(self, what: str) -> AgentError:
        return AgentError(
            "CD-305",
            f"the agent program {what}",
            where=f"cmd:{shown(self._command)}",
            do='answer {"action": ...} and print all else to standard error',
        )


def as_line(request: dict[str, Any]) -> bytes:
    """Return ``request`` as one line of JSON."""
    try:
        return orjson.dumps(plain(request)) + b"\n"
    except (TypeError, orjson.JSONEncodeError):
        # An integer over 64 bits, a lone surrogate, or deep nesting.
        return json.dumps(plain(request)).encode() + b"\n"


def plain(value: Any) -> Any:
    """Turn ``value`` into what JSON holds: arrays, tuples and sets become lists."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, Named):
        return plain(dict(value.fields))
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    tolist = getattr(value, "tolist", None)
    return plain(tolist()) if tolist is not None else str(value)
