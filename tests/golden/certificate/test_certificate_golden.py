"""certificate/1 as files: written by hand from the specification, and never changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cleandesk.audit.certificate.spelling import from_json, read_certificate, to_json
from cleandesk.errors import UsageError
from cleandesk.report.certificate import render_certificate
from cleandesk.report.certificate_page import certificate_page

HERE = Path(__file__).parent
GOOD, BAD = sorted((HERE / "good").glob("*.json")), sorted((HERE / "bad").glob("*.json"))


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_certificate_is_written_again_as_it_was_read(path):
    """C-91."""
    held = json.loads(path.read_text())
    known = {key: value for key, value in held.items() if not key.startswith("said_by")}

    assert to_json(from_json(held)) == known


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_certificate_that_was_read_can_be_shown(path):
    found = read_certificate(path)

    assert render_certificate(found).startswith(f"{found.status}  {found.cls}")
    assert str(found.cls) in certificate_page(found)


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_what_is_no_certificate_is_refused_with_a_message(path):
    with pytest.raises(UsageError) as raised:
        read_certificate(path)

    assert path.name in str(raised.value)
