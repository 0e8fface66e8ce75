"""Intervals and tests against closed forms and scipy."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from planner_r1.paper.statistics import (
    Difference,
    Estimate,
    Summary,
    clustered_share,
    holm,
    paired_bootstrap,
    paired_permutation,
    paired_t,
    proportions,
    t_interval,
    welch,
)


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


@settings(deadline=None)
@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 30))
def test_of_right_and_wrong_the_permutation_test_is_mcnemars(better, worse, alike):
    differences = [1.0] * better + [-1.0] * worse + [0.0] * alike
    if not differences:
        return
    exact = stats.binomtest(better, better + worse).pvalue if better + worse else 1.0
    drawn = better + worse > 13  # more ways than RESAMPLES
    assert paired_permutation(differences) == pytest.approx(exact, abs=0.02 if drawn else 1e-9)


@given(st.lists(st.floats(-10, 10).map(lambda x: round(x, 2)), min_size=1, max_size=8))
def test_permutation_by_trying_all_signs(differences):
    found = abs(sum(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    share = sum(value >= found - 1e-9 for value in sums) / len(sums)
    assert paired_permutation(differences) == pytest.approx(share)


def test_permutation_approaches_the_t_test():
    differences = np.random.default_rng(2).normal(0.12, 1.0, size=400)
    assert paired_permutation(list(differences)) == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, abs=0.01)
    assert paired_permutation(list(differences)) == paired_permutation(list(differences))  # seeded


def test_no_change_and_no_pairs():
    assert paired_permutation([0.0, 0.0]) == 1.0
    assert paired_permutation([0.5]) == 1.0
    with pytest.raises(ValueError, match="no pairs"):
        paired_permutation([])


def test_noise_is_told_seldom():
    rng = random.Random(0)
    below = sum(paired_permutation([rng.gauss(0, 1) for _ in range(9)]) < 0.05 for _ in range(400))
    assert below <= stats.binom.ppf(0.999, 400, 0.05)


def test_holm_in_closed_form():
    # Holm 1979's rule by hand: 4 x 0.01; 3 x 0.02; 2 x 0.03 is the same 0.06; 0.04 may not be below it
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_holm_lies_between_the_raw_value_and_bonferronis_and_keeps_the_order(p_values):
    corrected = holm(p_values)
    for raw, value in zip(p_values, corrected, strict=True):
        assert raw <= value <= min(1.0, len(p_values) * raw) + 1e-12
    ordered = sorted(zip(p_values, corrected, strict=True))
    assert [value for _, value in ordered] == sorted(corrected)
    # it rejects exactly what the step-down procedure does
    for level in (0.05, 0.2):
        rejected = set()
        for place, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
            if p_values[i] * (len(p_values) - place) > level:
                break
            rejected.add(i)
        assert {i for i, value in enumerate(corrected) if value <= level} == rejected


def test_welch_agrees_with_scipy_from_the_same_values_and_from_their_summaries():
    rng = np.random.default_rng(3)
    for n, m, spread in ((5, 5, 1.0), (3, 8, 4.0), (2, 6, 0.2)):
        a, b = rng.normal(40, 3, n), rng.normal(37, 3 * spread, m)
        first, second = Summary(a.mean(), a.std(ddof=1), n), Summary(b.mean(), b.std(ddof=1), m)
        ours = welch(first, second)
        theirs = stats.ttest_ind(a, b, equal_var=False)
        interval = theirs.confidence_interval(0.95)
        assert (ours.p, ours.low, ours.high) == pytest.approx((theirs.pvalue, interval.low, interval.high))
        told = stats.ttest_ind_from_stats(a.mean(), a.std(ddof=1), n, b.mean() + 2, b.std(ddof=1), m, equal_var=False)
        assert welch(first, second, null=2).p == pytest.approx(told.pvalue)


def test_a_summary_is_read_back_from_a_printed_interval():
    values = [36.0, 39.5, 41.0, 42.5, 40.5]
    printed = t_interval(values)
    read = Summary.of(printed.mean, printed.half_width, 5)
    assert read.sd == pytest.approx(np.std(values, ddof=1))


def test_one_value_counts_as_one_more_of_the_others():
    five = [36.0, 39.5, 41.0, 42.5, 40.5]
    found = welch(Summary(30.0, math.nan, 1), Summary(np.mean(five), np.std(five, ddof=1), 5))
    reach = stats.t.ppf(0.975, 4) * np.std(five, ddof=1) * math.sqrt(1 + 1 / 5)  # the prediction interval
    assert (found.low, found.high) == pytest.approx((30 - np.mean(five) - reach, 30 - np.mean(five) + reach))
    assert found.p == pytest.approx(2 * stats.t.sf(abs(found.mean) / (reach / stats.t.ppf(0.975, 4)), 4))
    with pytest.raises(ValueError, match="how they vary"):
        welch(Summary(1.0, 0.0, 1), Summary(2.0, 0.0, 1))


def test_where_nothing_varies_there_is_no_p():
    assert welch(Summary(0.0, 0.0, 5), Summary(0.5, 0.0, 3)) == Difference(-0.5, -0.5, -0.5, None)


def test_newcombes_interval_as_he_published_it():
    # R. G. Newcombe, Statistics in Medicine 17 (1998), 873-890, table II, method 10: cases (a), (c) and (g)
    published = {
        (56, 70, 48, 80): (0.0524, 0.3339),
        (6, 7, 2, 7): (0.0582, 0.8062),
        (10, 10, 0, 20): (0.6791, 1.0),
    }
    for (x, n, y, m), ends in published.items():
        found = proportions(x / n, n, y / m, m)
        assert (found.low, found.high) == pytest.approx(ends, abs=6e-5)
    assert proportions(0.0, 1000, 0.0, 1000).p is None
    table = stats.chi2_contingency([[56, 14], [48, 32]], correction=False)
    assert proportions(56 / 70, 70, 48 / 80, 80).p == pytest.approx(table.pvalue)


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(1, 5))
def test_trials_of_one_outcome_a_cluster_count_as_one(passed, times):
    """Where all of a cluster come out alike it is as if there were but one trial. Their variance is known from k - 1
    degrees of freedom: the ends solve (share - p)^2 = t^2 p (1 - p) / (k - 1), as Wilson's do with z^2 and k."""
    share, low, high = clustered_share([times * one for one in passed], [times] * len(passed))
    k = len(passed)
    assert share == pytest.approx(np.mean(passed))
    if k > 1 and 0 < share < 1:
        t = stats.t.ppf(0.975, k - 1)
        for end in (low, high):
            assert (share - end) ** 2 == pytest.approx(t**2 * end * (1 - end) / (k - 1), abs=1e-9)
        assert low < share < high
    else:
        wilson = stats.binomtest(sum(passed), k).proportion_ci(method="wilson")
        assert (low, high) == pytest.approx((wilson.low, wilson.high))


