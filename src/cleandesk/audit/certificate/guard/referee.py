"""The process beside a guarded loop: it has fresh builds, and compares.

It is asked with frames ``R`` that name a number; what is asked lies in a file of that
number. It answers ``A`` with what differs. First of all it says ``I`` with the roots of
the reference, or ``X`` with why there is none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cleandesk.audit.certificate.anchor import FRESH, JUDGED
from cleandesk.audit.certificate.declaring import Declaring
from cleandesk.audit.certificate.guard.live import await_file, write_file
from cleandesk.audit.certificate.links import Bench, DeviceError, Link
from cleandesk.audit.certificate.rig import Declared, Recipe
from cleandesk.audit.certificate.rows import first_unequal
from cleandesk.audit.certificate.serve import recipe_of
from cleandesk.audit.certificate.streams import global_states
from cleandesk.channel import Channel, ChannelClosedError
from cleandesk.errors import CleandeskError
from cleandesk.processes import channel_of_arguments, tidy_with_parent
from cleandesk.state import decode, encode
from cleandesk.state.canon import ALL_BYTES

STEPS = 100
_NO_UNSEEDED = "CD-296"
_COPY_S = 60.0
_SHARED_HOMES = ("[class ", "[module ", "[function ")
_CHECKERS = ("PassiveEnvChecker.",)
"""Wrappers that note what they have checked: no step reads it, and it would hide the leak."""


def main() -> None:
    """Answer until the loop ends."""
    channel = channel_of_arguments()
    tidy_with_parent()
    try:
        _, (hello,) = channel.receive()
        settings: dict[str, Any] = decode(hello)
        recipe = recipe_of(settings["recipe"])
        # What is made here goes with the guard's folder, also when this process is killed.
        tempfile.tempdir = settings["folder"]
        try:
            _serve(channel, recipe, settings)
        except (CleandeskError, DeviceError) as error:
            channel.send(b"X", str(error).encode(errors="replace"))
    except ChannelClosedError:
        return


def _serve(channel: Channel, recipe: Recipe, settings: Mapping[str, Any]) -> None:
    try:
        _serve_mode(channel, recipe, settings)
    except CleandeskError as error:
        if error.code != _NO_UNSEEDED:
            raise
        seeded = Recipe(recipe.reference, recipe.arguments, "seeded", recipe.path)
        _serve_mode(channel, seeded, settings)


def _serve_mode(channel: Channel, recipe: Recipe, settings: Mapping[str, Any]) -> None:
    with Bench(recipe) as bench:
        bench.start(*JUDGED)
        link = bench.device(*FRESH)
        other = bench.device(*JUDGED)
        given = [Declared(pattern, "any", "declared") for pattern in settings["declare"]]
        defaults = [Declared(*each) for each in link.about["declared"]]
        referee = _Referee(link, Declaring(defaults, given), Path(settings["folder"]))
        said = referee.anchor(other)
        other.kill()
        channel.send(b"I", encode({**said, "is_unseeded": recipe.reset == "unseeded"}))
        while True:
            _, parts = channel.receive()
            answer = referee.answer(int(parts[0]))
            channel.send(b"A", encode(answer, inline_bytes=ALL_BYTES))


class _Referee:
    """A fresh build that is asked in forks, and what is known of it."""

    def __init__(self, link: Link, declaring: Declaring, folder: Path) -> None:
        self._link = link
        self._declaring = declaring
        self._folder = folder
        self._kinds: dict[str, str] = {}
        self._varies: set[str] = set()
        self._usual: dict[str, bytes | None] = {}

    def anchor(self, other: Link) -> dict[str, Any]:
        """Compare two fresh builds: where they disagree, nothing can be judged."""
        plan = {
            "first": 0,
            # The global streams stand in both where they stand here, as at each reset later.
            "globals": global_states(),
            "here": None,
            "seed": 1,
            "states": None,
            "steps": STEPS,
        }
        one, two = self._link.attempt("guard", plan), other.attempt("guard", plan)
        self._kinds = one["kinds"]
        paths = one["tokens"].keys() | two["tokens"].keys()
        self._varies = {
            path for path in paths if one["tokens"].get(path) != two["tokens"].get(path)
        }
        problem = ""
        if one["rows"] != two["rows"]:
            problem = "two fresh builds of the reference disagree, so nothing can be told"
        return {"kinds": self._kinds, "problem": problem}

    def answer(self, number: int) -> dict[str, Any]:
        """Compare what lies in the file of that number."""
        asked = await_file(self._folder / f"{number}.asked")
        told: dict[str, Any] = {"differing": [], "number": number, "problem": "", "step": None}
        try:
            fresh = self._link.attempt("guard", asked["plan"])
        except (DeviceError, CleandeskError) as error:
            return {**told, "problem": f"the fresh build could not follow: {error}"}
        here: Mapping[str, bytes] = asked["plan"]["here"]
        apart = {path: text for path, text in fresh["apart"].items() if self._is_judged(path, text)}
        if asked["is_control"]:
            # The first reset of both: what differs now, and stays so, is no leak.
            self._usual.update({path: here.get(path) for path in apart})
        apart = {
            path: text
            for path, text in apart.items()
            if path not in self._usual or self._usual[path] != here.get(path)
        }
        told["differing"] = [[path, text or "absent"] for path, text in apart.items()]
        return told | (self._steps(number, fresh) if asked["is_traced"] else {})

    def _steps(self, number: int, fresh: Mapping[str, Any]) -> dict[str, Any]:
        actions = {"actions": fresh["actions"], "kinds": self._kinds}
        write_file(self._folder / f"{number}.actions", actions)
        try:
            copy = await_file(self._folder / f"{number}.rows", _COPY_S)
        except TimeoutError:
            return {"steps_problem": "the copy did not answer in time"}
        if copy["problem"]:
            return {"steps_problem": copy["problem"]}
        place = first_unequal(fresh["rows"], copy["rows"])
        return {"step": None if place is None else place + 1, "steps_problem": ""}

    def _is_judged(self, path: str, text: str | None) -> bool:
        if path.startswith(_CHECKERS) or path in self._varies:
            return False
        if self._declaring.term_of(path) is not None:
            return False
        if text is not None:
            return True
        # The loop's own wrappers, classes and modules are no home of the environment.
        return not path.startswith(_SHARED_HOMES) and any(
            path == root or path.startswith((f"{root}.", f"{root}[")) for root in self._kinds
        )


if __name__ == "__main__":
    main()
