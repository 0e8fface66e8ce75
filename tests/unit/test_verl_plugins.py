"""What verl loads from this package: tools, agent loop, reward function, rows. verl's own classes around them are real;
only the model is a script."""

import json
import random
from dataclasses import replace
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from helpers.messages import refused
from helpers.scripted_trainer import make_player, open_store
from helpers.tiny_model import TEMPLATE, make_tiny_study
from planner_r1.agent import episodes
from planner_r1.agent.oracle import plan_for
from planner_r1.agent.prompt import template_hash
from planner_r1.agent.trajectories import demonstration
from planner_r1.files import read_lines
from planner_r1.queries import Query
from planner_r1.sandbox.tools import TOOL_SCHEMAS
from planner_r1.training.config import compose_config
from planner_r1.training.episodes import read_dump, step_metrics
from planner_r1.training.rows import prompt_template_hash, row_count, write_first_rows, write_parquet
from planner_r1.training.verl_files import AGENT_LOOP, AGENT_LOOP_CLASS, write_tool_config

CALL = '<tool_call>\n{"name":"get_cities","arguments":{"state":"%s"}}\n</tool_call>'
STAGE1 = [1, 1, 1, 1, 1]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return make_tiny_study(tmp_path_factory.mktemp("study"))


@pytest.fixture
def store(study, monkeypatch):
    return open_store(study, monkeypatch)


@pytest.fixture(scope="module")
def tokenizer(study):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(study.model)


@pytest.fixture
def play(study, store, tokenizer, tmp_path):
    """Run an episode of a scripted model; returns verl's output of it and the script."""
    return make_player(study, tokenizer, tmp_path)


def record(output):
    return output.extra_fields["episode"]


# ---- agent loop ---------------------------------------------------------------------------------------------------


def test_an_episode_with_a_call_and_an_answer(play, store, tokenizer):
    state = next(iter(store.states))
    output, script = play(CALL % state, "<answer>[]</answer>")
    episode = record(output)
    assert episode["end_reason"] == episodes.ANSWER
    assert episode["answer"] == "<answer>[]</answer>"
    assert episode["turns"] == 2
    reply = json.dumps({"results": store.states[state]}, ensure_ascii=False, separators=(",", ":"))
    assert episode["tool_calls"] == [
        {"turn": 1, "name": "get_cities", "arguments": {"state": state}, "reply_chars": len(reply), "error": False}
    ]
    assert reply in tokenizer.decode(script.prompts[1])


def test_token_counts_are_those_of_the_episode(play, tokenizer):
    output, _ = play(CALL % "Nowhere", "<answer>[]</answer>")
    tokens = record(output)["tokens"]
    spoken = [CALL % "Nowhere" + "<|im_end|>", "<answer>[]</answer><|im_end|>"]
    assert tokens["generated"] == sum(len(tokenizer.encode(t, add_special_tokens=False)) for t in spoken)
    assert tokens["response"] == len(output.response_ids) > tokens["generated"]
    assert tokens["prompt"] == len(output.prompt_ids)


@pytest.mark.parametrize(
    ("turn", "complaint"),
    [
        ("<tool_call>{oops}</tool_call>", "not valid JSON"),
        ('<tool_call>{"name":"get_cities","arguments":{}}', "not closed"),
        ('<tool_call>{"name":"fly","arguments":{}}</tool_call>', "fly"),
        ('<tool_call>{"name":"get_cities","arguments":[1]}</tool_call>', "error"),
        (CALL % "Nowhere", "Nowhere"),
    ],
)
def test_a_call_that_fails_is_answered_so_that_the_model_can_mend_it(play, tokenizer, turn, complaint):
    output, script = play(turn, "<answer>[]</answer>")
    episode = record(output)
    assert [call["error"] for call in episode["tool_calls"]] == [True]
    assert episode["end_reason"] == episodes.ANSWER
    said = tokenizer.decode(script.prompts[1]).rpartition("<tool_response>")[2]
    assert complaint in said
    assert json.loads(said.partition("</tool_response>")[0])["error"]


