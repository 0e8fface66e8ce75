"""Intervals and tests against closed forms and scipy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from planner_r1.paper.statistics import Estimate, paired_bootstrap, t_interval


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=12))
def test_t_interval_is_scipys(values):
    estimate = t_interval(values)
    low, high = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=max(stats.sem(values), 1e-300))
    assert estimate.n == len(values)
    assert estimate.mean == pytest.approx(np.mean(values), abs=1e-9)
    assert estimate.low == pytest.approx(low, abs=1e-7) and estimate.high == pytest.approx(high, abs=1e-7)


def test_t_interval_in_closed_form():
    # two values: the standard error is half their distance, and t(1) is the tangent of 0.95 pi / 2
    estimate = t_interval([40.0, 44.0])
    assert estimate.half_width == pytest.approx(2 * math.tan(0.95 * math.pi / 2))
    assert t_interval([3.0] * 5) == Estimate(3.0, 0.0, 5)


def test_too_few_values_have_no_interval():
    assert t_interval([7.0]) == Estimate(7.0, None, 1)
    assert t_interval([7.0]).low is None and t_interval([7.0]).high is None
    assert t_interval([]) == Estimate(None, None, 0)


def test_bootstrap_approaches_the_normal_interval():
    differences = np.random.default_rng(1).normal(0.2, 1.0, size=400)
    change = paired_bootstrap(differences)
    width = stats.norm.ppf(0.975) * differences.std() / math.sqrt(400)
    assert change.mean == pytest.approx(differences.mean())
    assert change.low == pytest.approx(differences.mean() - width, abs=0.01)
    assert change.high == pytest.approx(differences.mean() + width, abs=0.01)
    assert change.rises == (change.low > 0)
    assert paired_bootstrap(differences) == change  # seeded


def test_bootstrap_of_sure_and_of_no_change():
    assert paired_bootstrap([1.0, 1.0, 1.0]).rises
    assert not paired_bootstrap([0.0, 0.0]).rises
    assert not paired_bootstrap([1.0, -1.0] * 20).rises
    with pytest.raises(ValueError, match="no pairs"):
        paired_bootstrap([])
