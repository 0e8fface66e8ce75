"""Putting the suites to a model: what is asked, what an answer is, and what comes of faults."""

import json
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.messages import names, refused
from helpers.scripted_endpoint import NOTHING, Answer, ScriptedEndpoint, error, native, says
from helpers.scripted_suites import REPLY, SIZE, asked_of, make_up_all, right, spec
from planner_r1.endpoint.client import Endpoint
from planner_r1.errors import InputError
from planner_r1.files import read_lines
from planner_r1.ood.answers import collect_answers
from planner_r1.ood.scores import score_suite
from planner_r1.ood.suites import METRICS, SUITES
from planner_r1.ood.tau_bench.data import Benchmark
from planner_r1.ood.tau_bench.episode import STOP
from planner_r1.paper.reference import reference

DEADLINE = 60
REQUESTS = {"natural_plan": 3 * SIZE, "multi_if": 3 * SIZE, "tau_bench": 6 * SIZE}


def silent(line: str) -> None:
    pass


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    return make_up_all(tmp_path_factory.mktemp("data"))


def only(folders, *names):
    return {name: folders[name] for name in names}


def answers(tmp_path, suite):
    return list(read_lines(tmp_path / "out" / suite / "answers.jsonl"))


def scored(tmp_path, folders, suite, made_up=True):
    out = tmp_path / "out"
    asked = json.loads((out / "asked.json").read_text())[suite]
    return score_suite(suite, folders[suite], out / suite / "answers.jsonl", asked, made_up)


def test_the_metrics_are_the_columns_of_table_2():
    columns = [name for name in reference("table2")[0] if name.startswith(("np_", "mif_", "tau_"))]
    assert list(METRICS) == [name for name in columns if not name.endswith("_ci")]


def test_every_suite_is_asked_and_scored(folders, tmp_path):
    lines = []
    with ScriptedEndpoint(right(folders)) as server:
        collect_answers(spec(server, folders, tmp_path), lines.append)
        assert len(server.requests) == sum(REQUESTS.values())
    for suite in ("natural_plan", "tau_bench"):
        rows, metrics = scored(tmp_path, folders, suite)
        for metric in SUITES[suite].metrics:
            assert metrics["metrics"][metric] == {"mean": 1.0, "items": SIZE, "by_repeat": [1.0]}
        assert {row["metric"] for row in rows} == set(SUITES[suite].metrics)
    rows, metrics = scored(tmp_path, folders, "multi_if")
    for turn, rates in metrics["accuracies"].items():
        values = [row["value"] for row in rows if row["metric"] == f"mif_turn{turn}"]
        assert sum(values) / len(values) == pytest.approx(rates["mean"])
        assert metrics["metrics"][f"mif_turn{turn}"]["mean"] == pytest.approx(rates["mean"])
    assert any(f"{SIZE}/{SIZE} answers" in line for line in lines)


def test_each_suite_is_asked_in_its_own_way(folders, tmp_path):
    with ScriptedEndpoint(right(folders)) as server:
        collect_answers(spec(server, folders, tmp_path), silent)
    by_preset = {"multi_if": (0.7, 0.8, 20), "tau_bench": (0.6, 0.95, 20), "natural_plan": (1.0, 1.0, None)}
    found = dict.fromkeys(by_preset, 0)
    prompts = {e["prompt_5shot"] for f in folders["natural_plan"].glob("*") for e in json.loads(f.read_text()).values()}
    for body in server.requests:
        suite = next(s for s, preset in by_preset.items() if preset[0] == body["temperature"])
        found[suite] += 1
        assert (body["temperature"], body["top_p"], body.get("top_k")) == by_preset[suite]
        assert body["max_completion_tokens"] == 30500
        assert "seed" not in body
        roles = [message["role"] for message in body["messages"]]
        match suite:
            case "natural_plan":
                assert roles == ["user"] and body["messages"][0]["content"] in prompts
            case "multi_if":
                turn = len(roles) // 2
                assert roles == ["user", *["assistant", "user"] * turn]
                assert all(m["content"] == REPLY for m in body["messages"] if m["role"] == "assistant")
            case "tau_bench":
                assert roles[:2] == ["system", "user"]
                assert body["messages"][0]["content"] == Benchmark(folders[suite]).policy
                assert body["tools"] == Benchmark(folders[suite]).tools
    assert found == REQUESTS


