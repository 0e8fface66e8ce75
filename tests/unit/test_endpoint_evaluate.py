"""Evaluating a model behind an endpoint: one episode a query, whatever happens in between."""

import json
import random
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from helpers.messages import names, refused
from helpers.scripted_endpoint import NOTHING, ScriptedEndpoint, error, native, says
from planner_r1.agent.limits import Limits
from planner_r1.agent.oracle import plan_for
from planner_r1.agent.query_generator import QuerySpec, draw_queries
from planner_r1.agent.trajectories import demonstration
from planner_r1.endpoint.client import Endpoint
from planner_r1.endpoint.evaluate import EndpointSpec, evaluate_endpoint
from planner_r1.errors import InputError
from planner_r1.files import read_lines
from planner_r1.queries import save_queries
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store
from planner_r1.sandbox.synthetic import WorldSpec, write_world
from planner_r1.scoring import load_episodes, score

KEY = "sk-very-secret-0123456789"
DEADLINE = 120  # seconds; for a process that hangs, not for one that is slow
N = 6


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A made-up world's store, queries, and what an oracle would answer to each, by the query's text."""
    folder = tmp_path_factory.mktemp("world")
    write_world(WorldSpec(), folder / "world")
    build(folder / "world", folder / "store")
    store = Store.open(folder / "store")
    queries = draw_queries(store, QuerySpec(days=(3,), n_days=14), N, seed=1)
    save_queries(folder / "test.jsonl", queries)
    answers = {}
    for query in queries:
        said = demonstration(query, plan_for(query, store), store, random.Random(0), slip_rate=0.0)
        answers[query.query] = said[-1]["content"]
    return folder, store, queries, answers


@pytest.fixture
def spec(world, tmp_path, monkeypatch):
    """Makes the specification of an evaluation against a server; more keys are the endpoint's."""
    monkeypatch.setenv("TEST_KEY", KEY)
    folder, *_ = world

    def make(server, **keys):
        settings = {"api_key_env": "TEST_KEY", "retries": 0, "concurrency": 2, **keys}
        return EndpointSpec(
            model="big",
            split="test",
            endpoint=Endpoint("models.big.endpoint", server.url, "m", **settings),
            limits=Limits(30, 30, 1, 400, "right", 30_000),
            template="Plan.",
            queries=folder / "test.jsonl",
            store=folder / "store",
            work=tmp_path / "work",
            out=tmp_path / "out" / "trajectories.jsonl",
            costs=tmp_path / "out" / "costs.json",
        )

    return make


def asked(body) -> str:
    """The query that a request is about."""
    return body["messages"][1]["content"]


def oracle(answers, fails=None):
    """A service that looks something up and then answers right; `fails` maps a query to something else."""

    def script(body):
        if fails and asked(body) in fails:
            return fails[asked(body)]
        if len(body["messages"]) == 2:
            return says(None, [native("get_cities", {"state": "Nowhere"})], prompt=100, completion=10)
        return says(answers[asked(body)], prompt=150, completion=20)

    return script


def episodes_asked(server) -> set[str]:
    return {asked(body) for body in server.requests}


def test_every_query_gets_an_episode_that_scores_like_any_other(world, spec):
    _, store, queries, answers = world
    lines = []
    with ScriptedEndpoint(oracle(answers)) as server:
        made = spec(server, price={"input": 1.0, "output": 2.0}, temperature=0)
        evaluate_endpoint(made, lines.append)
    found = load_episodes(made.out)
    assert [e["idx"] for e in found] == [q.idx for q in queries]
    _, metrics = score(found, queries, store)
    assert metrics["rates"]["official"]["final_pass"] == 1.0
    assert metrics["end_reasons"] == {"answer": 1.0}
    assert all(e["sub_rewards"]["pass"] == 1.0 and e["reward"] == 5.0 for e in found)
    place = {"model": "big", "regime": "base", "seed": 0, "step": 0, "split": "test"}
    assert all(e.items() >= place.items() and e["turns"] == 2 for e in found)

    costs = json.loads(made.costs.read_text())
    assert costs["requests"] == 2 * N and costs["completion"] == 30 * N and costs["without_answer"] == 0
    assert costs["cost"] == pytest.approx(N * (250 * 1.0 + 30 * 2.0) / 1e6)
    assert costs["endpoint"]["temperature"] == 0
    names(lines[0], f"{N} queries")
    names(lines[-1], f"{N}/{N} episodes", "0.00 USD", "0 s")


