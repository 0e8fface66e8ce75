"""Turns and tokens of an episode: the table of hand-made validations, and the curves over steps."""

import json
import math

import numpy as np
import pytest

from helpers.made_up_study import study
from helpers.made_up_validations import episode, rows_of, texts, write
from helpers.messages import any_names, names, refused
from planner_r1.paper.artefacts import artefact
from planner_r1.paper.figures import lengths_over_steps, style, success_by_length
from planner_r1.paper.make import draft
from planner_r1.paper.results import validations_file
from planner_r1.paper.tables import lengths

ONE = {"tiny": {"warm_start": {}}}
SEVEN = {
    name: [{"weights": "stage1", "steps": 40}]
    for name in ("grpo", "dr_grpo", "rloo", "reinforce_plus_plus_baseline", "gspo", "dapo", "planpo")
}
T1 = math.tan(0.475 * math.pi)  # Student's t at 97.5% of one degree of freedom


def validated(step, *episodes) -> list[dict]:
    """Of (turns, tokens, passed)."""
    return [
        episode(step, idx, turns=turns, tokens=tokens, passed=passed)
        for idx, (turns, tokens, passed) in enumerate(episodes, start=1)
    ]


@pytest.fixture
def made(tmp_path):
    """A regime of two seeds, validated at steps 0 and 40."""
    made = study(models=ONE, seeds=[0, 1], regimes={"r": [{"weights": "stage1", "steps": 40}]})
    first, second = made.runs
    start, end = validated(0, (2, 100, False), (4, 200, True)), validated(40, (3, 90, True), (3, 150, True))
    write(tmp_path, first, start + end)
    start, end = validated(0, (2, 100, False), (2, 200, False)), validated(40, (1, 50, False), (3, 110, True))
    write(tmp_path, second, end + start)  # their order tells nothing
    return made


def numbers(row, key) -> tuple[float | None, float | None]:
    return tuple(float(row[name]) if row[name] else None for name in (key, f"{key}_ci"))


def test_the_table_of_hand_made_episodes(made, tmp_path):
    first, last, change = rows_of(lengths, made, tmp_path)
    assert [(row["at"], row["step"], row["n"]) for row in (first, last, change)] == [
        *(("first", "0", "2"), ("last", "40", "2"), ("change", "", "2")),
    ]
    # of two values a and b the half-width is T1 |a - b| / 2
    for row, key, values in (
        *((first, "turns", (3, 2)), (last, "turns", (3, 2)), (change, "turns", (0, 0))),
        *((first, "tokens", (150, 150)), (last, "tokens", (120, 80)), (change, "tokens", (-30, -70))),
        *((first, "success_tokens", (200,)), (last, "success_tokens", (120, 110)), (change, "success_tokens", (-80,))),
        *((first, "failure_tokens", (100, 150)), (last, "failure_tokens", (50,)), (change, "failure_tokens", (-100,))),
        *((first, "turn_tokens", (50, 75)), (last, "turn_tokens", (40, 40)), (change, "turn_tokens", (-10, -35))),
        *((first, "final_pass", (50, 0)), (last, "final_pass", (100, 50)), (change, "final_pass", (50, 50))),
    ):
        half_width = T1 * abs(values[0] - values[1]) / 2 if len(values) == 2 else None
        assert numbers(row, key) == (
            pytest.approx(sum(values) / len(values)),
            half_width if half_width is None else pytest.approx(half_width, abs=1e-4),
        ), (row["at"], key)
    names(first["missing"], "seed 1", "success")
    names(last["missing"], "seed 0", "failure")
    names(change["missing"], "seed 1", "success", "seed 0", "failure")
    used = {
        row["at"]: (row["success_tokens_n"], row["failure_tokens_n"], row["turns_n"]) for row in (first, last, change)
    }
    assert used == {"first": ("1", "2", "2"), "last": ("2", "1", "2"), "change": ("1", "1", "2")}


@pytest.mark.parametrize("longer", [0, 1])
def test_the_last_validation_is_the_last_that_all_seeds_have(made, tmp_path, longer):
    """Whichever seed runs on to step 60: both are read at step 40, and which one ends there is said."""
    rows = [json.loads(line) for line in (tmp_path / validations_file(made.runs[longer])).read_text().splitlines()]
    write(tmp_path, made.runs[longer], rows + validated(60, (9, 900, False)))
    first, last, change = rows_of(lengths, made, tmp_path)
    assert (first["n"], last["n"], change["n"], last["step"]) == ("2", "2", "2", "40")
    assert numbers(last, "tokens")[0] == 100
    names(last["missing"], "seed 0", "failure", "step 40", f"where seed {1 - longer}")
    [*_, row] = rows_of(success_by_length, made, tmp_path)
    assert (row["step"], row["seeds"]) == ("40", "0 1")
    said = texts(success_by_length.draw(rows_of(success_by_length, made, tmp_path), made))
    any_names(said, "last validation", "step 40")
    assert "missing" not in said