def test_decoding_items_and_repeats_are_the_studys(folders, tmp_path):
    with ScriptedEndpoint(right(folders)) as server:
        made = spec(server, only(folders, "multi_if"), tmp_path, repeats=2)
        asked = replace(made.suites["multi_if"], items=2, decoding={"temperature": 0, "top_k": None, "max_tokens": 9})
        model = replace(made.model, seed=5, extra_body={"a": 1})
        collect_answers(replace(made, suites={"multi_if": asked}, model=model), silent)
    assert len(server.requests) == 2 * 2 * 3
    assert {body["seed"] for body in server.requests} == {5, 6}
    for body in server.requests:
        assert (body["temperature"], body["top_p"], body["max_completion_tokens"], body["a"]) == (0, 0.8, 9, 1)
        assert "top_k" not in body
    found = [(answer["item"], answer["repeat"]) for answer in answers(tmp_path, "multi_if")]
    assert len(set(found)) == 4 and [repeat for _, repeat in found] == [0, 0, 1, 1]
    _, metrics = scored(tmp_path, folders, "multi_if")
    assert len(metrics["metrics"]["mif_turn1"]["by_repeat"]) == 2
    assert any("other decoding (temperature 0" in caveat for caveat in metrics["caveats"])


def test_what_a_services_own_keys_say_goes_before_and_is_told(folders, tmp_path):
    with ScriptedEndpoint([says(REPLY)]) as server:
        made = spec(server, only(folders, "multi_if"), tmp_path)
        model = replace(made.model, temperature=0.2, max_tokens=50, extra_body={"top_k": 3})
        collect_answers(replace(made, model=model), silent)
    sent = {(b["temperature"], b["top_p"], b["top_k"], b["max_completion_tokens"]) for b in server.requests}
    assert sent == {(0.2, 0.8, 3, 50)}
    _, metrics = scored(tmp_path, folders, "multi_if")
    assert metrics["caveats"] == ["made-up data", "other decoding (temperature 0.2, top_k 3, max_tokens 50)"]


def test_half_a_character_is_kept_as_it_is_sent_on(folders, tmp_path):
    with ScriptedEndpoint([says("half \ud83d")]) as server:
        made = spec(server, only(folders, "multi_if"), tmp_path)
        collect_answers(made, silent)
        before = len(server.requests)
        collect_answers(made, silent)
        assert len(server.requests) == before


def test_a_sample_is_the_same_every_time_and_of_another_seed_another(folders):
    suite = SUITES["natural_plan"](folders["natural_plan"])
    assert suite.items(2, 1) == suite.items(2, 1)
    assert len({tuple(suite.items(2, seed)) for seed in range(20)}) > 1
    assert set(suite.items(2, 1)) < set(suite.items(None, 1))
    with refused("trip_planning.json", 4, 3):
        suite.items(4, 1)


def test_thinking_is_taken_away_and_counted(folders, tmp_path):
    script = right(folders)

    def thinks(body):
        answer = script(body)
        message = answer["choices"][0]["message"]
        message["content"] = f"<think>Monday, 9:00 - 9:30\n</think>{message['content']}"
        return answer

    chosen = only(folders, "natural_plan", "multi_if")
    with ScriptedEndpoint(thinks) as server:
        collect_answers(spec(server, chosen, tmp_path), silent)
    for suite in chosen:
        _, metrics = scored(tmp_path, folders, suite)
        assert metrics["thinking"] == {"answers": 3 * SIZE, "with_thinking": 3 * SIZE}
    _, metrics = scored(tmp_path, folders, "natural_plan")
    assert all(metric["mean"] == 1.0 for metric in metrics["metrics"].values())
    said = [m["content"] for body in server.requests for m in body["messages"] if m["role"] == "assistant"]
    assert set(said) == {REPLY}
    assert "<think>" in (tmp_path / "out" / "natural_plan" / "answers.jsonl").read_text()


# ---- faults ---------------------------------------------------------------------------------------------------------

TRUNCATED = Answer(body=b'{"choices": [{"message": {"content": "Here is')
FAULTS = {"429": error(429), "500": error(500), "truncated": TRUNCATED, "nothing": NOTHING, "empty": Answer()}


@pytest.mark.parametrize("suite", list(SUITES))
@pytest.mark.parametrize("fault", list(FAULTS))
def test_what_a_service_lacks_is_asked_again_and_never_wrong(folders, tmp_path, suite, fault):
    chosen, script = only(folders, suite), right(folders)
    failed = threading.Lock()  # taken by the first request

    def once(body):
        return FAULTS[fault] if failed.acquire(blocking=False) else script(body)

    with ScriptedEndpoint(once) as server:
        made = spec(server, chosen, tmp_path)
        with refused("missing", f"1 of {3 * SIZE if suite == 'natural_plan' else SIZE}", "wrong"):
            collect_answers(made, silent)
        assert not (tmp_path / "out").exists()
        assert len(list(read_lines(made.work / "faults.jsonl"))) == 1
        collect_answers(made, silent)
        assert len(server.requests) == REQUESTS[suite] + 1
    with ScriptedEndpoint(script) as server:
        collect_answers(spec(server, chosen, tmp_path / "unharmed"), silent)
    assert answers(tmp_path, suite) == answers(tmp_path / "unharmed", suite)
    costs = json.loads((tmp_path / "out" / "asked.json").read_text())[suite]["costs"]["model"]
    assert (costs["requests"], costs["without_answer"]) == (REQUESTS[suite] + 1, 1)


