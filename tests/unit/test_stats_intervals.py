"""Wilson's interval and the clustered standard error, against vectors and statsmodels."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats
from statsmodels.api import OLS
from statsmodels.stats.proportion import proportion_confint

from cleandesk.errors import UsageError
from cleandesk.stats import clustered_se, wilson
from cleandesk.stats.intervals import normal_quantile, student_quantile

GOLDEN = Path(__file__).parents[1] / "golden" / "stat_vectors.json"
VECTORS = {vector["id"]: vector for vector in json.loads(GOLDEN.read_text())["vectors"]}


@pytest.mark.parametrize("name", [name for name in VECTORS if name.startswith("wilson.")])
def test_wilson_meets_the_published_vectors(name):
    vector = VECTORS[name]
    given = vector["inputs"]

    found = wilson(given["k"], given["n"], confidence=given["conf"])

    assert found == pytest.approx(vector["expected"]["wilson"], abs=vector["abs_tol"])


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize(("successes", "n"), [(1, 2), (3, 20), (19, 20), (0.5, 1.7), (407, 1319)])
def test_wilson_agrees_with_statsmodels(successes, n, confidence):
    expected = proportion_confint(successes, n, alpha=1 - confidence, method="wilson")

    assert wilson(successes, n, confidence=confidence) == pytest.approx(expected, abs=1e-12)


def test_wilson_of_none_or_all_ends_exactly_at_the_scale():
    for n in range(1, 200):
        assert wilson(0, n)[0] == 0.0
        assert wilson(n, n)[1] == 1.0


def test_wilson_holds_on_where_the_plain_interval_misses():
    """The exact coverage at 20 tasks and a true share of 0.05: 0.925, against 0.639."""
    n, true = 20, 0.05
    chances = [math.comb(n, k) * true**k * (1 - true) ** (n - k) for k in range(n + 1)]

    def plain(k):
        half = 1.959964 * math.sqrt(k / n * (1 - k / n) / n)
        return k / n - half, k / n + half

    def covered(interval):
        return math.fsum(
            chance for k, chance in enumerate(chances) if interval(k)[0] <= true <= interval(k)[1]
        )

    assert covered(lambda k: wilson(k, n)) == pytest.approx(0.925, abs=5e-4)
    assert covered(plain) == pytest.approx(0.639, abs=5e-4)


@pytest.mark.parametrize(
    ("successes", "n"), [(1, 0), (-1, 5), (6, 5), (math.nan, 5), (1, math.inf), (1, math.nan)]
)
def test_counts_that_are_no_share_are_refused(successes, n):
    with pytest.raises(UsageError, match="is not a share") as caught:
        wilson(successes, n)

    assert caught.value.code == "CD-891"


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.5, math.nan, 1e-17, 1 - 1e-16])
def test_a_confidence_outside_0_to_1_is_refused(confidence):
    with pytest.raises(UsageError, match=r"not between 0 and 1.*\n.*confidence") as caught:
        wilson(3, 20, confidence=confidence)

    assert caught.value.code == "CD-891"


@pytest.mark.parametrize(
    ("name", "field"),
    [("cluster.balanced", "clustered_se"), ("cluster.unbalanced", "micro_clustered_se")],
)
def test_clustered_se_meets_the_vectors_and_statsmodels(name, field):
    vector = VECTORS[name]
    trials = vector["inputs"]["trials"].values()

    found = clustered_se(trials)

    assert found == pytest.approx(vector["expected"][field], abs=vector["abs_tol"])
    assert found == pytest.approx(regression_se(trials), abs=1e-12)


def test_clustered_se_of_groups_of_one_is_the_plain_one():
    values = [0.2, 0.9, 0.4, 0.4, 1.0]

    assert clustered_se([[v] for v in values]) == pytest.approx(
        np.std(values, ddof=1) / math.sqrt(5)
    )


def test_clustered_se_leaves_out_groups_without_values():
    assert clustered_se([[1, 0], [], [1]]) == clustered_se([[1, 0], [1]])


@pytest.mark.parametrize("groups", [[], [[]], [[1, 0, 1]]])
def test_the_spread_of_fewer_than_two_clusters_is_refused_not_0(groups):
    with pytest.raises(UsageError, match="a spread needs two") as caught:
        clustered_se(groups)

    assert caught.value.code == "CD-892"


def test_quantiles_are_those_of_the_library():
    assert normal_quantile(0.95) == pytest.approx(scipy_stats.norm.ppf(0.975), abs=1e-12)
    assert student_quantile(0.9, 1) == pytest.approx(scipy_stats.t.ppf(0.95, 1), rel=1e-9)
    vector = VECTORS["cluster.family"]["expected"]
    assert student_quantile(0.95, vector["df"]) == pytest.approx(vector["t_975"], abs=1e-9)


def test_importing_stats_and_using_wilson_loads_neither_numpy_nor_scipy():
    code = (
        "import sys; from cleandesk.stats import estimate; estimate({'a': [1], 'b': [0]});"
        "print(sorted({'numpy', 'scipy'} & set(sys.modules)))"
    )

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "[]"


def regression_se(groups):
    """An intercept-only regression with a covariance clustered by group, by statsmodels."""
    values = [value for group in groups for value in group]
    labels = [index for index, group in enumerate(groups) for _ in group]
    fitted = OLS(np.array(values, float), np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": np.array(labels)}
    )
    return float(fitted.bse[0])
