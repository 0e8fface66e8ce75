"""The figures of tool calls: what is counted of an episode, what is drawn of it, and what is said where nothing is."""

import itertools
from collections import Counter, defaultdict

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from helpers.made_up_study import study
from helpers.made_up_validations import episode, rows_of, texts, write
from helpers.messages import any_names, names
from planner_r1.agent.episodes import END_REASONS
from planner_r1.paper.figures import timelines, tool_panels, tool_sequence, transitions
from planner_r1.paper.tool_use import ANSWER, CALLS, ENDED, FAILED, TOOLS, UNKNOWN, by_turn, call, end, tool
from planner_r1.paper.tool_use import transitions as count_transitions
from planner_r1.sandbox.tools import FUNCTIONS

FLIGHTS, HOTELS, CALCULATOR = "search_flights", "search_accommodations", "calculator"
DRAWN = (transitions, tool_sequence, timelines)


def one_model():
    return study(models={"tiny": {"warm_start": {}}}, seeds=[0])


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def panel_titles(figure):
    return [axis.get_title(loc="left") for axis in figure.axes if axis.get_title(loc="left")]


# ---- what is counted ----------------------------------------------------------------------------------------------


def test_every_tool_has_a_short_name_and_a_look_in_the_order_of_the_sandbox():
    assert tuple(TOOLS) == tuple(FUNCTIONS)
    assert set(tool_panels.LOOKS) == {*CALLS, ANSWER, ENDED, UNKNOWN}


def test_calls_and_ends_are_told_apart():
    assert [call(FLIGHTS, False), call(FLIGHTS, True), call("book", True), call("book", False), call(None, True)] == [
        "flights",
        *[FAILED] * 4,
    ]
    assert [tool(FLIGHTS), tool("book"), tool(None)] == ["flights", UNKNOWN, UNKNOWN]
    assert {reason: end({"end_reason": reason}) for reason in END_REASONS} == dict.fromkeys(END_REASONS, ENDED) | {
        "answer": ANSWER
    }


def test_transitions_from_start_to_end():
    episodes = [
        episode(tools=[FLIGHTS, FLIGHTS, "book", HOTELS]),
        episode(tools=[FLIGHTS, HOTELS + "!"], end_reason="turn_limit"),
        episode(end_reason="no_answer"),
    ]
    assert count_transitions(episodes) == Counter(
        {
            ("start", "flights"): 2,
            ("flights", "flights"): 1,
            ("flights", FAILED): 2,
            (FAILED, "hotels"): 1,
            ("hotels", ANSWER): 1,
            (FAILED, ENDED): 1,
            ("start", ENDED): 1,
        }
    )


def test_what_is_done_in_each_turn():
    episodes = [
        episode(tools=[FLIGHTS, HOTELS]),  # answers in turn 3
        episode(tools=[[1, FLIGHTS, False], [1, HOTELS, False], [1, HOTELS, True]], turns=2, end_reason="no_answer"),
        episode(tools=[[1, FLIGHTS, False]], turns=2, end_reason="turn_limit"),  # its last turn's calls had no reply
        episode(turns=1),
    ]
    shares = by_turn(episodes)
    assert shares == {
        1: pytest.approx({"flights": 7 / 12, "hotels": 1 / 12, FAILED: 1 / 12, ANSWER: 1 / 4}),
        2: pytest.approx({"hotels": 1 / 4, ENDED: 1 / 2, ANSWER: 1 / 4}),
        3: pytest.approx({ENDED: 1 / 2, ANSWER: 1 / 2}),
    }
    assert by_turn([]) == {}


# ---- numbers ------------------------------------------------------------------------------------------------------


def test_transitions_pool_the_seeds_at_first_early_and_last_step(tmp_path):
    made = study()
    for seed in (0, 2):
        episodes = [episode(step, idx, tools=[FLIGHTS] * (1 + seed)) for step in (0, 5, 20, 40) for idx in (1, 2)]
        write(tmp_path, made.run("tiny", "stage1", seed), episodes)
    write(tmp_path, made.run("tiny", "stage3", 0), [episode(10)])
    rows = rows_of(transitions, made, tmp_path)
    assert list(dict.fromkeys((r["regime"], r["step"]) for r in rows)) == [
        ("stage1", "0"),
        ("stage1", "5"),
        ("stage1", "40"),
        ("stage3", "10"),
    ]
    first = [r for r in rows if r["regime"] == "stage1" and r["step"] == "0"]
    assert {(r["seeds"], r["episodes"]) for r in first} == {("0 2", "4")}
    assert [(r["from"], r["to"], r["count"], r["share"]) for r in first] == [
        ("start", "flights", "4", "100.0"),
        ("flights", "flights", "4", "50.0"),
        ("flights", ANSWER, "4", "50.0"),
    ]


