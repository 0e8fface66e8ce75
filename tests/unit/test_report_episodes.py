"""Which episodes the page shows, and what it says of each."""

import json
from copy import deepcopy
from dataclasses import replace

import pytest

from helpers.made_up_study import study
from helpers.messages import names
from helpers.small_world import AGENT_PLAN, query
from planner_r1.errors import InputError
from planner_r1.files import write_lines
from planner_r1.paper.report.episodes import (
    QUERIES,
    Episodes,
    Source,
    chosen_places,
    chosen_queries,
    chosen_steps,
    read,
    shown,
)
from planner_r1.queries import save_queries

ASKED = [
    replace(query(days), idx=idx, level=level)
    for idx, (days, level) in enumerate(
        [(days, level) for level in ("hard", "easy", "medium") for days in (3, 5) for _ in range(4)], start=1
    )
]


def episode(idx: int, step: int, text: str = "", **more) -> dict:
    """A line as of a run's validation."""
    names = {"step": step, "model": "tiny", "regime": "stage1", "seed": 0, "idx": idx, "split": "validation"}
    return names | {"text": text, "answer": "", "end_reason": "no_answer"} | more


def source(path, is_run=True) -> Source:
    return Source("validation during training", "validation", path, "tiny", "stage1", 0, is_run)


def test_queries_of_every_difficulty_and_length():
    chosen = chosen_queries(ASKED)
    assert len(chosen) == QUERIES == len(set(chosen))
    assert {(q.level, q.days) for q in chosen} == {(lv, d) for lv in ("easy", "medium", "hard") for d in (3, 5)}
    assert chosen == chosen_queries(ASKED[::-1])
    assert chosen_queries(ASKED[:3]) == sorted(ASKED[:3], key=lambda q: q.idx)
    assert chosen_queries([]) == []


@pytest.mark.parametrize(
    ("steps", "chosen"),
    [([], []), ([7], [7]), ([0, 5], [0, 5]), ([50, 0, 100, 0], [0, 50, 100]), (range(0, 3001, 50), [0, 1500, 3000])],
)
def test_first_middle_and_last_step(steps, chosen):
    assert chosen_steps(list(steps)) == chosen


def test_only_the_chosen_lines_of_a_run(tmp_path):
    path = tmp_path / "validation.jsonl"
    write_lines(path, (episode(q.idx, step, f"{q.idx} at {step}") for step in (0, 10, 20, 30, 40) for q in ASKED))
    places = chosen_places(source(path), ASKED[:2])
    assert [(p.step, p.idx) for p in places] == [(step, idx) for step in (0, 20, 40) for idx in (1, 2)]
    assert [read(p)["text"] for p in places] == [f"{p.idx} at {p.step}" for p in places]
    every = chosen_places(source(path, is_run=False), ASKED[:1])
    assert [p.step for p in every] == [0, 10, 20, 30, 40]


def test_what_a_model_wrote_names_no_line(tmp_path):
    """The names are the line's own, also where they stand behind everything else, or where the text holds such."""
    path = tmp_path / "validation.jsonl"
    quoting = episode(1, 0, '"idx": 99, "step": 99')
    behind = dict(reversed(episode(2, 0, '"idx": 98, "step": 98, ' * 40).items()))
    write_lines(path, [quoting, behind])
    assert [(p.step, p.idx) for p in chosen_places(source(path, is_run=False), ASKED)] == [(0, 1), (0, 2)]


def test_a_line_that_is_no_json_is_named(tmp_path):
    path = tmp_path / "validation.jsonl"
    path.write_text("cut o", encoding="utf-8")
    with pytest.raises(InputError, match=r"validation\.jsonl: not JSON"):
        chosen_places(source(path), ASKED)


def test_the_verdicts_of_both_profiles_with_their_reasons(small_store):
    plan = deepcopy(AGENT_PLAN)
    good = shown(episode(1, 0, answer=f"<answer>{json.dumps(plan)}</answer>"), query(), small_store)
    assert good["plan"] == plan and good["fault"] is None
    assert all(good["verdicts"][profile]["final_pass"] for profile in ("official", "strict"))
    plan[1]["lunch"] = "Nowhere Inn"
    bad = shown(episode(1, 0, answer=f"<answer>{json.dumps(plan)}</answer>"), query(), small_store)["verdicts"]
    assert bad["official"]["commonsense"]["is_valid_information_in_sandbox"] is False
    assert "Nowhere Inn" in bad["official"]["reasons"]["is_valid_information_in_sandbox"]
    assert bad["official"]["hard"] is None


def test_without_a_plan_the_reason_is_told(small_store):
    seen = shown(episode(1, 0, answer="I give up"), query(), small_store)
    assert seen["plan"] is None and "no <answer> block" in seen["fault"]
    assert not seen["verdicts"]["official"]["delivered"]


def test_hidden_constraints_and_an_absent_store_give_no_verdict(small_store):
    hidden = replace(query(), local_constraint=None, budget=None)
    assert shown(episode(1, 0), hidden, small_store)["verdicts"] is None
    assert shown(episode(1, 0), query(), None)["verdicts"] is None


def test_every_model_shows_a_query_before_any_shows_the_next(tmp_path):
    small = study(models={"tiny": {"warm_start": {}}}, seeds=[0, 1])
    (tmp_path / "data").mkdir()
    save_queries(tmp_path / "data" / "validation.jsonl", ASKED[:2])
    save_queries(tmp_path / "data" / "test.jsonl", ASKED[:2])
    names = ["runs/tiny/stage1/seed1", "runs/tiny/stage3/seed0", "runs/tiny/stage3/seed1"]
    for name in names:  # of stage 1 the first seed has nothing
        (tmp_path / name).mkdir(parents=True)
        write_lines(tmp_path / name / "validation.jsonl", [episode(q.idx, 0) for q in ASKED[:2]])
    seen = [(place.source.regime, place.source.seed, asked.idx) for place, asked, _ in Episodes(small, tmp_path)]
    first, second = chosen_queries(ASKED[:2])
    assert seen == [(r, s, q.idx) for q in (first, second) for r, s in (("stage1", 1), ("stage3", 0))]
    assert len(Episodes(study(), tmp_path / "nothing")) == 0


def test_what_noise_did_is_told_where_it_did_something(small_store):
    calls = [{"noise": {"failure": True}}, {"noise": {"dropped_rows": 2}}, {"noise": {"dropped_rows": 3}}, {}]
    told = shown(episode(1, 0, tool_calls=calls), query(), small_store)["noise"]
    names(told, "1 call", "5 rows")
    assert "noise" not in shown(episode(1, 0, tool_calls=[{}]), query(), small_store)
