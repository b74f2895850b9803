"""Which line wrote a field, found in a rig of this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from cleandesk.audit.certificate.device import Device
from cleandesk.audit.certificate.explain.watching import (
    bytes_at,
    is_passed,
    lines_of,
    watched,
    without_machine,
)
from cleandesk.audit.certificate.rig import Recipe
from cleandesk.finding import look_in

RIGS = Path(__file__).parents[1] / "faults" / "rigs"


@pytest.fixture
def build():
    look_in([str(RIGS)])

    def built(name):
        device = Device(Recipe(f"explain_leaks.py:{name}", path=(str(RIGS),)))
        device.build()
        return device

    return built


def episode(seed, *actions):
    return {"actions": list(actions), "seed": seed, "steps": len(actions)}


def test_the_last_step_that_changed_a_field_is_found(build):
    history = [episode(1, 1, 1, 0, 0), episode(2, 0, 1, 0)]
    found = watched(build("Compiled"), history, 7, ["env.heat", "env.pushes", "env.t"])
    assert found["env.heat"] == [1, 2]
    assert found["env.pushes"] == [3, 0]
    assert found["env.t"] == [3, 0]


def test_a_field_that_nothing_changed_has_no_write(build):
    assert watched(build("Table"), [episode(1)], 7, ["env.table.heat"]) == {"env.table.heat": None}


def test_a_field_that_is_not_there_yet_counts_as_changed_when_it_comes(build):
    device = build("Stacked")
    assert bytes_at(device, "env.nowhere") is None
    assert watched(device, [episode(1, 0)], 7, ["env._last"]) == {"env._last": [2, 0]}


def test_without_the_judged_reset_its_own_write_is_left_out(build):
    assert watched(build("Stacked"), [episode(1, 0)], None, ["env._last"]) == {"env._last": [1, 1]}


def test_the_line_that_changed_it_is_named(build):
    history = [episode(1, 1, 1, 0)]
    told = lines_of(build("Compiled"), history, 7, ["env.heat", "env.pushes"], (1, 2))
    assert told["env.heat"]["source"] == "np.add(self.heat, 1.0, out=self.heat)"
    assert told["env.pushes"]["source"] == "self.pushes = 3"
    assert told["env.heat"]["file"] == "explain_leaks.py"
    assert told["env.heat"]["line"] > 0


def test_several_fields_of_one_step_have_lines_of_their_own(build):
    told = lines_of(build("TwoWrites"), [episode(1, 1)], 7, ["env.first", "env.second"], (1, 1))
    assert told["env.first"]["source"] == "self.first += 1"
    assert told["env.second"]["source"] == "self.second += 2"


def test_the_judged_reset_can_be_who_wrote(build):
    told = lines_of(build("TwoWrites"), [episode(1, 1)], 7, ["env.total"], (2, 0))
    assert told["env.total"]["source"] == "self.total = self.first + self.second"


def test_a_field_that_the_step_did_not_change_has_no_line(build):
    told = lines_of(build("TwoWrites"), [episode(1, 1)], 7, ["env.total"], (1, 1))
    assert told["env.total"] == {"file": "", "line": 0, "source": ""}


def test_names_of_files_hold_nothing_of_the_machine():
    import gymnasium

    assert without_machine(gymnasium.__file__) == "gymnasium/__init__.py"
    assert without_machine("/some/where/else/rig.py") == "rig.py"


def test_lines_of_the_standard_library_and_of_the_instrument_are_passed():
    import inspect
    import json

    import gymnasium

    assert is_passed(json.__file__)
    assert is_passed(inspect.getfile(Device))
    assert is_passed("<string>")
    assert not is_passed(gymnasium.__file__)
    assert not is_passed(__file__)
