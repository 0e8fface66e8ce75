"""The prompt: the rules of the paper, the schema inserted, and short enough for the prompt length of the paper."""

import json
from pathlib import Path

import pytest

from planner_r1.agent.prompt import load_template, render_messages, template_hash
from planner_r1.errors import InputError
from planner_r1.plan import PLAN_SCHEMA
from planner_r1.queries import load_queries
from planner_r1.sandbox.tools import TOOL_SCHEMAS

PROMPTS = Path(__file__).resolve().parents[2] / "config/prompts"
PROMPT_LENGTH = 2268  # tokens; the paper's data.max_prompt_length


def qwen3_text(messages: list[dict]) -> str:
    """A bound from above on what Qwen3's chat template writes: the messages, each tool on a line, and its own words."""
    tools = "\n".join(json.dumps(tool) for tool in TOOL_SCHEMAS)
    instructions = (
        "# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with "
        "function signatures within <tools></tools> XML tags:\n<tools>\n</tools>\n\nFor each function call, "
        "return a json object "
        'with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{"name": '
        '<function-name>, "arguments": <args-json-object>}\n</tool_call>'
    )
    frame = (
        "<|im_start|>system\n<|im_end|>\n<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    )
    return "".join([frame, instructions, tools, *(m["content"] for m in messages)])


def test_the_papers_prompt_fits_its_length_for_every_real_query(qwen, shared_data):
    template = load_template(PROMPTS / "planner.txt")
    folder = shared_data / "travelplanner/queries"
    queries = load_queries(folder / "train.jsonl") + load_queries(folder / "validation.jsonl")
    lengths = [len(qwen.encode(qwen3_text(render_messages(q.query, template)))) for q in queries]
    assert max(lengths) <= PROMPT_LENGTH


def test_the_schema_is_inserted_as_json():
    system, user = render_messages("To Rome!", "Plan. {plan_schema}")
    assert user == {"role": "user", "content": "To Rome!"}
    schema = json.loads(system["content"].removeprefix("Plan. "))
    assert schema["items"]["required"] == PLAN_SCHEMA["items"]["required"]


def test_the_papers_rules_stand_in_the_prompt_and_the_hidden_ones_do_not():
    text = load_template(PROMPTS / "planner.txt").lower()
    for rule in ("step by step", "never assume", "same call twice", "<answer>", "valid json", "do not answer before"):
        assert rule in text
    for hint in ("minimum nights", "same city", "self-driving and", "half", "repeat a restaurant", "reward", "score"):
        assert hint not in text


def test_templates_are_told_apart_by_their_hash_and_a_missing_one_is_an_error(tmp_path):
    assert template_hash("a") != template_hash("b")
    with pytest.raises(InputError, match="prompt"):
        load_template(tmp_path / "none.txt")
    (tmp_path / "empty.txt").write_text(" \n", encoding="utf-8")
    with pytest.raises(InputError, match="empty"):
        load_template(tmp_path / "empty.txt")
