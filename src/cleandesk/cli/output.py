"""What the verbs share: the --json flag, errors as messages, and the exit status."""

from __future__ import annotations

import contextlib
import functools
import json
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from cleandesk.errors import CleandeskError, LogError, RunError, UsageError, shown

Command = TypeVar("Command", bound=Callable[..., Any])

USAGE, FAILED = 2, 4

# What was named is not there or not fit: the caller's to correct, unlike a full disk.
_NAMED_WRONG = frozenset({"CD-604", "CD-606", "CD-609", "CD-610", "CD-613"})

_LONGEST = 2000
_LAST_LINES = 20

log_dir_option = click.option(
    "--log-dir",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    envvar="CLEANDESK_LOG_DIR",
    help="Takes the run folder.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def reporting(command: Command) -> Command:
    """Turn an error into its message and an exit status; never into that of a finding."""

    @functools.wraps(command)
    def wrapped(*arguments: Any, **values: Any) -> Any:
        is_json = values.get("as_json", False)
        with contextlib.suppress(ValueError):
            # As an interrupt: what was begun is tidied up. (Not in a thread of somebody's.)
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            return command(*arguments, **values)
        except CleandeskError as error:
            sys.exit(_report(error, is_json=is_json))
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt as stop:
            said = shown(stop, _LONGEST) or "stopped; what was logged is kept"
            click.echo(said, err=True)
            sys.exit(FAILED)
        except Exception as error:  # noqa: BLE001 - Python would exit with 1, which means a finding
            for line in traceback.format_exc().splitlines()[-_LAST_LINES:]:
                click.echo(shown(line, _LONGEST), err=True)
            sys.exit(_report(_unforeseen(error), is_json=is_json))

    return wrapped  # type: ignore[return-value]


def exit_status(error: CleandeskError) -> int:
    """Return 2 where what was given can't be used, 4 where the job could not be done."""
    if isinstance(error, UsageError) or error.code in _NAMED_WRONG:
        return USAGE
    is_ours = isinstance(error, LogError | RunError)
    # Of a world, an agent or a checker, 7xx says that it was found and then failed.
    return FAILED if is_ours or error.code.startswith(("CD-7", "CD-801")) else USAGE


def print_json(value: Any) -> None:
    """Print ``value`` as one line of ASCII JSON.

    ASCII because texts of worlds and agents are in it, and some characters beyond it
    move a terminal's cursor or turn its writing around.
    """
    click.echo(json.dumps(value, sort_keys=True, default=str))


def for_terminal(text: str) -> str:
    """Spell a JSON text so that a terminal takes it as text; its value stays the same."""
    return "".join(
        char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text
    )


def finish(text: str, value: Any, *, as_json: bool, status: int) -> NoReturn:
    """Print the result for a person or a program, and end with ``status``."""
    if as_json:
        print_json(value)
    else:
        click.echo(text, nl=False)
    sys.exit(status)


def _report(error: CleandeskError, *, is_json: bool) -> int:
    parts = {name: getattr(error, name) for name in ("code", "message", "where", "do")}
    if is_json:
        print_json({"error": parts})
    # Built anew from escaped parts: a message may quote a file, a world or an agent.
    code, *texts = (shown(part, _LONGEST) for part in parts.values())
    message, where, do = texts
    click.echo(str(CleandeskError(code, message, where=where, do=do)), err=True)
    return exit_status(error)


def _unforeseen(error: Exception) -> CleandeskError:
    return CleandeskError(
        "CD-801",
        f"cleandesk failed in a way that it did not foresee: {type(error).__name__}: {error}",
        where="the lines above",
        do="report it with these lines; what was logged is kept",
    )
