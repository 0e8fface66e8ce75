"""The commands, as a person or a program runs them."""

import json
import shutil

import pytest

from helpers.small_world import AGENT_PLAN, THREE_DAYS_COST, five_days, query, three_days
from planner_r1.evaluator import COMMONSENSE, HARD
from planner_r1.queries import save_queries
from planner_r1.sandbox.tools import TOOL_SCHEMAS


@pytest.fixture
def files(tmp_path, small_database):
    """Options of `score` but for the profile; write lines with `plans`."""

    class Files:
        queries = tmp_path / "queries.jsonl"
        plans = tmp_path / "plans.jsonl"
        out = tmp_path / "verdicts.jsonl"

        def write(self, *lines):
            self.plans.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

        def options(self):
            return "--plans", self.plans, "--queries", self.queries, "--database", small_database, "--out", self.out

        def verdicts(self):
            return [json.loads(line) for line in self.out.read_text().splitlines()]

    save_queries(Files.queries, [query(idx=1), query(5, idx=2)])
    return Files()


def line(idx, plan):
    return json.dumps({"idx": idx, "plan": plan})


def hole_plan():
    plan = three_days()
    plan[1]["lunch"] = "Green Fork, Bria"
    return plan


def test_score_writes_a_verdict_a_line_in_order_and_prints_rates(run, files):
    files.write(line(2, five_days()), line(1, None), line(1, three_days()), line(1, "junk"), line(1, three_days()[:1]))
    status, out, _ = run("score", *files.options())
    assert status == 0
    verdicts = files.verdicts()
    assert [v["idx"] for v in verdicts] == [2, 1, 1, 1, 1]
    assert [v["final_pass"] for v in verdicts] == [True, False, True, False, False]
    assert [v["delivered"] for v in verdicts] == [True, False, True, False, True]
    assert [v["reason"] is None for v in verdicts] == [True, False, True, False, False]
    assert verdicts[2]["total_cost"] == THREE_DAYS_COST and verdicts[4]["total_cost"] is None
    assert set(verdicts[2]["commonsense"]) == set(COMMONSENSE) and set(verdicts[2]["hard"]) == set(HARD)
    assert verdicts[4]["hard"] is None
    assert "strict" not in verdicts[0]
    assert "40.0%" in out and "5 plans" in out  # two of five pass


def test_score_both_profiles_and_holes(run, files):
    files.write(line(1, hole_plan()), line(1, three_days()), line(2, None))
    status, out, _ = run("score", *files.options(), "--profile", "both")
    assert status == 0
    first, second, third = files.verdicts()
    assert first["final_pass"] and not first["strict"]["final_pass"] and first["holes"] == ["stay_day_city"]
    assert second["final_pass"] and second["strict"]["final_pass"] and second["holes"] == []
    assert third["holes"] == []
    assert "pass official and fail strict: 1" in out and "stay_day_city" in out


def test_score_strict(run, files):
    files.write(line(1, hole_plan()), line(2, five_days()))
    assert run("score", *files.options(), "--profile", "strict")[0] == 0
    assert [v["final_pass"] for v in files.verdicts()] == [False, True]


def test_score_takes_an_agents_answers(run, files):
    good = f"Done. <answer>{json.dumps(AGENT_PLAN)}</answer>"
    files.write(
        json.dumps({"idx": 1, "answer": good, "plan": AGENT_PLAN}),  # as in trajectories.jsonl
        json.dumps({"idx": 1, "answer": "I give up."}),
        json.dumps({"idx": 1, "answer": None}),
    )
    assert run("score", *files.options())[0] == 0
    verdicts = files.verdicts()
    assert [v["final_pass"] for v in verdicts] == [True, False, False]
    assert verdicts[0]["reason"] is None and "no <answer> block" in verdicts[1]["reason"]
    assert "empty" in verdicts[2]["reason"] and all("lenient" not in verdict for verdict in verdicts)


@pytest.mark.parametrize("profile", ["official", "strict", "both"])
def test_score_shows_a_lenient_reading_beside_the_rates_and_changes_none(run, files, profile):
    plan = json.dumps(AGENT_PLAN)
    texts = [f"<answer>{plan}</answer>", f"<answer>```json\n{plan}\n```</answer>", "<answer>I have no plan.</answer>"]
    files.write(line(1, three_days()), line(2, "junk"), *(json.dumps({"idx": 1, "answer": text}) for text in texts))
    assert run("score", *files.options(), "--profile", profile)[0] == 0
    alone = files.verdicts()
    assert "fence" in alone[3]["reason"] and "only text" in alone[4]["reason"]
    status, out, _ = run("score", *files.options(), "--profile", profile, "--lenient")
    assert status == 0
    verdicts = files.verdicts()
    beside = [verdict.pop("lenient", None) for verdict in verdicts]
    assert verdicts == alone
    assert beside[:3] == [None, None, None]  # a plan, junk, an answer with a plan
    assert beside[3] == {key: value for key, value in alone[2].items() if key != "idx"} and beside[3]["final_pass"]
    assert not beside[4]["delivered"] and "no JSON array" in beside[4]["reason"]
    rate = next(row for row in out.splitlines() if "final_pass" in row)
    assert rate.count("40.0%") == rate.count("60.0%") == (2 if profile == "both" else 1)
    assert "not the benchmark's" in out