def test_more_calls_than_a_turn_may_make_are_refused_aloud(play, store, tokenizer):
    states = list(store.states)
    output, script = play((CALL % states[0]) * 3, "<answer>[]</answer>")
    calls = record(output)["tool_calls"]
    assert [call["error"] for call in calls] == [False, True, True]
    assert "the other 2 of this turn were not carried out" in tokenizer.decode(script.prompts[1])


def test_no_call_and_no_answer_ends_the_episode(play):
    output, _ = play("I do not know.")
    assert record(output)["end_reason"] == episodes.NO_ANSWER


def test_a_call_beside_an_answer_is_carried_out_first(play):
    output, _ = play("<answer>[1]</answer>" + CALL % "x", "<answer>[2]</answer>")
    assert record(output)["answer"] == "<answer>[2]</answer>"


def test_the_last_turn_may_not_call(play):
    output, script = play(CALL % "x", CALL % "y", CALL % "z", turns=2)
    episode = record(output)
    assert episode["end_reason"] == episodes.TURN_LIMIT
    assert len(episode["tool_calls"]) == 1
    assert script.texts == [CALL % "z"]


def test_the_last_turn_may_answer(play):
    output, _ = play(CALL % "x", "<answer>[]</answer>", turns=2)
    assert record(output)["end_reason"] == episodes.ANSWER


def test_tokens_used_up_by_the_model(play, tokenizer):
    text = "<answer>" + "a long plan " * 30 + "</answer>"
    output, _ = play(text, tokens=40)
    episode = record(output)
    assert episode["end_reason"] == episodes.LENGTH
    assert len(output.response_ids) == len(output.response_mask) == 40
    # The reward sees what verl trains on, not what was cut off.
    assert episode["answer"] == tokenizer.decode(output.response_ids, skip_special_tokens=True)
    assert "</answer>" not in episode["answer"]


def test_an_answer_that_just_fits_counts(play, tokenizer):
    text = "<answer>[]</answer>"
    fits = len(tokenizer.encode(text, add_special_tokens=False))
    output, _ = play(text, tokens=fits)  # the end of the turn is cut off, the answer is not
    assert record(output)["end_reason"] == episodes.ANSWER


def test_a_reply_that_does_not_fit(play, store):
    city = next(iter(store.cities))
    text = f'<tool_call>{{"name":"search_restaurants","arguments":{{"city":"{city}"}}}}</tool_call>'
    output, _ = play(text, tokens=150)
    episode = record(output)
    assert episode["end_reason"] == episodes.TOOL_OVERFLOW
    assert len(episode["tool_calls"]) == 1
    assert len(output.response_ids) <= 150


def test_what_verl_itself_keeps_beside_is_still_there(play):
    output, _ = play("<answer>[]</answer>")
    assert output.extra_fields["max_global_steps"] == 1
    assert output.extra_fields["tool_rewards"] == []
    assert len(output.response_logprobs) == len(output.response_ids)


# ---- tools --------------------------------------------------------------------------------------------------------


def test_verl_shows_the_model_the_schemas_as_they_are(store, tmp_path):
    from verl.tools.tool_registry import load_all_tools

    write_tool_config(tmp_path / "tools.yaml")
    tools = load_all_tools(str(tmp_path / "tools.yaml"), None)
    shown = [tool.tool_schema.model_dump(exclude_unset=True, exclude_none=True) for tool in tools]
    assert shown == TOOL_SCHEMAS


def test_the_classes_named_in_verls_files_exist():
    from hydra.utils import get_class
    from verl.experimental.agent_loop.tool_agent_loop import ToolAgentLoop

    assert issubclass(get_class(AGENT_LOOP_CLASS), ToolAgentLoop)


# ---- reward -------------------------------------------------------------------------------------------------------


