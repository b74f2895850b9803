"""``cleandesk demo``."""

from __future__ import annotations

from pathlib import Path

import click

from cleandesk.cli import EXIT_STATUS
from cleandesk.cli.output import finish, json_option, log_dir_option, reporting


@click.command("demo", epilog=EXIT_STATUS)
@log_dir_option
@click.option(
    "--workers",
    "-n",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="Episodes at a time.",
)
@json_option
@reporting
def demo_command(log_dir: Path, workers: int, *, as_json: bool) -> None:
    """See a leak change a score, see it caught, and prove a real run.

    Takes about two minutes, and needs the extra `gym` for its last part. Every run in it
    is kept, and can be verified and compared.

    \b
    Example:
        cleandesk demo --log-dir runs

    \b
    In Python:
        cleandesk.demo(log_dir="runs")
    """  # noqa: D301 - click wants the control character
    from cleandesk.report.demo import render_demo
    from cleandesk.suites.demo import Demo, demo
    from cleandesk.view.progress import Progress

    def tell(part: str, so_far: Demo) -> None:
        click.echo(render_demo(part, so_far), nl=False, err=as_json)

    shown = demo(log_dir, workers=workers, on_part=tell, watch=Progress)
    finish("", shown.to_json(), as_json=as_json, status=shown.status())