def test_trajectories_have_the_keys_of_the_trainers(world, spec, tmp_path):
    from planner_r1.training.episodes import SUB_REWARDS, read_dump

    with ScriptedEndpoint(oracle(world[3])) as server:
        evaluate_endpoint(made := spec(server), lambda line: None)
    record = {"idx": 1, "split": "test", "scored": True, "end_reason": "answer", "answer": "", "turns": 1}
    record |= {"tool_calls": [], "tokens": {"prompt": 1, "response": 1, "generated": 1}}
    dump = {"input": "q", "output": "a", "score": 0.0, "end_reason": "answer", "episode": json.dumps(record)}
    (tmp_path / "0.jsonl").write_text(json.dumps(dump | dict.fromkeys(SUB_REWARDS, 0.0)) + "\n")
    (theirs,) = read_dump(tmp_path / "0.jsonl")
    ours = load_episodes(made.out)[0]
    assert set(ours) == {"model", "regime", "seed", "step"} | set(theirs)
    assert set(ours["tokens"]) == set(theirs["tokens"])
    assert set(ours["sub_rewards"]) == set(theirs["sub_rewards"])
    assert (ours["pass_strict"], ours["score_official"], ours["score_strict"]) == (1.0, 5.0, 5.0)


def test_the_key_is_in_no_file_and_no_line(world, spec, tmp_path, capfd):
    texts = list(world[3])
    script = oracle(world[3], {texts[0]: error(500, f"your key {KEY}")})
    with ScriptedEndpoint(script) as server, pytest.raises(InputError) as caught:
        evaluate_endpoint(spec(server))
    with ScriptedEndpoint(oracle(world[3])) as server:
        evaluate_endpoint(spec(server))
    said = str(caught.value) + "".join(capfd.readouterr())
    said += "".join(file.read_text() for file in tmp_path.rglob("*") if file.is_file())
    assert KEY not in said


def test_faults_are_listed_apart_and_nothing_is_written_as_if_whole(world, spec, tmp_path):
    _, _, queries, answers = world
    bad = [queries[1].query, queries[4].query]
    lines = []
    with ScriptedEndpoint(oracle(answers, {bad[0]: NOTHING, bad[1]: error(503, "busy")})) as server:
        made = spec(server)
        with refused("models.big.endpoint", f"2 of {N} episodes", "missing"):
            evaluate_endpoint(made, lines.append)
    assert not made.out.exists() and not made.costs.exists()
    (faults,) = tmp_path.glob("work/*/faults.jsonl")
    assert {line["idx"] for line in read_lines(faults)} == {queries[1].idx, queries[4].idx}
    assert any("busy" in line for line in lines)


def test_a_rerun_asks_for_what_is_missing_and_for_nothing_else(world, spec):
    _, _, queries, answers = world
    bad = queries[2].query
    with ScriptedEndpoint(oracle(answers, {bad: error(500)})) as server, pytest.raises(InputError):
        evaluate_endpoint(spec(server), lambda line: None)
    with ScriptedEndpoint(oracle(answers)) as server:
        made = spec(server, concurrency=5, price={"input": 1})  # elsewhere, faster, dearer: still the same question
        evaluate_endpoint(made, lambda line: None)
        assert episodes_asked(server) == {bad}
    assert len(load_episodes(made.out)) == N
    with ScriptedEndpoint([]) as server:
        evaluate_endpoint(spec(server), lambda line: None)
        assert server.requests == []


def test_other_settings_begin_anew_and_keep_what_there_was(world, spec):
    answers = world[3]
    for settings in ({"temperature": 0}, {"temperature": 1}):
        with ScriptedEndpoint(oracle(answers)) as server:
            evaluate_endpoint(spec(server, **settings), lambda line: None)
            assert len(episodes_asked(server)) == N
    with ScriptedEndpoint([]) as server:
        made = spec(server, temperature=0)
        evaluate_endpoint(made, lambda line: None)
        assert server.requests == []
        with pytest.raises(InputError):
            evaluate_endpoint(replace(made, template="Plan well."), lambda line: None)


def test_what_a_person_must_mend_stops_at_once_and_loses_nothing(world, spec):
    _, _, queries, answers = world
    with ScriptedEndpoint(oracle(answers, {queries[3].query: error(401)})) as server:
        with refused("models.big.endpoint", "key"):
            evaluate_endpoint(spec(server, concurrency=1), lambda line: None)
        assert episodes_asked(server) == {q.query for q in queries[:4]}
    with ScriptedEndpoint(oracle(answers)) as server:
        evaluate_endpoint(spec(server), lambda line: None)
        assert episodes_asked(server) == {q.query for q in queries[3:]}