def scored(query, answer, weights, calls=(), **pays):
    from planner_r1.training.reward_function import compute_score

    episode = {"end_reason": "answer", "answer": answer, "turns": 1, "tool_calls": list(calls), "tokens": {}}
    return compute_score(
        data_source="travel",
        solution_str="everything that was said",
        ground_truth=json.dumps(query.to_json()),
        extra_info={"idx": query.idx, "split": "train", "num_turns": 3, "episode": episode},
        weights=weights,
        **pays,
    )


def test_the_oracles_answer_earns_everything(study, store):
    query = study.train_queries[0]
    messages = demonstration(query, plan_for(query, store), store, random.Random(0), slip_rate=0.0)
    for weights, most in ((STAGE1, 5.0), ([0, 0, 1, 1, 1], 3.0), ([0, 0, 0, 0, 1], 1.0)):
        result = scored(query, messages[-1]["content"], weights)
        assert result["score"] == most
        assert all(result[name] == 1.0 for name in episodes.SUB_REWARDS)


def through_a_hole(query, store) -> str:
    """An oracle's answer in which a meal's name lacks its last letter, which the official rules let pass."""
    plan = plan_for(query, store).plan
    day, meal = next((day, meal) for day in plan for meal in ("breakfast", "lunch", "dinner") if day[meal] != "-")
    day[meal] = day[meal][:-1]
    return f"<answer>{json.dumps(plan)}</answer>"


def test_a_plan_that_passes_through_a_hole_is_paid_by_the_profile_that_pays(study, store):
    query = study.train_queries[0]
    answer = through_a_hole(query, store)
    official, strict = (scored(query, answer, [0, 0, 0, 0, 1], profile=name) for name in ("official", "strict"))
    assert (official["score"], official["success"]) == (1.0, 1.0)
    assert (strict["score"], strict["success"]) == (0.0, 0.0)
    told = ("pass", "pass_strict", "score_official", "score_strict")
    assert [official[name] for name in told] == [strict[name] for name in told] == [1.0, 0.0, 1.0, 0.0]


def test_no_answer_earns_nothing(study, store):
    result = scored(study.train_queries[0], "I give up.", STAGE1)
    assert result["score"] == 0.0
    assert all(result[name] == 0.0 for name in episodes.SUB_REWARDS)


def test_whatever_is_no_text_is_a_number_that_verl_can_average(study, store):
    call = {"turn": 1, "name": None, "arguments": None, "reply_chars": 1, "error": True}
    result = scored(study.train_queries[0], "x", STAGE1, [call])
    assert {k for k, v in result.items() if isinstance(v, str)} == {"end_reason", "episode"}
    assert all(isinstance(v, int | float) for k, v in result.items() if k not in ("end_reason", "episode"))
    assert (result["tool_calls"], result["tool_errors"]) == (1, 1)


def test_a_query_whose_constraints_are_hidden_is_recorded_without_a_score(study, store, tmp_path):
    query = study.train_queries[0]
    hidden = Query(query.idx, query.org, query.dest, query.days, query.date, query.query, query.level)
    result = scored(hidden, "<answer>[]</answer>", STAGE1)
    dump = tmp_path / "0.jsonl"
    dump.write_text(json.dumps({"input": "q", "output": "a", **result}) + "\n", encoding="utf-8")
    (episode,) = read_dump(dump)
    assert episode["sub_rewards"] is None
    assert episode["idx"] == query.idx


# ---- records ------------------------------------------------------------------------------------------------------


def test_a_dump_becomes_trajectories_in_the_order_of_the_queries(study, store, tmp_path):
    lines = [scored(query, "<answer>[]</answer>", STAGE1) for query in reversed(study.train_queries)]
    dump = tmp_path / "7.jsonl"
    dump.write_text("".join(json.dumps({"input": "in ", "output": "out", **x}) + "\n" for x in lines), encoding="utf-8")
    found = read_dump(dump)
    assert [e["idx"] for e in found] == [q.idx for q in study.train_queries]
    assert found[0]["text"] == "in out"
    assert found[0]["answer"] == "<answer>[]</answer>"
    assert set(found[0]["sub_rewards"]) == set(episodes.SUB_REWARDS)


