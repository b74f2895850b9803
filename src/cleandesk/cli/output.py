"""What the verbs share: the --json flag, errors as messages, and the exit status."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import click

from cleandesk.errors import CleandeskError, LogError, RunError

Command = TypeVar("Command", bound=Callable[..., Any])

USAGE, FAILED = 2, 4

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def reporting(command: Command) -> Command:
    """Turn an error of cleandesk into its message and an exit status."""

    @functools.wraps(command)
    def wrapped(*arguments: Any, **values: Any) -> Any:
        try:
            return command(*arguments, **values)
        except CleandeskError as error:
            if values.get("as_json"):
                parts = {name: getattr(error, name) for name in ("code", "message", "where", "do")}
                print_json({"error": parts})
            click.echo(str(error), err=True)
            sys.exit(FAILED if isinstance(error, LogError | RunError) else USAGE)
        except KeyboardInterrupt:
            click.echo("stopped; what was logged is kept (see `cleandesk verify`)", err=True)
            sys.exit(FAILED)

    return wrapped  # type: ignore[return-value]


def print_json(value: Any) -> None:
    """Print ``value`` as one line of JSON."""
    click.echo(json.dumps(value, ensure_ascii=False, sort_keys=True, default=str))


def finish(text: str, value: Any, *, as_json: bool, status: int) -> NoReturn:
    """Print the result for a person or a program, and end with ``status``."""
    if as_json:
        print_json(value)
    else:
        click.echo(text, nl=False)
    sys.exit(status)
