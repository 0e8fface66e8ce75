"""Success given length: bins hold every episode once and are common to the regimes, shares have their intervals."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, t

from helpers.made_up_study import study
from helpers.made_up_validations import episode, rows_of, texts, write
from helpers.messages import any_names
from planner_r1.paper.figures import style, success_by_length
from planner_r1.paper.figures.success_by_length import BINS, RARE, token_bins, turn_bins

ONE = {"tiny": {"warm_start": {}}}
counts = st.lists(st.integers(0, 15), min_size=1, max_size=200)


def holders(value: int, bins) -> int:
    return sum(low <= value <= high for low, high in bins)


@given(counts)
def test_every_number_of_turns_lies_in_one_bin(turns):
    bins = turn_bins(turns)
    assert all(holders(n, bins) == 1 for n in turns)
    assert all(a[1] < b[0] for a, b in pairwise(bins))
    held = Counter(next(i for i, (low, high) in enumerate(bins) if low <= n <= high) for n in turns)
    pooled = [i for i, (low, high) in enumerate(bins) if low < high]
    assert set(pooled) <= {0, len(bins) - 1}  # the ends alone
    assert all(0 < held[i] < RARE * len(turns) for i in pooled)
    assert all(held[i] for i in range(len(bins)))


@given(st.lists(st.integers(0, 2000), min_size=1, max_size=300))
def test_every_number_of_tokens_lies_in_one_bin(tokens):
    bins = token_bins(tokens)
    assert 1 <= len(bins) <= BINS and all(holders(n, bins) == 1 for n in tokens)
    assert (bins[0][0], bins[-1][1]) == (min(tokens), max(tokens))
    assert all(any(low <= n <= high for n in tokens) for low, high in bins)


@given(st.integers(BINS, 300), st.randoms(use_true_random=False))
def test_bins_of_different_lengths_are_as_large(n, rng):
    tokens = rng.sample(range(10_000), n)
    sizes = [sum(low <= value <= high for value in tokens) for low, high in token_bins(tokens)]
    assert len(sizes) == BINS and max(sizes) - min(sizes) <= 1


def test_bins_of_turns_by_hand():
    assert turn_bins([5] * 50 + [6] * 50) == [(5, 5), (6, 6)]
    assert turn_bins([1, 2, 2] + [4] * 48 + [6] * 43 + [7] * 2 + [9, 12]) == [(1, 2), (4, 4), (6, 6), (7, 12)]
    assert turn_bins([3] + [4] * 99) == [(3, 3), (4, 4)]
    assert turn_bins([4] * 95 + [8] * 5) == [(4, 4), (8, 8)]  # 5% is not rare
    assert turn_bins([7]) == [(7, 7)]
    assert token_bins([10] * 30) == [(10, 10)]


@settings(max_examples=15)
@given(st.data())
def test_counts_add_up_and_bins_are_those_of_the_model(tmp_path_factory, data):
    folder, made = tmp_path_factory.mktemp("counts"), study(seeds=[0, 1])
    some = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 500), st.booleans()), min_size=1, max_size=12)
    total = Counter()
    for run in made.runs:
        shown = data.draw(some)
        total[run.model, run.regime] += len(shown)
        rows = [episode(40, i, turns=t, tokens=n, passed=p) for i, (t, n, p) in enumerate(shown)]
        write(folder, run, [episode(0, 1, turns=1, passed=True), *rows])  # the first validation is not shown
    rows = rows_of(success_by_length, made, folder)
    for length in ("turns", "tokens"):
        bins = {}
        for group, n in total.items():
            own = [row for row in rows if (row["model"], row["regime"], row["length"]) == (*group, length)]
            assert sum(int(row["episodes"]) for row in own) == n and {row["step"] for row in own} == {"40"}
            bins.setdefault(group[0], set()).add(tuple((row["low"], row["high"]) for row in own))
        assert all(len(of_model) == 1 for of_model in bins.values())


def shown(tmp_path):
    """Two regimes of two seeds, each with the same 40 queries: the first passes within 4 turns, the second beyond."""
    regimes = {name: [{"weights": "stage1", "steps": 40}] for name in ("short", "long")}
    made = study(models=ONE, seeds=[0, 1], regimes=regimes)
    for run in made.runs:
        turns = [4] * 20 + [6] * 20
        able = {4: run.regime == "short", 6: run.regime == "long"}
        rows = [episode(40, i, turns=t, tokens=10 * t, passed=able[t] and i % 4 > 0) for i, t in enumerate(turns)]
        write(tmp_path, run, rows)
    return made, rows_of(success_by_length, made, tmp_path)


def test_shares_and_their_intervals_by_hand(tmp_path):
    """Both seeds pass the same 15 of 20 queries: the ends p solve (0.75 - p)^2 = t^2 p (1 - p) / 19, as in Student's
    test of 20 values, with the variance that p would have."""
    _, rows = shown(tmp_path)
    of = {(row["regime"], row["length"], row["low"]): row for row in rows}
    row = of["short", "turns", "4"]
    t2 = t.ppf(0.975, 19) ** 2 / 19
    ends = np.roots([1 + t2, -(1.5 + t2), 0.75**2])
    assert (row["episodes"], row["queries"], row["seeds"], float(row["success"])) == ("40", "20", "0 1", 75)
    assert [float(row["success_low"]), float(row["success_high"])] == pytest.approx(
        [100 * min(ends), 100 * max(ends)], abs=1e-3
    )
    none = binomtest(0, 20).proportion_ci(method="wilson")
    assert float(of["long", "turns", "4"]["success"]) == 0
    assert float(of["long", "turns", "4"]["success_high"]) == pytest.approx(100 * none.high, abs=1e-3)
    assert [row["low"] for row in rows if (row["regime"], row["length"]) == ("long", "tokens")] == ["40", "60"]


def test_a_bin_of_few_queries_has_a_share_without_interval(tmp_path):
    """Of eight queries there is one, of seven, though of as many episodes as one likes, there is none."""
    made = study(models=ONE, seeds=[0, 1, 2, 3], regimes={"r": [{"weights": "stage1", "steps": 40}]})
    turns = [4] * 8 + [6] * 7
    for run in made.runs:
        write(tmp_path, run, [episode(40, i, turns=n, tokens=n, passed=i % 2 > 0) for i, n in enumerate(turns)])
    rows = {(row["length"], row["low"]): row for row in rows_of(success_by_length, made, tmp_path)}
    eight, seven = rows["turns", "4"], rows["turns", "6"]
    assert (eight["queries"], seven["queries"], float(eight["success"])) == ("8", "7", 50)
    assert float(eight["success_low"]) < 50 < float(eight["success_high"])
    assert (seven["success_low"], seven["success_high"]) == ("", "") and 0 < float(seven["success"]) < 100
    figure = success_by_length.draw([*rows.values()], made)
    said = texts(figure)
    any_names(said, "8 queries")
    [container] = figure.axes[0].containers
    assert container.lines[0].get_linestyle() == "None" and container.lines[0].get_ydata()[0] == 50
    [bars] = container.lines[2]
    drawn = [path.vertices for path in bars.get_paths() if np.isfinite(path.vertices).all()]
    assert len(drawn) == 1 and drawn[0][:, 1] == pytest.approx(
        [float(eight[f"success_{end}"]) for end in ("low", "high")]
    )


def test_a_length_that_a_regime_never_has_is_not_drawn_for_it(tmp_path):
    made, rows = shown(tmp_path)
    write(tmp_path, made.runs[0], [episode(40, idx, turns=4, tokens=40, passed=True) for idx in range(40)])
    write(tmp_path, made.runs[1], [])
    rows = rows_of(success_by_length, made, tmp_path)
    [empty] = [row for row in rows if (row["regime"], row["length"], row["low"]) == ("short", "turns", "6")]
    assert (empty["episodes"], empty["success"], empty["success_low"]) == ("0", "", "")
    figure = success_by_length.draw(rows, made)
    first, second = (container.lines[0].get_ydata() for container in figure.axes[0].containers)
    assert list(first) == [100] and list(second) == pytest.approx([0, 75])
    assert "missing: tiny/short, seed 1" in texts(figure) and "1 to 2 seeds together" in texts(figure)


def test_regimes_stand_beside_each_other_and_text_lies_on_the_page(tmp_path):
    regimes = {f"regime_with_a_long_name_{i}": [{"weights": "stage1", "steps": 40}] for i in range(7)}
    made, rng = study(regimes=regimes), np.random.default_rng(1)
    for run in made.runs:
        some = [(int(rng.normal(6, 1.5)), int(rng.integers(9000, 30_000)), rng.random() < 0.5) for _ in range(60)]
        write(tmp_path, run, [episode(40, i, turns=t, tokens=n, passed=p) for i, (t, n, p) in enumerate(some)])
    figure = success_by_length.draw(rows_of(success_by_length, made, tmp_path), made)
    figure.canvas.draw()
    places = [container.lines[0].get_xdata() for container in figure.axes[0].containers]
    assert len({round(x, 6) for xs in places for x in xs}) == sum(map(len, places)) > 40
    legend = figure.legends[0].get_window_extent()
    assert figure.get_figwidth() <= style.PAGE and legend.x0 >= 0 and legend.x1 <= figure.bbox.x1
    assert not any(legend.overlaps(axis.get_tightbbox()) for axis in figure.axes)
    for axis in figure.axes:
        labels = [label.get_window_extent() for label in axis.get_xticklabels() if label.get_text()]
        assert not any(a.overlaps(b) for a, b in pairwise(labels))


def test_nothing_is_drawn_too():
    assert "no data" in texts(success_by_length.draw([], study()))