@given(st.lists(st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1, max_size=30))
def test_clusters_never_tell_more_than_as_many_independent_trials(clusters):
    successes, trials = zip(*clusters, strict=True)
    share, low, high = clustered_share(successes, trials)
    wilson = stats.binomtest(sum(successes), sum(trials)).proportion_ci(method="wilson")
    assert (
        share == pytest.approx(sum(successes) / sum(trials)) and -1e-9 <= low <= share + 1e-9 <= high + 2e-9 <= 1 + 3e-9
    )
    assert low <= wilson.low + 1e-9 and high >= wilson.high - 1e-9


def test_clusters_against_a_bootstrap_over_them():
    rng = np.random.default_rng(5)
    trials = rng.integers(1, 6, size=150)
    successes = rng.binomial(trials, rng.beta(1.2, 1.8, size=150))
    _, low, high = clustered_share(successes, trials)
    shares = [successes[drawn].sum() / trials[drawn].sum() for drawn in rng.integers(150, size=(4000, 150))]
    assert [low, high] == pytest.approx(list(np.quantile(shares, [0.025, 0.975])), abs=0.01)
    plain = stats.binomtest(int(successes.sum()), int(trials.sum())).proportion_ci(method="wilson")
    assert high - low > 1.2 * (plain.high - plain.low)


@pytest.mark.parametrize("chance", [0.05, 0.3, 0.5])
def test_nineteen_of_twenty_intervals_hold_the_share(chance):
    """Five episodes of each of 60 queries, which are alike: the plain interval is too short."""
    rng, times, alike = np.random.default_rng(7), 600, 1.5
    held = plain_held = 0
    for _ in range(times):
        successes = rng.binomial(5, rng.beta(alike * chance, alike * (1 - chance), size=60))
        _, low, high = clustered_share(successes, [5] * 60)
        plain = stats.binomtest(int(successes.sum()), 300).proportion_ci(method="wilson")
        held, plain_held = held + (low <= chance <= high), plain_held + (plain.low <= chance <= plain.high)
    assert held / times > 0.92 > 0.88 > plain_held / times


@pytest.mark.parametrize("clusters", [8, 12, 40])
@pytest.mark.parametrize("alike", [(0.5, 0.5), (0.45, 1.05), (3, 3)])
def test_intervals_of_few_clusters_hold_the_share_as_often(clusters, alike):
    """Five episodes of each query, from queries that nearly always come out alike to such as hardly do."""
    rng, times = np.random.default_rng(11), 1000
    held = 0
    for _ in range(times):
        _, low, high = clustered_share(rng.binomial(5, rng.beta(*alike, size=clusters)), [5] * clusters)
        held += low <= alike[0] / sum(alike) <= high
    assert held / times > 0.925  # of 95% the simulation's own deviation is 0.7%