def test_an_episode_is_recorded_under_both_profiles(study, store, tmp_path):
    query, dump = study.train_queries[0], tmp_path / "7.jsonl"
    result = scored(query, through_a_hole(query, store), STAGE1, profile="strict")
    dump.write_text(json.dumps({"input": "q", "output": "a", **result}) + "\n", encoding="utf-8")
    (episode,) = read_dump(dump)
    assert episode["sub_rewards"] == dict.fromkeys(episodes.SUB_REWARDS, 1.0)  # official, whatever pays
    assert (episode["pass_strict"], episode["score_official"]) == (0.0, 5.0)
    assert episode["reward"] == episode["score_strict"] < 5.0
    metrics = step_metrics([result, scored(query, "x", STAGE1, profile="strict")])
    assert (metrics["reward/pass"], metrics["reward/pass_strict"]) == (0.5, 0.0)
    assert (metrics["reward/score_official"], metrics["reward/score_strict"]) == (2.5, result["score_strict"] / 2)


def test_a_dump_from_before_both_profiles_were_told_is_read(study, store, tmp_path):
    query, dump = study.train_queries[0], tmp_path / "7.jsonl"
    result = scored(query, through_a_hole(query, store), STAGE1)
    old = {key: value for key, value in result.items() if key not in (*episodes.BY_PROFILE, "success")}
    dump.write_text(json.dumps({"input": "q", "output": "a", **old}) + "\n", encoding="utf-8")
    (episode,) = read_dump(dump)
    assert (episode["reward"], episode["sub_rewards"]["pass"]) == (5.0, 1.0)
    assert [episode[name] for name in episodes.BY_PROFILE] == [None] * 3


def test_shares_of_the_end_reasons_add_up(study, store):
    info = scored(study.train_queries[0], "x", STAGE1)
    infos = [info | {"end_reason": reason} for reason in episodes.END_REASONS]
    metrics = step_metrics(infos)
    assert [metrics[f"end/{reason}"] for reason in episodes.END_REASONS] == [0.2] * 5
    assert metrics["reward/schema"] == 0.0
    assert metrics["tools/calls"] == metrics["tools/error_share"] == 0.0