def test_a_service_that_is_down_is_not_asked_for_every_query(spec):
    with ScriptedEndpoint([error(503)]) as server:
        with refused("models.big.endpoint", f"{N} of {N} episodes", "missing"):
            evaluate_endpoint(spec(server, concurrency=1), lambda line: None)
        assert len(server.requests) == 3


def test_refusals_and_prompts_too_long_are_results(world, spec):
    _, store, queries, answers = world
    fails = {queries[0].query: error(400, "no", "content_filter"), queries[1].query: error(400, "context length")}
    with ScriptedEndpoint(oracle(answers, fails)) as server:
        evaluate_endpoint(made := spec(server), lambda line: None)
    found = load_episodes(made.out)
    assert [e["end_reason"] for e in found[:3]] == ["refused", "prompt_too_long", "answer"]
    _, metrics = score(found, queries, store)
    assert metrics["rates"]["official"]["final_pass"] == pytest.approx((N - 2) / N)


def test_queries_whose_constraints_are_hidden_have_no_reward(world, spec, tmp_path):
    _, _, queries, answers = world
    hidden = [replace(q, budget=None, local_constraint=None, people_number=None) for q in queries]
    save_queries(tmp_path / "hidden.jsonl", hidden)
    with ScriptedEndpoint(oracle(answers)) as server:
        made = replace(spec(server), queries=tmp_path / "hidden.jsonl")
        evaluate_endpoint(made, lambda line: None)
    found = load_episodes(made.out)
    assert all(e["sub_rewards"] is None and e["reward"] is None for e in found)


# ---- killed in the middle -----------------------------------------------------------------------------------------

PROGRAM = """
import sys
from pathlib import Path
from planner_r1.agent.limits import Limits
from planner_r1.endpoint.client import Endpoint
from planner_r1.endpoint.evaluate import EndpointSpec, evaluate_endpoint

url, world, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
evaluate_endpoint(EndpointSpec(
    model="big", split="test", endpoint=Endpoint("models.big.endpoint", url, "m", concurrency=2, retries=0),
    limits=Limits(30, 30, 1, 400, "right", 30_000), template="Plan.", queries=world / "test.jsonl",
    store=world / "store", work=folder / "work", out=folder / "out" / "trajectories.jsonl",
    costs=folder / "out" / "costs.json",
))
"""


def test_killed_in_the_middle_it_repeats_no_finished_episode(world, tmp_path):
    folder, _, queries, answers = world
    right, stuck = oracle(answers), threading.Event()
    hung: set[str] = set()
    resumed = threading.Event()

    def script(body):
        # from the fourth query on, the second turn of an episode gets no answer until the process was killed
        if not resumed.is_set() and asked(body) in {q.query for q in queries[3:]} and len(body["messages"]) > 2:
            hung.add(asked(body))
            if len(hung) == 2:
                stuck.set()
            resumed.wait(DEADLINE)
            return NOTHING
        return right(body)

    with ScriptedEndpoint(script) as server:
        command = [sys.executable, "-c", PROGRAM, server.url, str(folder), str(tmp_path)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        assert stuck.wait(DEADLINE)
        process.send_signal(signal.SIGKILL)
        assert process.wait(DEADLINE) == -signal.SIGKILL
        resumed.set()
        (kept,) = tmp_path.glob("work/*/episodes.jsonl")
        finished = {e["idx"] for e in read_lines(kept)}
        assert finished == {q.idx for q in queries[:3]}
        with open(kept, "ab") as file:
            file.write(b'{"idx": 4, "ans')  # as if it had been killed within a line
        before = len(server.requests)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=DEADLINE)
        again = {asked(body) for body in server.requests[before:]}
    assert again == {q.query for q in queries[3:]}
    found = load_episodes(tmp_path / "out" / "trajectories.jsonl")
    assert [e["idx"] for e in found] == [q.idx for q in queries]
    assert all(e["end_reason"] == "answer" for e in found)
    assert json.loads((tmp_path / "out" / "costs.json").read_text())["requests"] >= 2 * N


def test_the_evaluation_needs_no_trainer():
    program = (
        "import sys, planner_r1.endpoint.evaluate\nprint(*({'torch', 'verl', 'ray', 'snakemake'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
