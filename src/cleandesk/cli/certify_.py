"""``cleandesk certify``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from cleandesk.cli import EXIT_STATUS
from cleandesk.cli.output import reporting
from cleandesk.cli.results import STDOUT, Out, Target, target
from cleandesk.cli.run_ import read_arguments
from cleandesk.errors import UsageError, shown

if TYPE_CHECKING:
    from cleandesk.cli.settings import Chosen

_MOST_SEEDS = 10_000


def _numbers(_: click.Context, __: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    found: list[int] = []
    try:
        for part in text.split(","):
            low, dash, high = part.strip().partition("-")
            found += range(int(low), int(high) + 1)[: _MOST_SEEDS + 1] if dash else [int(low)]
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no list of numbers: write 1,2,7-9") from error
    if not 0 < len(found) <= _MOST_SEEDS:
        raise click.BadParameter(f"{text!r} names no seed, or more than {_MOST_SEEDS}")
    return tuple(found)


def _declarations(
    _: click.Context, __: click.Parameter, pairs: tuple[str, ...]
) -> dict[str, str] | None:
    held: dict[str, str] = {}
    for pair in pairs:
        # The last one: a quoted key of a pattern may hold another.
        pattern, equals, sampler = pair.rpartition("=")
        if not equals or not pattern.strip() or not sampler.strip():
            raise click.BadParameter(f"{pair!r} is not PATTERN=SAMPLER, such as env._level=any")
        held[pattern.strip()] = sampler.strip()
    return held or None


@click.command("certify", epilog=EXIT_STATUS)
@click.argument("world", required=False)
@click.option("--episodes", type=click.IntRange(1), help="Resets to judge, 5 if not said.")
@click.option("--steps", type=click.IntRange(1), help="Steps of each trace, 750 if not said.")
@click.option("--seeds", metavar="A,B-C", callback=_numbers, help="Seeds of the judged resets.")
@click.option(
    "--ep-seeds", metavar="A,B-C", callback=_numbers, help="Seeds of the episodes before them."
)
@click.option("--reset", metavar="MODE", help="seeded, unseeded, or a rig's own.")
@click.option(
    "-T",
    "--kwargs",
    "kwargs",
    multiple=True,
    metavar="key=value",
    callback=read_arguments,
    help="Argument of what is built; repeatable.",
)
@click.option(
    "--declare",
    multiple=True,
    metavar="PATTERN=SAMPLER",
    callback=_declarations,
    help="Fields that are meant to vary, and what they are drawn from; repeatable.",
)
@click.option(
    "--known", type=click.Path(), metavar="FILE", help="Leaks with a ticket; a fixed one fails."
)
@click.option(
    "--pin",
    multiple=True,
    type=click.Choice(["global-rng", "hash-order", "wall-clock"]),
    help="Hold this equal in both fresh builds; repeatable.",
)
@click.option("--no-trace", is_flag=True, help="Compare states alone; UNKNOWN at best.")
@click.option("--no-explain", is_flag=True, help="Name leaks without a search for their writes.")
@click.option("--order", is_flag=True, help="Also judge the seeds in other orders.")
@click.option("--budget", type=click.FloatRange(0, min_open=True), help="Seconds for each rig.")
@click.option(
    "--reference", type=click.Path(), metavar="FILE", help="Judge against this stored state."
)
@click.option(
    "--write-reference", type=click.Path(), metavar="FILE", help="Store a fresh build's state."
)
@click.option("--fleet", type=click.IntRange(1), metavar="N", help="Judge N devices of it.")
@click.option("--sweep", metavar="PATTERN", help="Judge all installed ids, such as 'gym:*'.")
@click.option(
    "--workers", "-n", type=click.IntRange(1), default=1, help="Rigs at a time in a sweep."
)
@click.option("--again", metavar="FILE", help="Re-run the certificate in FILE and compare.")
@click.option(
    "--json",
    "as_json",
    is_flag=False,
    flag_value=STDOUT,
    metavar="FILE|-",
    callback=target,
    help="Write JSON to FILE; with - print that alone.",
)
@click.option("--html", metavar="FILE", help="Write one page that needs no network.")
@click.option("--script", metavar="FILE", help="Write the script that reproduces a leak.")
@reporting
def certify_command(
    world: str | None,
    *,
    sweep: str | None,
    again: str | None,
    as_json: Target,
    html: str | None,
    script: str | None,
    fleet: int | None,
    workers: int,
    write_reference: str | None,
    **options: Any,
) -> None:
    """Judge the reset of WORLD and name what it leaves behind.

    WORLD is gym:ID, pettingzoo:FAMILY.NAME, dm_control:DOMAIN.TASK, module:factory,
    file.py:factory, or a registered world (see `cleandesk list`). Options can stand in
    [tool.cleandesk.certify] of pyproject.toml, and for one rig in a table below it.

    \b
    Examples:
        cleandesk certify gym:BipedalWalker-v3
        cleandesk certify gym:Peg-v1 --kwargs control=osc --reset unseeded
        cleandesk certify robots.py:make --json robots.json --html robots.html
        cleandesk certify --again robots.json
        cleandesk certify --sweep 'gym:*' -n 2 --budget 20

    \b
    In Python:
        cleandesk.certify("gym:BipedalWalker-v3", episodes=5)
    """  # noqa: D301 - click wants the control character
    out = Out(as_json, html, script)
    given = {"WORLD": world, "--sweep": sweep, "--again": again}
    _require_one_subject(given, fleet, out)
    from cleandesk.cli.settings import Chosen

    chosen = Chosen(**{name: options[name] or None for name in Chosen.__dataclass_fields__})
    if again is not None:
        _again(again, out)
    if sweep is not None:
        _sweep(sweep, chosen, workers, out)
    if fleet is not None:
        _fleet(str(world), chosen, (fleet, workers), out)
    if write_reference is not None:
        _write_reference(write_reference, str(world), chosen, out)
    _one(str(world), chosen, out)


def _one(world: str, chosen: Chosen, out: Out) -> NoReturn:
    from cleandesk.audit.certificate.against import certify_against
    from cleandesk.audit.certificate.certify import certify
    from cleandesk.audit.certificate.known import settle
    from cleandesk.cli.settings import settings_for
    from cleandesk.view.stages import Stages

    settings = chosen.over(settings_for(world, Path.cwd()))
    known = settings.read_known(world)
    judge = certify if settings.reference is None else partial(certify_against, settings.reference)
    with Stages() as stages:
        certificate = judge(world, **settings.to_call(), on_progress=stages)
    out.finish_certificate(settle(certificate, known))


def _write_reference(file: str, world: str, chosen: Chosen, out: Out) -> NoReturn:
    from cleandesk.audit.certificate.reference import write_reference
    from cleandesk.cli.settings import settings_for
    from cleandesk.view.stages import Stages

    settings = chosen.over(settings_for(world, Path.cwd()))
    with Stages() as stages:
        stored = write_reference(file, world, **settings.to_call(), on_progress=stages)
    seeds = list(stored.horizon.seeds)
    text = f"stored what {len(seeds)} fresh builds of {shown(world)} show, in {shown(file, 1000)}\n"
    held = {"file": file, "reference": world, "seeds": seeds, "stamp": dict(stored.stamp)}
    out.finish(text, held, None, 0)


def _again(file: str, out: Out) -> NoReturn:
    from cleandesk.audit.certificate.again import certify_again
    from cleandesk.report.certificate_page import certificate_page
    from cleandesk.view.stages import Stages

    with Stages() as stages:
        found = certify_again(file, on_progress=stages)
    page = partial(certificate_page, found.after)
    out.finish(found.text(), found.to_json(), page, int(not found.is_same))


def _sweep(pattern: str, chosen: Chosen, workers: int, out: Out) -> NoReturn:
    from cleandesk.audit.certificate.known import settle
    from cleandesk.audit.certificate.sweep import sweep
    from cleandesk.cli.settings import settings_for
    from cleandesk.view.stages import Stages

    def of_each(reference: str) -> Chosen:
        return chosen.over(settings_for(reference, Path.cwd()))

    settings = of_each(pattern)
    settings.read_known(pattern)
    with Stages(is_logged=True) as stages:
        found = sweep(
            pattern,
            workers=workers,
            on_progress=stages,
            of_each=lambda reference: of_each(reference).to_call(),
            **settings.to_call(),
        )
    pairs = zip(found.references, found.certificates, strict=True)
    settled = [settle(one, of_each(reference).read_known(reference)) for reference, one in pairs]
    out.finish_table(pattern, settled, found.took_s)


def _fleet(world: str, chosen: Chosen, numbers: tuple[int, int], out: Out) -> NoReturn:
    from cleandesk.audit.certificate.fleet import certify_fleet, devices_of
    from cleandesk.audit.certificate.known import settle
    from cleandesk.cli.settings import settings_for
    from cleandesk.view.stages import Stages

    count, workers = numbers
    settings = chosen.over(settings_for(world, Path.cwd()))
    known = settings.read_known(world)
    call = settings.to_call()
    own = {name: call.pop(name) for name in ("arguments", "reset") if name in call}
    devices = devices_of(world, count, **own)
    with Stages(is_logged=True) as stages:
        found = certify_fleet(devices, workers=workers, on_progress=stages, **call)
    settled = [settle(one, known) for one in found.certificates]
    out.finish_table(f"{count} x {world}", settled, found.took_s)


def _require_one_subject(given: Mapping[str, str | None], fleet: int | None, out: Out) -> None:
    """Refuse a call from which it does not follow what is to be judged.

    Raises:
        UsageError: CD-874.
    """
    named = [name for name, value in given.items() if value is not None]
    if len(named) == 1 and (fleet is None or named == ["WORLD"]):
        out.require_folders()
        return
    do = "give one of WORLD, --sweep PATTERN and --again FILE; --fleet N goes with WORLD"
    if not named and out.json.path not in {None, STDOUT}:
        do += f"; was {shown(out.json.path)} meant as WORLD? then write --json - before it"
    if fleet is not None:
        named.append("--fleet")
    said = f"{' and '.join(named)} are given" if named else "nothing is named that is to be judged"
    raise UsageError("CD-874", said, where="the command line", do=do)
