"""docs/reference/suite.md documents every key, and its examples are suites that load."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cleandesk.tasks import load_suite
from cleandesk.tasks.draws import _READERS
from cleandesk.tasks.shape import STRUCTS, keys_of

PAGE = (Path(__file__).parents[2] / "docs/reference/suite.md").read_text()
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
KEYS = sorted({key for struct in STRUCTS for key in keys_of(struct)} | set(_READERS) | {"from"})


@pytest.mark.parametrize("key", KEYS)
def test_every_key_of_a_suite_is_documented(key):
    assert f"`{key}`" in PAGE


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_every_example_is_a_suite_that_loads(block, tmp_path):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/a.jsonl").write_text('{"id": "a", "goal": "Look."}')
    (tmp_path / "suite.toml").write_text(block)

    assert load_suite(tmp_path / "suite.toml").tasks
