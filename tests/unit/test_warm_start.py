"""The tokenizer learnt from a world's text, and the tiny model warmed up on the oracle's trajectories."""

import json
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, Qwen3ForCausalLM

from planner_r1.agent.oracle import plan_for
from planner_r1.agent.query_generator import QuerySpec, draw_queries
from planner_r1.agent.trajectories import demonstration
from planner_r1.errors import InputError
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store
from planner_r1.sandbox.synthetic import WorldSpec, write_world
from planner_r1.sandbox.tools import TOOL_SCHEMAS
from planner_r1.training.optimizer import MUON_FACTOR, MuonWithAdamW
from planner_r1.training.practice import pass_rate
from planner_r1.training.tokenizer import SPECIAL, TAGS, learn_tokenizer
from planner_r1.training.warm_start import IGNORED, WarmStartSpec, _Renderer, warm_start

TEMPLATE = "You plan trips by calling tools."
TINY = WarmStartSpec(
    hidden_size=32, intermediate_size=64, layers=1, heads=2, kv_heads=1, head_dim=16, max_steps=4, batch_size=2,
    check_every=2, check_queries=2,
)  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("warm")
    write_world(WorldSpec(n_days=10), folder / "world")
    build(folder / "world", folder / "store")
    store = Store.open(folder / "store")
    return store, draw_queries(store, QuerySpec(days=(3,), n_days=10), 30, seed=0)


@pytest.fixture(scope="module")
def warm(world, tmp_path_factory):
    store, queries = world
    out = tmp_path_factory.mktemp("model")
    record = warm_start(TINY, store, TEMPLATE, queries[:20], queries[20:], out, report=lambda line: None)
    return out, record


@pytest.fixture(scope="module")
def tokenizer(warm):
    return AutoTokenizer.from_pretrained(warm[0])


@settings(max_examples=200, deadline=None)
@given(text=st.text(st.characters(exclude_categories=("Cs",)), max_size=200))
def test_any_text_survives_the_tokenizer(tokenizer, text):
    ids = tokenizer.encode(text, add_special_tokens=False)
    hidden = text
    for token in SPECIAL:
        hidden = hidden.replace(token, "")
    assert tokenizer.decode(ids, skip_special_tokens=True) == hidden


def test_tags_survive_decoding_special_tokens_do_not_and_a_line_break_is_one_token(tokenizer):
    text = "<|im_start|>" + "".join(TAGS) + "<|im_end|>"
    assert tokenizer.decode(tokenizer.encode(text), skip_special_tokens=True) == "".join(TAGS)
    assert len(tokenizer.encode("\n")) == 1
    assert len(tokenizer.encode(text)) == len(SPECIAL) - 1 + len(TAGS)


def test_pieces_of_an_episode_are_single_tokens():
    text = json.dumps([{"Flight Number": "F1234", "FlightDate": "2022-03-16", "Name": "Blue Spoon"}] * 2)
    text = text.replace(", ", ",").replace(": ", ":")
    learnt = learn_tokenizer([text] * 5, vocabulary=1000, context=64)
    tokens = {learnt.decode([i]) for i in learnt.encode(text)}
    assert {"F1234", "2022-03-16", "Blue Spoon", '","FlightDate":"'} <= tokens


def test_only_the_assistants_turns_are_learnt(world, tokenizer):
    store, queries = world
    trip = plan_for(queries[0], store)
    said = demonstration(queries[0], trip, store, random.Random(0), slip_rate=0)
    opening = [{"role": "system", "content": TEMPLATE}, {"role": "user", "content": queries[0].query}]
    example = _Renderer(tokenizer, 4096).example(opening + said)
    own = [token for token, label in zip(example["input_ids"], example["labels"], strict=True) if label != IGNORED]
    turns = [m["content"] + "<|im_end|>" for m in said if m["role"] == "assistant"]
    assert tokenizer.decode(own) == "".join(turns)
    assert all(label in (IGNORED, token) for token, label in zip(*example.values(), strict=True))


def test_the_model_is_saved_whole_and_a_seed_repeats_it(warm, world, tmp_path):
    out, record = warm
    store, queries = world
    assert record["steps"] == 4 and 0 <= record["held_out_pass"] <= 1
    model = Qwen3ForCausalLM.from_pretrained(out)
    assert model.config.model_type == "qwen3" and model.num_parameters() == record["parameters"]
    again = warm_start(TINY, store, TEMPLATE, queries[:20], queries[20:], tmp_path, report=lambda line: None)
    assert again["loss"] == pytest.approx(record["loss"], rel=1e-4)
    for ours, theirs in zip(model.parameters(), Qwen3ForCausalLM.from_pretrained(tmp_path).parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


def test_fine_tuning_ends_once_the_share_is_reached(world, tmp_path):
    store, queries = world
    spec = WarmStartSpec(**{**TINY.__dict__, "target_pass": 0.0})
    record = warm_start(spec, store, TEMPLATE, queries[:20], queries[20:], tmp_path, report=lambda line: None)
    assert record["steps"] == TINY.check_every


def test_queries_that_cannot_be_planned_are_an_error(world, tmp_path):
    store, queries = world
    lost = [q.__class__(**{**q.__dict__, "org": "Nowhere"}) for q in queries[:3]]
    with pytest.raises(InputError, match="oracle"):
        warm_start(TINY, store, TEMPLATE, lost, queries, tmp_path)


def test_a_random_model_passes_nothing_and_keeps_its_attention(warm, world):
    store, queries = world
    model = Qwen3ForCausalLM.from_pretrained(warm[0])
    before = model.config._attn_implementation
    tokenizer = AutoTokenizer.from_pretrained(warm[0])
    assert pass_rate(model, tokenizer, store, TEMPLATE, queries[:4], context=300, max_tool_reply=200) == 0.0
    assert model.config._attn_implementation == before


def test_a_schedule_reaches_both_optimisers():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    optimizer = MuonWithAdamW(model, learning_rate=1e-2)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5)
    assert [group["lr"] for group in optimizer.param_groups] == pytest.approx([0.5e-2 * MUON_FACTOR, 0.5e-2])
    before = [p.detach().clone() for p in model.parameters()]
    model(torch.ones(1, 4)).sum().backward()
    optimizer.step()
    schedule.step()
    assert all(not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    optimizer.zero_grad()
    assert all(p.grad is None for p in model.parameters())


def test_a_demonstration_is_tokenized_as_the_trainer_tokenizes_the_same_episode(world, tokenizer):
    """A model warmed up on other tokens than those the trainer shows it would have to learn the format again."""
    from verl.utils.tokenizer.continuous_token_wiring import create_continuous_token_builder

    store, queries = world
    builder = create_continuous_token_builder(tokenizer, hf_model_type="qwen3")
    renderer = _Renderer(tokenizer, 4096)
    for query in queries:
        said = demonstration(query, plan_for(query, store), store, random.Random(0), slip_rate=0)
        messages = [{"role": "system", "content": TEMPLATE}, {"role": "user", "content": query.query}]
        ids = builder.build_initial_tokens(messages, tools=TOOL_SCHEMAS)
        for message in said:
            grown = [*messages, message]
            if message["role"] == "assistant":
                own = tokenizer.encode(message["content"] + tokenizer.eos_token, add_special_tokens=False)
                ids = builder.merge_assistant_tokens(ids, own).token_ids
            else:
                ids = builder.merge_context_tokens(messages, grown, ids, tools=TOOL_SCHEMAS).token_ids
            messages = grown
        opening = messages[:2]
        assert renderer.example(opening + said)["input_ids"] == ids