def test_a_line_cut_short_by_a_kill_is_not_read(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text('{"a": 1}\n{"a"', encoding="utf-8")
    assert list(read_lines(path)) == [{"a": 1}]


# ---- rows ---------------------------------------------------------------------------------------------------------


def test_rows_are_what_verl_reads(study, tokenizer):
    from verl.utils.dataset.rl_dataset import RLHFDataset

    config = compose_config("cpu", {"data.filter_overlong_prompts": False}, {})
    item = RLHFDataset(str(study.train), tokenizer, config.data)[2]
    query = study.train_queries[2]
    assert item["agent_name"] == AGENT_LOOP
    assert item["index"] == item["extra_info"]["idx"] == query.idx
    assert item["raw_prompt"] == [{"role": "system", "content": TEMPLATE}, {"role": "user", "content": query.query}]
    assert Query.from_json(json.loads(item["reward_model"]["ground_truth"])) == query


def test_an_evaluation_cuts_no_prompt(study, tokenizer, tmp_path):
    """verl would cut a prompt that is too long on the left, and go on."""
    from verl.utils.dataset.rl_dataset import RLHFDataset

    from planner_r1.training.evaluate import EvaluateSpec, _config
    from planner_r1.training.trainer import PlannerTrainer

    paths = {"model_path": study.model, "parquet": study.train, "store": study.store, "work": tmp_path, "out": tmp_path}
    spec = EvaluateSpec(model="tiny", regime="base", seed=0, step=0, split="test", **paths)
    trainer = object.__new__(PlannerTrainer)

    def check(limit):
        trainer.config = _config(replace(spec, overrides={"data.max_prompt_length": limit}))
        trainer.val_dataset = trainer.train_dataset = RLHFDataset(str(study.train), tokenizer, trainer.config.data)
        trainer._check_prompts()

    check(2000)
    with pytest.raises(ValueError, match=r"\d+ of \d+ validation prompts .*data\.max_prompt_length=10\b"):
        check(10)


def test_equal_queries_give_equal_files_that_know_their_template(study, tmp_path):
    write_parquet(study.train_queries, tmp_path / "again.parquet", "train", TEMPLATE)
    assert (tmp_path / "again.parquet").read_bytes() == study.train.read_bytes()
    assert prompt_template_hash(study.train) == template_hash(TEMPLATE)
    assert row_count(study.train) == len(study.train_queries)


# ---- trainer ------------------------------------------------------------------------------------------------------


def test_the_trainer_is_verls_own_in_all_but_what_it_replaces():
    from verl.trainer.ppo.v1 import get_trainer_cls

    from planner_r1.training import trainer

    assert get_trainer_cls(trainer.MODE) is trainer.PlannerTrainer
    replaced = {"__init__", "_init_dataloader", "_compute_metrics", "_val_metrics_update", "_dump_generations"}
    replaced |= {
        "prepare_step",
        "_balance_batch",
        "_build_replay_buffer",
        "_add_prompts_to_generate",
        "_compute_advantage",
    }
    for name in replaced:
        assert name in vars(trainer.PlannerTrainer)
        assert hasattr(trainer.PPOTrainerSync, name), f"the pinned verl has no {name} any more"


def test_a_step_tells_how_many_episodes_it_has_and_stops_where_a_tenth_is_missing(monkeypatch):
    from planner_r1.training import trainer

    monkeypatch.setattr(trainer.PPOTrainerSync, "_balance_batch", lambda self, batch, metrics: batch)
    instance = object.__new__(trainer.PlannerTrainer)
    instance.global_steps = 7
    instance.config = compose_config("cpu", {}, {})  # 16 queries of 8 episodes

    def step(played):
        metrics = {}
        instance._balance_batch(SimpleNamespace(keys=["key"] * played), metrics)
        return metrics

    assert step(128) == {"training/episodes": 128}
    assert step(116) == {"training/episodes": 116}
    with pytest.raises(RuntimeError, match=r"step 7: 13 of 128 episodes"):
        step(115)


def test_the_rollouts_dump_gets_the_records_of_its_episodes(monkeypatch):
    from planner_r1.training import trainer

    infos = {"a": {"pass": 0.0, "end_reason": "answer"}, "b": {"pass": 1.0, "end_reason": "length"}}
    written = []
    monkeypatch.setattr(trainer.PlannerTrainer, "_reward_infos", staticmethod(lambda keys: [infos[k] for k in keys]))
    monkeypatch.setattr(trainer.PPOTrainerSync, "_dump_generations", lambda self, *args: written.append(args))
    instance = object.__new__(trainer.PlannerTrainer)
    instance.config = SimpleNamespace(trainer=SimpleNamespace(rollout_data_dir="rollouts"))
    for path in ("rollouts", "validation"):
        instance._dump_generations([1, 2], [1, 2], [1, 2], [0, 1], {"uid": ["b", "a"]}, path)
    assert written[0][4] == {"pass": [1.0, 0.0], "end_reason": ["length", "answer"], "uid": ["b", "a"]}
    assert written[1][4] == {"uid": ["b", "a"]}


def test_the_first_rows_of_a_smaller_set_are_those_of_a_larger_one(study, tmp_path):
    whole = pq.read_table(study.train)
    for size in (1, 2):
        write_first_rows(study.train, size, tmp_path / f"{size}.parquet")
        part = pq.read_table(tmp_path / f"{size}.parquet")
        assert part.to_pylist() == whole.to_pylist()[:size]
        assert prompt_template_hash(tmp_path / f"{size}.parquet") == prompt_template_hash(study.train)
    with refused(whole.num_rows, "train_queries", 999):
        write_first_rows(study.train, 999, tmp_path / "more.parquet")