def test_a_seed_that_never_trained_leaves_the_first_validation_alone(made, tmp_path):
    write(tmp_path, made.runs[1], validated(0, (2, 100, False)))
    [row] = rows_of(lengths, made, tmp_path)
    assert (row["at"], row["step"], row["n"]) == ("first", "0", "2")
    names(row["missing"], "seed 1", "success", "step 0", "where seed 1")


def test_one_validation_is_one_row_and_none_says_so(made, tmp_path):
    for run in made.runs:
        write(tmp_path, run, validated(0, (2, 100, False)))
    [row] = rows_of(lengths, made, tmp_path)
    assert (row["at"], row["n"], row["turns"]) == ("first", "2", "2.0")
    (tmp_path / "nothing").mkdir()
    [row] = rows_of(lengths, made, tmp_path / "nothing")
    assert (row["at"], row["step"], row["n"], row["turns"]) == ("first", "", "0", "")
    assert row["missing"] == "seed 0, 1 not validated"


def test_episodes_without_a_turn_have_no_tokens_a_turn(made, tmp_path):
    for run in made.runs:
        write(tmp_path, run, [row | {"turns": 0} for row in validated(0, (1, 0, False))])
    [row] = rows_of(lengths, made, tmp_path)
    assert (row["turns"], row["turn_tokens"]) == ("0.0", "")


def test_changes_have_their_sign_on_paper(made, tmp_path):
    rows = rows_of(lengths, made, tmp_path)
    shown = lengths.markdown(rows, "Title")
    assert "| tiny | r | change |  | 2 | +0.00 ± 0.00 | -50.0 ± 254.1 | -80.0 (n = 1) |" in shown
    any_names(shown, "- tiny, r, first", "seed 1", "success")
    assert r"-50.0 $\pm$ 254.1" in lengths.latex(rows, "Title")


def test_validations_without_tokens_are_named(made, tmp_path):
    path = tmp_path / validations_file(made.runs[1])
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    parts = dict.fromkeys(("schema", "cs_micro", "hard_micro", "cs_macro", "hard_macro", "pass"), 0.0)
    for run in made.runs:
        write(tmp_path, run, [row | {"sub_rewards": parts} for row in rows])
    path.write_text("".join(json.dumps(row | {"sub_rewards": parts, "tokens": {}}) + "\n" for row in rows))
    for name in ("lengths", "lengths_over_steps", "success_by_length"):
        with refused("seed1/scores.jsonl", "line 1", "'tokens.generated'", "missing"):
            draft(artefact(name), made, tmp_path, tmp_path / "out")


def test_curves_of_turns_and_tokens(made, tmp_path):
    rows = rows_of(lengths_over_steps, made, tmp_path)
    assert [(row["step"], row["n"], row["seeds"]) for row in rows] == [("0", "2", "0 1"), ("40", "2", "0 1")]
    assert numbers(rows[0], "turns") == (2.5, pytest.approx(T1 / 2, abs=1e-4))
    assert numbers(rows[1], "tokens") == (100, pytest.approx(20 * T1, abs=1e-4))
    figure = lengths_over_steps.draw(rows, made)
    turns, tokens = figure.axes
    assert turns.lines[0].get_ydata() == pytest.approx([2.5, 2.5]) and tokens.lines[0].get_ydata()[0] == 150
    low, high = tokens.collections[0].get_paths()[0].get_extents().intervaly
    assert (low, high) == (0, pytest.approx(100 + 20 * T1, abs=1e-3))  # lengths have no end at 100, but one at 0


def test_seven_regimes_are_told_apart_and_text_lies_on_the_page(tmp_path):
    made = study(regimes=SEVEN)
    rng = np.random.default_rng(0)
    for run in made.runs[1:]:
        drawn = [(rng.integers(3, 9), int(rng.integers(100, 900)), bool(rng.integers(2))) for _ in range(8)]
        write(tmp_path, run, [row for step in (0, 20, 40) for row in validated(step, *map(_plain, drawn))])
    figure = lengths_over_steps.draw(rows_of(lengths_over_steps, made, tmp_path), made)
    said = texts(figure)
    any_names(said, "missing", "tiny/grpo", "seed 0")
    assert "2 to 3 seeds" in said and "Written tokens" in said
    curves = [line for line in figure.axes[0].lines if line.get_label() in SEVEN]
    assert len(curves) == len({(line.get_color(), line.get_marker()) for line in curves}) == 7
    # no bands, but intervals beside the ends
    assert "right" in said and len(figure.axes[0].containers) == 7
    assert all(bar[0].get_xdata()[0] > 40 for bar in figure.axes[0].containers)
    assert not any(patch.get_alpha() == style.BAND for axis in figure.axes for patch in axis.collections)
    legend = figure.legends[0].get_window_extent()
    assert figure.get_figwidth() <= style.PAGE and legend.x0 >= 0 and legend.x1 <= figure.bbox.x1
    assert not any(legend.overlaps(axis.get_tightbbox()) for axis in figure.axes)


def _plain(drawn) -> tuple[int, int, bool]:
    turns, tokens, passed = drawn
    return int(turns), tokens, passed


def test_nothing_is_drawn_too():
    assert "no data" in texts(lengths_over_steps.draw([], study()))
