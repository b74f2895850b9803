"""Where results of `certify` go: the terminal, a file of JSON, a page."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from cleandesk.cli.output import FAILED, print_json
from cleandesk.errors import UsageError, shown

if TYPE_CHECKING:
    from cleandesk.audit.certificate.known import Settled

STDOUT = "-"
_STATUSES = {"PASS": 0, "FAIL": 1, "UNKNOWN": 3}


@dataclass(frozen=True, slots=True)
class Target:
    """Where JSON goes; true where that is standard output, which then holds nothing else."""

    path: str | None

    def __bool__(self) -> bool:
        return self.path == STDOUT


def target(_: click.Context, __: click.Parameter, value: str | None) -> Target:
    """Return what the option --json stands for."""
    return Target(value)


@dataclass(frozen=True, slots=True)
class Out:
    """Where results go.

    Attributes:
        json: Where JSON goes.
        html: File of the page, or None.
        script: File of the script that reproduces a leak, or None.
    """

    json: Target
    html: str | None
    script: str | None = None

    def require_folders(self) -> None:
        """Find out before a long run that its result can't be kept.

        Raises:
            UsageError: CD-873, there is no such folder.
        """
        paths = [self.html, self.script, None if self.json else self.json.path]
        for path in paths:
            if path is not None and not Path(path).resolve().parent.is_dir():
                raise _unwritable(path, "its folder does not exist")

    def finish_certificate(self, settled: Settled) -> NoReturn:
        """Print and write a certificate; end with the status that follows from it."""
        from cleandesk.audit.certificate.spelling import to_json
        from cleandesk.report.certificate import render_certificate
        from cleandesk.report.certificate_page import certificate_page

        certificate = settled.certificate
        status = FAILED if certificate.cls == "ERROR" else _STATUSES[certificate.status]
        if self.script is not None:
            self._keep_script(certificate.repro)
        self.finish(
            render_certificate(certificate, settled),
            to_json(certificate),
            partial(certificate_page, certificate),
            # A list of known leaks is strict: one that is fixed is a finding too.
            status if certificate.status == "UNKNOWN" else int(not settled.is_as_known),
        )

    def _keep_script(self, text: str | None) -> None:
        if text is not None:
            _write(str(self.script), text)
            return
        said = "no script was written: there is no leak, or none that was reproduced by itself"
        click.echo(said, err=True)

    def finish_table(self, heading: str, settled: Sequence[Settled], took_s: float) -> NoReturn:
        """Print and write many certificates; end with the status of the worst."""
        from cleandesk.report.sweep_table import render_table, status_of, table_json, table_page

        page = partial(table_page, heading, settled, took_s)
        text, value = render_table(settled, took_s), table_json(settled, took_s)
        self.finish(text, value, page, status_of(settled))

    def finish(
        self, text: str, value: Mapping[str, Any], page: Callable[[], str] | None, status: int
    ) -> NoReturn:
        """Print and write a result; end with ``status``."""
        if self.html is not None and page is not None:
            _write(self.html, page())
        if self.json:
            print_json(value)
        else:
            if self.json.path is not None:
                _write(self.json.path, json.dumps(value, indent=1, sort_keys=True) + "\n")
            click.echo(text, nl=False)
        sys.exit(status)


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise _unwritable(path, str(error)) from error


def _unwritable(path: str, why: str) -> UsageError:
    return UsageError(
        "CD-873",
        f"the result can't be written: {shown(why)}",
        where=f"file {shown(path, 1000)}",
        do="name a file in a folder that is there and can be written",
    )
