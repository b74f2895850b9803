"""Hypothesis profiles: how long the law tests search.

``HYPOTHESIS_PROFILE=thorough`` searches ten times as long, ``nightly`` two hundred times.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("dev", max_examples=100, deadline=None)
settings.register_profile("thorough", max_examples=1_000, deadline=None, derandomize=True)
settings.register_profile("nightly", max_examples=20_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
