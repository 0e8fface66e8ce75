"""The made-up results have the shapes of the real ones, which the library writes here from a few episodes."""

import json
from pathlib import Path

import pytest

from helpers import made_up_results as made_up
from planner_r1.agent.episodes import BY_PROFILE, SUB_REWARDS, episode_line
from planner_r1.agent.oracle import plan_for
from planner_r1.agent.query_generator import QuerySpec, draw_queries
from planner_r1.evaluator.failures import FAILURES
from planner_r1.evaluator.verdict import Verdict
from planner_r1.files import read_lines, write_lines
from planner_r1.paper.flops import Shape
from planner_r1.paper.results import KINDS, Results
from planner_r1.plan import parse_answer
from planner_r1.queries import load_queries
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store
from planner_r1.sandbox.synthetic import WorldSpec, write_world
from planner_r1.scoring import score, score_validations
from planner_r1.study import Study

CONFIG = Path(__file__).resolve().parents[2] / "config"
STUDY = Study.load(str(CONFIG / "laptop.yaml"))
RUN = STUDY.run("tiny", "curriculum", 1)
TEXTS = ("reasons", "holes", "end_reasons")  # objects whose keys tell what happened


def shape(value):
    """Keys all the way down."""
    if isinstance(value, dict):
        return {key: None if key in TEXTS else shape(inner) for key, inner in value.items()}
    return None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Results of the laptop's study, where little of it is written."""
    return made_up.write_results(STUDY, tmp_path_factory.mktemp("made"), queries=12, test_queries=20)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    place = tmp_path_factory.mktemp("world")
    write_world(WorldSpec(seed=3), place / "files")
    build(place / "files", place / "store")
    return Store.open(place / "store")


@pytest.fixture(scope="module")
def played(store):
    """Queries with an episode each: plans that pass, one that does not, none at all."""
    queries = draw_queries(store, QuerySpec(days=(3,), n_days=14), 4, seed=1)
    plans = [plan_for(query, store).plan for query in queries]
    plans[1] = [day | {"lunch": "Nowhere"} for day in plans[1]]
    answers = [f"<answer>{json.dumps(plan)}</answer>" for plan in plans[:3]] + ["I do not know."]
    record = {"split": "test", "tool_calls": [], "end_reason": "answer", "turns": 3}
    scores = dict.fromkeys((*SUB_REWARDS, *BY_PROFILE, "score"), 0.0)
    tokens = {"prompt": 1, "response": 2, "generated": 3}
    return queries, [
        {"step": 20} | episode_line(record | {"idx": q.idx, "answer": a, "tokens": tokens}, "...", scores)
        for q, a in zip(queries, answers, strict=True)
    ]


def test_every_kind_of_file_is_there(folder):
    for kind, files in KINDS.items():
        assert all((folder / file).is_file() for file in files(STUDY)), kind


def test_what_is_to_be_absent_is(tmp_path):
    made_up.write_results(STUDY, tmp_path, queries=3, test_queries=3, absent=(RUN.name, "metrics.jsonl"))
    files = [str(file) for file in tmp_path.rglob("*") if file.is_file()]
    assert files and not [file for file in files if RUN.name in file or "metrics.jsonl" in file]


def test_the_same_files_each_time(tmp_path):
    for name in ("one", "two"):
        made_up.write_results(STUDY, tmp_path / name, queries=3, test_queries=3, absent=("stage", "ood"))
    for file in (tmp_path / "one").rglob("*.json*"):
        assert file.read_bytes() == (tmp_path / "two" / file.relative_to(tmp_path / "one")).read_bytes()