def test_rows_of_a_matrix_and_turns_of_a_sequence_sum_to_100(tmp_path):
    made, names = one_model(), [*FUNCTIONS, "book"]
    episodes = [
        episode(step, idx, tools=[names[(idx * k + step) % 8] for k in range(idx % 5)], end_reason=END_REASONS[idx % 3])
        for step in (0, 5, 40)
        for idx in range(30)
    ]
    write(tmp_path, made.run("tiny", "stage1", 0), episodes)
    for module, keys in ((transitions, ("step", "from")), (tool_sequence, ("step", "turn"))):
        sums = defaultdict(float)
        for row in rows_of(module, made, tmp_path):
            sums[tuple(row[key] for key in keys)] += float(row["share"])
        assert len(sums) > 10 and all(total == pytest.approx(100, abs=1e-3) for total in sums.values())


def test_the_timelines_query_is_the_lowest_that_the_most_models_learnt(tmp_path):
    made = study(seeds=[0, 1])

    def learns(*idxs):
        return [episode(s, i, tools=[FLIGHTS], passed=s > 0 and i in idxs) for s in (0, 5, 40) for i in (1, 2, 3, 4)]

    write(tmp_path, made.run("tiny", "stage1", 1), learns(2, 3, 4))  # seed 0 was not validated
    write(tmp_path, made.run("qwen3-8b", "stage1", 0), learns(3, 4))
    write(tmp_path, made.run("qwen3-8b", "stage1", 1), learns(1))
    write(tmp_path, made.run("qwen3-8b", "stage3", 0), learns(1))  # not the regime that is shown
    rows = rows_of(timelines, made, tmp_path)
    [(idx, rule)] = {(r["idx"], r["rule"]) for r in rows}
    assert idx == "3"
    names(rule, "query 3", "each model")
    assert {(r["model"], r["regime"], r["seed"]) for r in rows} == {
        ("tiny", "stage1", "1"),
        ("qwen3-8b", "stage1", "0"),
        ("qwen3-8b", "stage3", "0"),
    }
    assert {r["idx"] for r in rows_of(timelines, made, tmp_path, idx=4)} == {"4"}


@pytest.mark.parametrize(
    ("first", "last", "named"),
    [
        ({1: False, 2: False}, {1: False, 2: True}, ["query 2", "model"]),
        ({1: True, 2: True}, {1: True, 2: False}, ["query 1", "no query"]),
        ({2: False}, {1: True}, ["query 1", "no query"]),
    ],
)
def test_what_is_shown_where_no_query_was_learnt(first, last, named):
    lanes = {0: {i: {"passed": p} for i, p in first.items()}, 9: {i: {"passed": p} for i, p in last.items()}}
    names(timelines.choose({"tiny": lanes})[1], *named)
    other = {0: {5: {"passed": True}}}
    if "model" in named:
        names(timelines.choose({"tiny": lanes, "other": other})[1], "query 2", "1 of 2 models")
        names(timelines.choose({"tiny": lanes, "other": lanes})[1], "query 2", "each model")


def test_a_timeline_holds_every_call_and_the_end(tmp_path):
    made = one_model()
    calls = [[1, FLIGHTS, False], [2, "book", True], [2, None, True], [3, CALCULATOR, True]]
    write(tmp_path, made.run("tiny", "stage1", 0), [episode(0, 7, tools=calls, turns=4, end_reason="length")])
    rows = rows_of(timelines, made, tmp_path)
    assert [(r["turn"], r["tool"], r["error"], r["end_reason"], r["passed"]) for r in rows] == [
        ("1", "flights", "0", "", ""),
        ("2", UNKNOWN, "1", "", ""),
        ("2", UNKNOWN, "1", "", ""),
        ("3", "calculator", "1", "", ""),
        ("4", "", "", "length", "0"),
    ]
    [axis] = timelines.draw(rows, made).axes
    boxes = [patch for patch in axis.patches if isinstance(patch, Rectangle)]
    assert [box.get_x() + box.get_width() / 2 for box in boxes] == pytest.approx([1, 1.78, 2.22, 3])
    assert len(axis.get_lines()) == 3  # crosses
    assert "length: failed" in axis.texts[0].get_text()


@pytest.mark.parametrize(("turns", "reason"), [(1, "answer"), (6, "answer"), (15, "turn_limit")])
def test_timelines_fill_their_width_and_end_within_it(tmp_path, turns, reason):
    made = one_model()
    write(
        tmp_path, made.run("tiny", "stage1", 0), [episode(0, tools=[FLIGHTS] * turns, turns=turns, end_reason=reason)]
    )
    figure = timelines.draw(rows_of(timelines, made, tmp_path), made)
    figure.canvas.draw()
    [axis] = figure.axes
    panel, text = axis.get_window_extent(), axis.texts[0].get_window_extent()
    assert panel.x0 + 0.85 * panel.width < text.x1 <= panel.x1