@pytest.mark.parametrize("suite", list(SUITES))
def test_a_wrong_key_stops_at_once(folders, tmp_path, suite):
    with ScriptedEndpoint([error(401)]) as server, refused("models.big.endpoint", 401, "key"):
        collect_answers(spec(server, only(folders, suite), tmp_path), silent)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("suite", list(SUITES))
@pytest.mark.parametrize("refusal", [error(400, "no", "content_filter"), error(400, "maximum context length is 5")])
def test_what_a_service_rejects_is_a_result(folders, tmp_path, suite, refusal):
    with ScriptedEndpoint([refusal]) as server:
        made = spec(server, only(folders, suite), tmp_path)
        collect_answers(made, silent)
        before = len(server.requests)
        collect_answers(made, silent)
        assert len(server.requests) == before  # known from before
    rows, metrics = scored(tmp_path, folders, suite)
    if suite != "multi_if":  # there an empty reply may keep to an instruction
        assert {row["value"] for row in rows} == {0.0}
    assert all(metric["items"] == SIZE for metric in metrics["metrics"].values())


def test_a_missing_file_is_named_before_anything_is_asked(folders, tmp_path):
    with ScriptedEndpoint([says("x")]) as server:
        with refused("nowhere/trip_planning.json", "read"):
            collect_answers(spec(server, {"natural_plan": tmp_path / "nowhere"}, tmp_path), silent)
        assert server.requests == []


# ---- killed in the middle -------------------------------------------------------------------------------------------

PROGRAM = """
import sys
from pathlib import Path
from types import SimpleNamespace
from helpers.scripted_suites import spec
from planner_r1.ood.answers import collect_answers

url, suite, data, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])
collect_answers(spec(SimpleNamespace(url=url), {suite: data}, folder))
"""


@pytest.mark.parametrize("suite", list(SUITES))
def test_killed_in_the_middle_it_repeats_no_finished_request(folders, tmp_path, suite):
    script, stuck, resumed = right(folders), threading.Event(), threading.Event()
    finished, hung = [], []

    def until_killed(body):
        # half of the requests are answered; from then on there is silence until the process was killed
        if not resumed.is_set() and len(finished) >= REQUESTS[suite] // 2:
            hung.append(body)
            if len(hung) == 2:
                stuck.set()
            resumed.wait(DEADLINE)
            return NOTHING
        finished.append(asked_of(body))
        return script(body)

    with ScriptedEndpoint(until_killed) as server:
        command = [sys.executable, "-c", PROGRAM, server.url, suite, str(folders[suite]), str(tmp_path)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=Path(__file__).parents[1])
        assert stuck.wait(DEADLINE)
        process.send_signal(signal.SIGKILL)
        assert process.wait(DEADLINE) == -signal.SIGKILL
        resumed.set()
        with open(tmp_path / "w" / "replies.jsonl", "ab") as file:
            file.write(b'{"asked": "0123')  # as if it had been killed within a line
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1], timeout=DEADLINE)
        assert done.returncode == 0, done.stderr
    assert len(finished) == REQUESTS[suite]
    if suite != "multi_if":  # where turns of two conversations may be worded alike
        assert len(set(finished)) == len(finished)
    with ScriptedEndpoint(script) as server:
        collect_answers(spec(server, only(folders, suite), tmp_path / "unharmed"), silent)
    assert answers(tmp_path, suite) == answers(tmp_path / "unharmed", suite)


def test_other_settings_are_other_questions_and_nothing_is_lost(folders, tmp_path):
    chosen = only(folders, "multi_if")
    with ScriptedEndpoint(right(chosen)) as server:
        made = spec(server, chosen, tmp_path)
        cold = replace(made, suites={"multi_if": replace(made.suites["multi_if"], decoding={"temperature": 0})})
        for asked, expected in ((made, 9), (cold, 18), (made, 18), (replace(made, origin="trained further"), 27)):
            collect_answers(asked, silent)
            assert len(server.requests) == expected
    with ScriptedEndpoint([]) as server:  # elsewhere, faster
        moved = replace(made.model, url=server.url, concurrency=9, retries=3)
        collect_answers(replace(made, model=moved), silent)
        assert server.requests == []


# ---- tau-bench's agent ----------------------------------------------------------------------------------------------