def test_score_says_which_queries_are_left_out(run, files):
    files.write(line(1, three_days()))
    assert "1 of 2 queries have no plan" in run("score", *files.options())[1]


GOOD = line(1, None)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([GOOD, "{"], "line 2: not a JSON object"),
        ([GOOD, "[" * 100_000], "line 2: not a JSON object"),
        (["[1]"], "line 1: expected a JSON object, found list"),
        ([GOOD, "", '{"plan": null}'], "line 3: 'idx' is missing"),
        (['{"idx": "1", "plan": null}'], "line 1: 'idx' must be a whole number, found '1'"),
        (['{"idx": true, "plan": null}'], "line 1: 'idx' must be a whole number"),
        (['{"idx": 0, "plan": null}'], "line 1: there is no query 0; the file of queries holds numbers 1 to 2"),
        (['{"idx": 3, "plan": null}'], "there is no query 3"),
        (['{"idx": 1}'], "line 1: needs 'plan'"),
        (['{"idx": 1, "answer": 5}'], "line 1: 'answer' must be text"),
        ([], "holds no plan"),
    ],
)
def test_a_bad_line_is_one_clear_error_and_nothing_is_written(run, files, lines, message):
    files.write(*lines)
    status, out, err = run("score", *files.options())
    assert status == 2 and message in err and str(files.plans) in err
    assert out == "" and not files.out.exists() and "Traceback" not in err


@pytest.mark.parametrize("missing", ["plans", "queries", "database"])
def test_a_missing_file_is_named(run, files, missing):
    files.write(GOOD)
    options = list(files.options())
    options[options.index(f"--{missing}") + 1] = "no/such/place"
    status, _, err = run("score", *options)
    assert status == 2 and "no/such/place" in err and not files.out.exists()


def test_a_file_that_is_not_text_is_named(run, files):
    files.plans.write_bytes(b'{"idx": 1, "plan": "\xff"}\n')
    status, _, err = run("score", *files.options())
    assert status == 2 and "not UTF-8" in err


def test_a_place_that_cannot_be_written_is_named(run, files):
    files.write(GOOD)
    files.out.mkdir()
    status, _, err = run("score", *files.options())
    assert status == 2 and str(files.out) in err and list(files.out.parent.glob(".verdicts*")) == []


def test_hidden_constraints_cannot_be_scored(run, files):
    save_queries(files.queries, [query(idx=1, local_constraint=None, budget=None)])
    files.write(GOOD)
    status, _, err = run("score", *files.options())
    assert status == 2 and "hidden" in err and not files.out.exists()


def test_the_store_of_a_database_is_kept_and_renewed(run, files, small_database, tmp_path):
    files.write(GOOD)
    database = shutil.copytree(small_database, tmp_path / "database")
    options = [database if option == small_database else option for option in files.options()]
    assert "building the store" in run("score", *options)[2]
    assert "building the store" not in run("score", *options)[2]
    with open(database / "background/citySet_with_states.txt", "a", encoding="utf-8") as f:
        f.write("Eltz\tSud\n")
    assert "building the store" in run("score", *options)[2]
    assert len(list((tmp_path / "cache/planner-r1").glob("*/*"))) == 1


def test_a_store_may_stand_for_the_database(run, files, small_store):
    files.write(GOOD)
    options = ["--store" if option == "--database" else option for option in files.options()]
    options[options.index("--store") + 1] = small_store.folder
    status, _, err = run("score", *options)
    assert status == 0 and err == ""


def test_tool(run, small_database):
    arguments = '{"origin": "Dorn", "destination": "Alba", "mode": "taxi"}'
    status, out, _ = run("tool", "search_ground_transportation", arguments, "--database", small_database)
    assert status == 0 and json.loads(out)["results"][0]["cost"] == 420
    status, out, _ = run("tool", "search_hotels", "{}", "--database", small_database)
    assert status == 1 and "error" in json.loads(out)