def test_no_clusters_have_no_share():
    with pytest.raises(ValueError, match="no clusters"):
        clustered_share([], [])


@settings(deadline=None)
@given(st.lists(st.floats(-50, 50).map(lambda x: round(x, 3)), min_size=2, max_size=12))
def test_the_paired_t_test_is_scipys(differences):
    found = paired_t(differences)
    assert found.mean == pytest.approx(np.mean(differences), abs=1e-9)
    if len(set(differences)) == 1:
        assert (found.low, found.high, found.p) == (found.mean, found.mean, None)
        return
    expected = stats.ttest_rel(differences, np.zeros(len(differences)))
    interval = expected.confidence_interval(0.95)
    assert found.p == pytest.approx(expected.pvalue, abs=1e-9)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=1e-7)


def test_one_pair_says_nothing_of_how_pairs_vary():
    with pytest.raises(ValueError, match="fewer than two pairs"):
        paired_t([1.0])


def test_a_summary_of_values():
    assert Summary.over([0.1, 0.1, 0.1]) == Summary(pytest.approx(0.1), 0.0, 3)  # whatever rounding says
    assert Summary.over([4.0]) == Summary(4.0, 0.0, 1)
    assert Summary.over([1.0, 3.0]) == Summary(2.0, pytest.approx(math.sqrt(2)), 2)


def test_of_right_and_wrong_the_bootstrap_draws_a_binomial_number():
    # 10 of 60 right: resampled counts follow Binomial(60, 1/6), whose 2.5% and 97.5% quantiles are 5 and 16
    passed = [1] * 10 + [0] * 50
    change = paired_bootstrap(passed)
    assert [change.mean, change.low, change.high] == pytest.approx([10 / 60, 5 / 60, 16 / 60]) and change.n == 60
    wide, narrow = paired_bootstrap(passed, level=0.99), paired_bootstrap(passed, level=0.5)
    assert wide.low < change.low < narrow.low < narrow.high < change.high < wide.high


def test_signs_that_are_drawn_count_the_ones_found_as_one_way_more():
    # 40 differences alike: none of so few draws gives all signs, so the ways found are 1 of RESAMPLES + 1
    assert paired_permutation([0.25] * 40) == 1 / 10_001
    # 20 up and 20 down sum to 0: every way is as far from 0
    assert paired_permutation([1.0, -1.0] * 20) == 1.0


def test_seeds_are_0_unless_said_otherwise():
    differences = list(np.random.default_rng(6).normal(0.2, 1.0, size=50))
    assert (
        paired_bootstrap(differences) == paired_bootstrap(differences, seed=0) != paired_bootstrap(differences, seed=1)
    )
    p_values = [paired_permutation(differences, seed) for seed in range(4)]
    assert paired_permutation(differences) == p_values[0] and len(set(p_values)) > 1


def test_one_value_on_either_side_is_the_same_turned_round():
    five, one = Summary(40.0, 2.5, 5), Summary(30.0, 0.0, 1)
    there, back = welch(one, five), welch(five, one)
    assert (back.mean, back.low, back.high, back.p) == pytest.approx((-there.mean, -there.high, -there.low, there.p))
    assert back.low < back.mean < back.high


def test_another_level_is_another_quantile():
    differences = [0.1, 0.4, 0.2, 0.7]
    interval = stats.ttest_1samp(differences, 0).confidence_interval(0.8)
    found = paired_t(differences, level=0.8)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    share, low, high = clustered_share([3, 0], [3, 2], level=0.8)  # two clusters: t(1) stands for the normal quantile
    t = stats.t.ppf(0.9, 1)
    for end in (low, high):
        varies = 2 * ((3 - 0.6 * 3) ** 2 + (0 - 0.6 * 2) ** 2) / 5**2  # of the share, over clusters
        trials = min(5, 0.6 * 0.4 / varies * (stats.norm.ppf(0.9) / t) ** 2)
        assert (share - end) ** 2 == pytest.approx(stats.norm.ppf(0.9) ** 2 * end * (1 - end) / trials)
    narrow, wide = proportions(3 / 8, 8, 0.5, 6, level=0.8), proportions(3 / 8, 8, 0.5, 6)
    assert wide.low < narrow.low < narrow.mean == -1 / 8 < narrow.high < wide.high


def test_a_summary_read_from_a_printed_interval_keeps_mean_and_number():
    # of two values a distance d apart the deviation is d / sqrt(2)
    assert Summary.of(42.0, 2 * math.tan(0.95 * math.pi / 2), 2) == Summary(42.0, pytest.approx(2 * math.sqrt(2)), 2)