def play(folders, tmp_path, script, user=None, tools="native"):
    """The answer to one task, and what the server was asked."""
    with ScriptedEndpoint(script) as server:
        made = spec(server, only(folders, "tau_bench"), tmp_path)
        asked = replace(made.suites["tau_bench"], items=1, user=user)
        model = replace(made.model, tools=tools)
        collect_answers(replace(made, suites={"tau_bench": asked}, model=model), silent)
    (answer,) = answers(tmp_path, "tau_bench")
    rows, metrics = scored(tmp_path, folders, "tau_bench")
    return answer, rows[0], metrics, server.requests


def test_an_agent_that_comes_to_no_end_is_stopped_after_30_turns(folders, tmp_path):
    looks = says(None, [native("list_all_product_types", {})])
    answer, row, metrics, requests = play(folders, tmp_path, [looks])
    assert (answer["end_reason"], answer["turns"], len(requests), row["value"]) == ("turn_limit", 30, 30, 0.0)
    assert metrics["end_reasons"] == {"turn_limit": 1}


@pytest.mark.parametrize("arguments", ['{"order_id": ', "[1]", "null", ""])
def test_a_call_without_an_object_of_arguments_ends_the_episode(folders, tmp_path, arguments):
    answer, row, _, _ = play(folders, tmp_path, [says(None, [native("get_order_details", arguments)])])
    assert (answer["end_reason"], answer["turns"], row["value"]) == ("bad_call", 1, 0.0)


def test_one_call_a_turn_is_carried_out_and_shown(folders, tmp_path):
    calls = [native("no_such_tool", {}, "a"), native("list_all_product_types", {}, "b")]
    answer, _, _, requests = play(folders, tmp_path, [says("Wait.", calls), says("Hello?")])
    *_, assistant, tool = requests[1]["messages"]
    assert [call["id"] for call in assistant["tool_calls"]] == ["a"] and assistant["content"] == "Wait."
    assert tool == {"role": "tool", "tool_call_id": "a", "content": "Unknown action no_such_tool"}
    assert answer["end_reason"] == "done"


def test_tools_as_text(folders, tmp_path):
    call = '<tool_call>{"name": "list_all_product_types", "arguments": {}}</tool_call>'
    answer, _, _, requests = play(folders, tmp_path, [says(call), says("<tool_call>{</tool_call>")], tools="hermes")
    assert all("tools" not in body for body in requests)
    assert "list_all_product_types" in requests[0]["messages"][0]["content"]
    assert requests[1]["messages"][-1]["content"].startswith("<tool_response>")
    assert answer["events"][2]["kwargs"] == {"content": "<tool_call>{</tool_call>"}  # words to the user


def test_a_user_model_behind_its_own_endpoint(folders, tmp_path):
    task = Benchmark(folders["tau_bench"]).tasks("test")[0]
    words = iter(["I need help.", "Yes.", f"Thanks. {STOP}"])
    with ScriptedEndpoint(lambda body: says(next(words), prompt=7)) as user:
        price = {"input": 1.0, "output": 1.0}
        endpoint = Endpoint("u", user.url, "someone/gpt-4o", temperature=0.3, seed=9, price=price)
        answer, row, metrics, requests = play(folders, tmp_path, [says("Shall I?")], endpoint)
    assert answer["events"][0] == {"user": "I need help."}
    assert (answer["end_reason"], answer["turns"], row["value"]) == ("done", 2, 0.0)
    opening = user.requests[0]
    assert (opening["temperature"], opening["seed"], opening["model"]) == (0.3, 9, "someone/gpt-4o")
    instructions = {task.instruction for task in Benchmark(folders["tau_bench"]).tasks("test")}
    assert any(instruction in opening["messages"][0]["content"] for instruction in instructions), task
    assert [m["role"] for m in user.requests[2]["messages"]] == ["system", *["user", "assistant"] * 2, "user"]
    costs = metrics["asked"]["costs"]["user"]
    assert costs["requests"] == 3 and costs["cost"] == pytest.approx(3 * 12 / 1e6)
    assert metrics["caveats"] == ["made-up data"]
    assert requests[0]["messages"][1]["content"] == "I need help."


def test_another_user_than_the_papers_is_a_caveat(folders, tmp_path):
    *_, metrics, _ = play(folders, tmp_path, [says("Hello?")])
    data, user = metrics["caveats"]
    names(data, "made-up")
    names(user, "user", "scripted")


def test_a_users_faults_are_not_the_agents(folders, tmp_path):
    with ScriptedEndpoint([error(400, "no", "content_filter")]) as user:
        endpoint = Endpoint("u", user.url, "u")
        with refused("user", "content_filter"):
            play(folders, tmp_path, [says("Hello?")], endpoint)
    with ScriptedEndpoint([error(500)]) as user:
        endpoint = Endpoint("u", user.url, "v", retries=0)
        with pytest.raises(InputError, match=r"answered 500"):
            play(folders, tmp_path, [says("Hello?")], endpoint)
