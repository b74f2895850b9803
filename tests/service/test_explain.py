"""A FAIL explained: true writes, echoes, the shortest history, a script, and who wrote."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cleandesk.audit.certificate.declaring import Declaring
from cleandesk.audit.certificate.explain.explaining import explain
from cleandesk.audit.certificate.explain.scenario import Scenario
from cleandesk.audit.certificate.links import Bench
from cleandesk.audit.certificate.rig import Declared, Recipe
from cleandesk.audit.certificate.rows import first_unequal
from cleandesk.audit.certificate.sequence import Horizon, References, judge_all

pytestmark = pytest.mark.service

RIGS = str(Path(__file__).parents[1] / "faults" / "rigs")


def explained(reference, *, steps=60, episodes=1, trace=True, reset="seeded", limit_s=60.0):
    recipe = Recipe(reference, path=(RIGS,), reset=reset)
    numbers = range(1, episodes + 1)
    horizon = Horizon(steps, tuple(numbers), tuple(100 + n for n in numbers), trace)
    with Bench(recipe, limit_s=120) as bench, ThreadPoolExecutor(1) as pool:
        fresh = References(bench, horizon, pool)
        if reset == "seeded":
            fresh.begin()
        sequence = judge_all(bench, horizon, fresh, on_progress=lambda _: None)
        declaring = Declaring([Declared(*each) for each in sequence.about["declared"]], [])
        failed = [p for p in sequence.passages if p.divergence or not trace]
        passage = failed[0]
        kept, _ = declaring.split_off(passage.apart)
        rows = bytes(passage.fresh["rows"]) if trace else b""
        scenario = Scenario(
            bench=bench,
            recipe=recipe,
            history=tuple(sequence.history[: 2 * passage.number - 1]),
            judged={
                **horizon.judged(passage.number),
                **sequence.before.get(passage.number, {}),
            },
            fresh_rows=rows,
            fresh_leaves={path: sides[0] for path, sides in kept.items()},
            judged_leaves={path: sides[1] for path, sides in kept.items()},
            first_row=first_unequal(rows, bytes(passage.judged["rows"])) if trace else None,
            deadline=time.monotonic() + limit_s,
        )
        return explain(scenario)


def test_a_value_that_survives_is_a_leak_and_what_is_derived_from_it_an_echo():
    found = explained("planted_cases.py:Echo")
    assert found.true_writes == ("env._load",)
    assert set(found.echoes) == {"env.inertia", "env.mass", "env.reach"}
    assert found.is_confirmed
    assert found.smallest == ((101, 1),)


def test_two_writes_are_both_needed_and_what_is_not_read_stands_by():
    found = explained("explain_leaks.py:TwoWrites")
    assert set(found.true_writes) == {"env.first", "env.second"}
    assert (found.echoes, found.bystanders) == (("env.total",), ("env.unread",))
    assert found.writes["env.first"].source == "self.first += 1"
    assert found.writes["env.second"].source == "self.second += 2"


def test_of_a_table_only_the_entry_that_is_read_is_a_leak():
    found = explained("explain_leaks.py:Table")
    assert found.true_writes == ("env.table.heat",)
    assert set(found.bystanders) == {"env.table.log", "env.table.seen.last"}


def test_what_is_read_by_the_reset_and_no_longer_differs_after_it_is_found():
    found = explained("explain_leaks.py:Stacked")
    assert (found.true_writes, list(found.carried)) == ((), ["env._last"])
    before, after = found.carried["env._last"]
    assert before.value == 0.0 != after.value
    assert found.is_confirmed
    assert found.writes["env._last"].source == "self._last = 1.0 + action"
    assert found.repro is not None


def test_what_an_episode_made_and_the_reset_read_is_found_too():
    found = explained("explain_leaks.py:StackedLater")
    assert (found.true_writes, list(found.carried)) == ((), ["env._last"])
    assert (found.carried["env._last"][0], found.is_confirmed) == (None, True)


def test_a_rig_with_threads_is_relived_instead_of_forked():
    found = explained("explain_leaks.py:Waiting")
    assert (found.true_writes, found.is_confirmed) == (("env.worn",), True)


def test_compiled_code_that_wrote_is_named_by_the_line_that_called_it():
    found = explained("explain_leaks.py:Compiled")
    write = found.writes["env.heat"]
    assert write.source == "np.add(self.heat, 1.0, out=self.heat)"
    assert (write.file, write.episode) == ("explain_leaks.py", 1)
    assert "[1] * 2" in found.repro or "[2] * 2" in found.repro


def test_a_list_of_a_class_that_grows_is_put_back_as_a_whole():
    found = explained("planted_leaks.py:ClassList")
    assert found.is_confirmed
    assert found.true_writes == ("[class ClassList].seen_before[1]",)
    assert found.smallest == ((101, 0),)


def test_what_a_module_keeps_is_reproduced_with_a_fresh_build_in_another_process():
    found = explained("planted_leaks.py:ModuleMemo")
    assert found.is_confirmed
    assert "get_context" in found.repro


def test_a_counter_that_needs_several_resets_keeps_just_as_many():
    found = explained("planted_cases.py:HorizonFuse", steps=250, episodes=3)
    assert found.true_writes == ("env._count",)
    assert all(steps == 0 for _, steps in found.smallest)
    assert "for seed in [" in found.repro


def test_what_is_in_no_field_is_said_to_be_elsewhere_and_still_reproduced():
    found = explained("planted_leaks.py:KeptFile")
    assert (found.true_writes, found.is_confirmed) == ((), False)
    assert "no field of the walk differs" in found.outside_note
    assert found.repro is not None


def test_without_a_trace_fields_are_told_apart_by_what_clears():
    found = explained("planted_cases.py:Echo", trace=False)
    assert found.true_writes == ("env._load",)
    assert not found.is_confirmed
    assert "env.unwrapped._load" in found.repro or "env._load" in found.repro


def test_a_rig_of_somebodys_own_is_restored_by_its_own_write_and_has_no_script():
    found = explained("planted_harness.py:Tank")
    assert (found.true_writes, found.is_confirmed) == (("tank.heat",), True)
    assert (found.repro, found.no_repro) == (
        None,
        "no script: the rig has no script() that says how a person writes it down",
    )


def test_unseeded_resets_are_explained_and_have_no_script():
    found = explained("planted_leaks.py:WarmStart", reset="unseeded", episodes=2)
    assert (found.true_writes, found.is_confirmed) == (("env._warm",), True)
    assert found.writes["env._warm"].source.startswith("self._warm = ")
    assert found.repro is None


def test_a_reset_that_raises_after_others_is_reproduced_by_raising():
    found = explained("planted_refusals.py:UsedUpRaises", steps=250)
    assert (found.true_writes, found.is_confirmed) == (("env._resets",), True)
    assert "raises RuntimeError" in found.repro.replace("\n# ", " ")
    assert found.writes["env._resets"].source


def test_a_rig_that_differs_by_itself_has_no_script():
    found = explained("planted_refusals.py:JitteredLeak")
    assert found.repro is None
    assert "where a fresh build does not" in found.no_repro


def test_a_spent_budget_says_so_and_calls_everything_a_leak():
    found = explained("planted_cases.py:Echo", limit_s=0.0)
    assert set(found.true_writes) == {"env._load", "env.inertia", "env.mass", "env.reach"}
    assert not found.is_confirmed
    assert found.spent["cut"]


def test_knights_archers_zombies_leaks_its_spawn_counter_alone():
    found = explained("pettingzoo:butterfly.knights_archers_zombies_v11", steps=750)
    assert found.true_writes == ("env.zombie_spawn_interval._current_step",)
    assert (found.is_confirmed, found.echoes) == (True, ())
    write = found.writes["env.zombie_spawn_interval._current_step"]
    assert write.file.startswith("pettingzoo/butterfly/knights_archers_zombies/")
    assert write.source == "self._current_step += 1"
    assert "cleandesk" not in found.repro


def test_the_bipedal_walker_is_reproduced_and_its_world_can_not_be_put_back():
    found = explained("gym:BipedalWalker-v3", steps=750, episodes=5)
    assert not found.is_confirmed
    assert found.outside_note
    assert found.repro is not None
    assert "gym.make('BipedalWalker-v3')" in found.repro