def test_submission(run, files, tmp_path):
    crashing = [{**AGENT_PLAN[0], "city": "from"}]
    files.write(
        json.dumps({"idx": 2, "answer": f"<answer>{json.dumps(crashing)}</answer>"}),
        json.dumps({"idx": 1, "answer": f"<answer>{json.dumps(AGENT_PLAN)}</answer>"}),
    )
    save_queries(files.queries, [query(idx=i, query=f"Trip {i}", local_constraint=None) for i in (1, 2)])
    options = ["--trajectories" if option == "--plans" else option for option in files.options()]
    status, out, err = run("submission", *options)
    assert status == 0
    first, second = files.verdicts()
    assert list(first) == ["idx", "query", "plan"] and (first["idx"], first["query"]) == (1, "Trip 1")
    assert first["plan"][0]["transportation"].startswith("Flight Number: F1, from Dorn to Alba")
    assert second == {"idx": 2, "query": "Trip 2", "plan": None}
    assert "plans left out" in err and "query 2" in err
    assert "2 lines, 1 with a plan" in out and "1,000 queries" in out


def test_submission_names_every_fault_and_writes_nothing(run, files):
    save_queries(files.queries, [query(idx=i) for i in range(1, 5)])
    files.write(line(1, [*three_days(), "day 4"]), line(2, None), line(2, None), line(4, "plan"))
    options = ["--trajectories" if option == "--plans" else option for option in files.options()]
    status, _, err = run("submission", *options)
    assert status == 2 and not files.out.exists()
    faults = ("4 faults", "query 1: day 4", "query 2 has 2 lines", "query 3 has no line", "query 4")
    assert all(fault in err for fault in faults)


def test_world_can_be_used_at_once(run, tmp_path):
    folder = tmp_path / "world"
    assert run("world", "--out", folder, "--seed", 5, "--cities", 4, "--states", 2)[0] == 0
    city, state = (folder / "background/citySet_with_states.txt").read_text().splitlines()[0].split("\t")
    status, out, _ = run("tool", "get_cities", json.dumps({"state": state}), "--database", folder)
    assert status == 0 and city in json.loads(out)["results"]
    status, _, err = run("world", "--out", folder, "--cities", 1)
    assert status == 2 and "'cities'" in err


@pytest.mark.parametrize("command", ["score", "tool", "submission", "world", "cost", "preflight"])
def test_help_teaches_with_an_example(run, command):
    status, out, _ = run(command, "--help")
    assert status == 0 and f"planner-r1 {command}" in out.split("Options:")[0].split("Usage:")[1].partition("\n")[2]


def test_help_of_tool_names_the_tools(run):
    out = run("tool", "--help")[1]
    assert all(schema["function"]["name"] in out for schema in TOOL_SCHEMAS)


@pytest.mark.parametrize("arguments", [[], ["score"], ["score", "--profile", "mild"], ["fly"]])
def test_wrong_usage_is_told_without_a_traceback(run, arguments):
    status, _, err = run(*arguments)
    assert status == 2 and "Traceback" not in err


def test_files_and_worlds_that_do_not_belong_together_are_refused(run, files, tmp_path):
    files.write(line(1, three_days()))
    before = files.plans.read_bytes()
    same = ["--plans", files.plans, "--queries", files.queries, "--database", files.options()[5], "--out", files.plans]
    status, _, said = run("score", *same)
    assert status == 2 and "is read as well" in said
    assert files.plans.read_bytes() == before

    other = files.plans.read_text(encoding="utf-8").replace('"idx"', '"query": "Another question", "idx"', 1)
    (tmp_path / "other.jsonl").write_text(other, encoding="utf-8")
    options = [tmp_path / "other.jsonl" if option == files.plans else option for option in files.options()]
    status, _, said = run("score", *options)
    assert status == 2 and "another split" in said

    elsewhere = files.queries.read_text(encoding="utf-8").replace("Dorn", "Nowhere")
    (tmp_path / "elsewhere.jsonl").write_text(elsewhere, encoding="utf-8")
    options = [tmp_path / "elsewhere.jsonl" if option == files.queries else option for option in files.options()]
    status, _, said = run("score", *options)
    assert status == 2 and "Nowhere" in said


def test_an_output_that_is_no_regular_file_is_left_alone(run, files, tmp_path):
    files.write(line(1, three_days()))
    options = [*files.options()[:-1], tmp_path]
    status, _, said = run("score", *options)
    assert status == 2 and "no regular file" in said
    link = tmp_path / "link.jsonl"
    link.symlink_to(tmp_path / "target.jsonl")
    status, _, _ = run("score", *files.options()[:-1], link)
    assert status == 0 and link.is_symlink() and (tmp_path / "target.jsonl").is_file()