@pytest.mark.parametrize("is_hidden", [False, True])
def test_evaluations_are_shaped_as_scored_ones(folder, played, store, is_hidden):
    queries, episodes = played
    if is_hidden:
        queries = [type(q)(q.idx, q.org, q.dest, q.days, q.date, q.query, q.level) for q in queries]
    rows, metrics = score(episodes, queries, store)
    run = made_up.Checkpoint(RUN.model, RUN.regime, RUN.seed, RUN.steps)
    made = [made_up.play(run, 0.0, query, 0) for query in queries]
    assert shape(made_up.evaluation_metrics(made, is_hidden)) == shape(metrics)
    # a hard part is None as a whole where it was not reached
    shapes = {json.dumps(shape(row), sort_keys=True) for row in rows}
    found = {json.dumps(shape(made_up.score_row(episode, is_hidden)), sort_keys=True) for episode in made}
    assert found <= shapes and found
    line = made_up.episode_line(made[0], "test", 500, is_hidden)
    assert list(line) == [key for key in episodes[0] if key != "step"]


def test_plans_fit_the_schema(folder):
    lines = read_lines(folder / f"evaluations/{RUN.name}/step{RUN.steps}/test/trajectories.jsonl")
    plans = [line for line in lines if line["plan"] is not None]
    assert plans and all(parse_answer(line["answer"]).plan == line["plan"] for line in plans)


def test_validations_are_shaped_as_scored_ones(folder, played, store, tmp_path):
    queries, episodes = played
    write_lines(tmp_path / "validation.jsonl", episodes)
    real = next(score_validations(tmp_path / "validation.jsonl", queries, store))
    rows = Results(STUDY, folder, ("validations",)).validations(RUN)
    assert {row["step"] for row in rows} == {0, 20, 40, 60, 80} and len(rows) == 5 * 12
    for row in rows:
        assert list(row) == list(real)
        assert row["passed"] == (row["sub_rewards"]["pass"] == 1.0)
        assert row["failures"] == [name for name in FAILURES if name in row["failures"]]
        assert all(
            isinstance(turn, int) and isinstance(name, str) and isinstance(error, bool)
            for turn, name, error in row["tools"]
        )


def test_metrics_have_the_keys_that_verl_logged(folder):
    with open(made_up.REAL_METRICS, encoding="utf-8") as file:
        before, step, validated = (set(json.loads(line)["data"]) for line in file)
    lines = list(read_lines(folder / f"runs/{RUN.name}/metrics.jsonl"))
    assert [line["step"] for line in lines] == list(range(81))
    assert set(lines[0]) == before | {"step"}
    ours = {"step", "training/queries_asked"}  # the trainer adds the second, and did not when those were logged
    assert set(lines[1]) == step - {"timing_s/save_checkpoint"} | ours
    assert set(lines[20]) == validated | ours


def test_the_shape_of_a_model_can_be_read(folder):
    assert Shape.from_folder(folder / "models/tiny") == made_up.shape_of(STUDY, "tiny")


def test_queries_can_be_read_and_are_of_every_kind(folder):
    queries = load_queries(folder / "data/test.jsonl")
    assert {query.level for query in queries} == {"easy", "medium", "hard"}
    assert not any(query.hidden for query in queries)
    paper = Study.load(str(CONFIG / "paper.yaml"))
    assert all(query.hidden for query in made_up.made_up_queries(paper, "test", 9))
    assert {query.days for query in made_up.made_up_queries(paper, "validation", 9)} == {3, 5, 7}


def test_curves_rise_and_a_small_model_collapses_under_sparse_reward(folder):
    results = Results(STUDY, folder, ("validations",))

    def passes(model, regime):
        rows = results.validations(STUDY.run(model, regime, 0))
        last = max(row["step"] for row in rows)
        return [sum(row["passed"] for row in rows if row["step"] == step) for step in (0, last)]

    start, end = passes("small", "curriculum")
    assert end > start
    assert passes("tiny", "stage3")[1] == 0


def test_a_verdict_that_passes_has_no_reason():
    query = made_up.made_up_queries(STUDY, "test", 3)[0]
    run = made_up.Checkpoint(RUN.model, RUN.regime, RUN.seed, RUN.steps)
    verdict = made_up.play(run, 50.0, query, 0).verdict
    assert isinstance(verdict, Verdict) and verdict.final_pass and verdict.reason is None and not verdict.reasons
    assert made_up.play(run, -50.0, query, 0).verdict.reason == "no plan"
