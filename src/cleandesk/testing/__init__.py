"""Rules that every surface with a base keeps: for the kinds of cleandesk and for yours.

Say once what your surface is and what may be written into it; each rule then makes bases
and copies in processes of its own and fails with the field that shows what is wrong.

    CASE = SurfaceCase(surface=Notes(), terms=notes("seed.json"), writes=(add, change, remove))

    @pytest.mark.parametrize("rule", surface_rules(), ids=str)
    def test_the_surface_keeps(rule, tmp_path):
        rule(CASE, tmp_path)

Nothing here needs pytest: a rule is a function, and what it finds is an AssertionError. It
needs Linux, where a process can be watched and killed without mistaking it for another.
"""

from __future__ import annotations

from cleandesk.testing.case import SurfaceCase
from cleandesk.testing.rules import Rule, RuleBrokenError, surface_rules

__all__ = ["Rule", "RuleBrokenError", "SurfaceCase", "surface_rules"]