# ---- pictures -----------------------------------------------------------------------------------------------------


def test_panels_are_models_by_steps(tmp_path):
    made = study(seeds=[0])
    for model, steps in (("tiny", (0, 5, 40)), ("qwen3-8b", (0, 40))):
        write(tmp_path, made.run(model, "stage1", 0), [episode(step, tools=[FLIGHTS, "book"]) for step in steps])
    titles = ["tiny, step 0 (base)", "tiny, step 5", "tiny, step 40", "qwen3-8b, step 0 (base)", "qwen3-8b, step 40"]
    for module in (transitions, tool_sequence):
        figure = module.draw(rows_of(module, made, tmp_path), made)
        assert panel_titles(figure) == [*titles, "qwen3-8b"]
        assert texts(figure).count("no data") == 1 and "no tool calls" not in texts(figure)
    figure = timelines.draw(rows_of(timelines, made, tmp_path), made)
    assert panel_titles(figure) == ["tiny, seed 0", "qwen3-8b, seed 0"]
    lanes = [[tick.get_text() for tick in axis.get_yticklabels()] for axis in figure.axes]
    assert lanes == [["step 0 (base)", "step 5", "step 40"], ["step 0 (base)", "step 40"]]


def test_bars_are_stacked_to_the_top(tmp_path):
    made = one_model()
    episodes = [episode(0, i, tools=[FLIGHTS] * (i % 3), end_reason=("answer", "length")[i % 2]) for i in range(12)]
    write(tmp_path, made.run("tiny", "stage1", 0), episodes)
    axis = tool_sequence.draw(rows_of(tool_sequence, made, tmp_path), made).axes[0]
    tops = defaultdict(float)
    for bar in axis.patches:
        turn = round(bar.get_x() + bar.get_width() / 2)
        assert bar.get_y() == pytest.approx(tops[turn], abs=1e-3)
        tops[turn] += bar.get_height()
    assert dict(tops) == pytest.approx({1: 100, 2: 100, 3: 100}, abs=1e-2)


def test_a_collapsed_run_is_drawn_and_said(tmp_path):
    made = one_model()
    episodes = [episode(0, tools=[FLIGHTS]), episode(5, end_reason="length"), episode(40, end_reason="length")]
    write(tmp_path, made.run("tiny", "stage1", 0), episodes)
    for module in (transitions, tool_sequence):
        written = texts(module.draw(rows_of(module, made, tmp_path), made))
        for step in (5, 40):
            any_names(written, "no tool calls", "tiny", f"step {step}")
        assert "step 0," not in written
    assert "length: failed" in texts(timelines.draw(rows_of(timelines, made, tmp_path), made))


def test_no_tool_calls_at_all(tmp_path):
    made = one_model()
    write(tmp_path, made.run("tiny", "stage1", 0), [episode(0, end_reason="no_answer")])
    for module in DRAWN:
        written = texts(module.draw(rows_of(module, made, tmp_path), made))
        assert "no data" not in written and ("no tool calls" in written or module is timelines)


@pytest.mark.parametrize("module", DRAWN)
def test_no_results_are_said(tmp_path, module):
    made = study()
    rows = rows_of(module, made, tmp_path)
    assert rows == []
    written = texts(module.draw(rows, made))
    assert written.count("no data") == 2 and "missing: tiny/stage1" in written and "missing: qwen3-8b" in written


def test_looks_differ_for_colour_blind_readers():
    """By colour (CIE 76 Delta E of 20, as seen with each kind of colour blindness; Machado et al. 2009) or by hatch."""
    seen_with = {
        "all cones": np.eye(3),
        "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    }
    looks = {name: look for name, look in tool_panels.LOOKS.items() if name != UNKNOWN}  # drawn where FAILED is not
    for eye, matrix in seen_with.items():
        for (a, one), (b, other) in itertools.combinations(looks.items(), 2):
            distance = np.linalg.norm(_lab(one["facecolor"], matrix) - _lab(other["facecolor"], matrix))
            assert distance > 20 or one["hatch"] != other["hatch"], (eye, a, b, distance)


def _lab(colour, matrix):
    rgb = np.asarray(to_rgb(colour))
    linear = np.clip(np.asarray(matrix) @ np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4), 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = (
        np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in to_xyz @ linear / np.array([0.9505, 1, 1.089])
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])
