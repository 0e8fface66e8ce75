"""What a model is fine-tuned on: the tokens of verl's own agent loop, and nothing that must not be learnt."""

import json
import random
from collections import Counter
from dataclasses import replace

import pytest
from transformers import AutoTokenizer

from helpers.messages import names, refused
from helpers.scripted_trainer import make_player, open_store
from helpers.tiny_model import TEMPLATE, make_tiny_study
from planner_r1.agent.limits import Limits
from planner_r1.agent.oracle import plan_for
from planner_r1.agent.prompt import render_messages
from planner_r1.agent.recorded import read_recorded
from planner_r1.agent.trajectories import demonstration
from planner_r1.files import write_lines
from planner_r1.reward import sub_rewards
from planner_r1.sandbox.tools import TOOL_SCHEMAS
from planner_r1.training.lesson_rows import Lesson, LessonDataset, write_lessons
from planner_r1.training.lessons import Episode, Renderer, Rules, lessons, oracle_episodes, recorded_episodes

LIMITS = Limits(30, 30, 1, 4000, "right", 8000)
# The habits of Qwen3's own: whole schemas, an empty thought opens a turn that is about to be written, and of the turns
# that were written only the last one shows it, or one with a thought.
QWEN_LIKE = """
{%- for m in messages %}
{%- if m.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
{{- '\\n<tool_response>\\n' + m.content + '\\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\\n' }}{%- endif %}
{%- else %}
{{- '<|im_start|>' + m.role + '\\n' }}
{%- if m.role == 'assistant' and (loop.last or m.reasoning_content) %}
{{- '<think>\\n' + (m.reasoning_content or '') + '\\n</think>\\n\\n' }}
{%- endif %}
{{- m.content or '' }}
{%- if m.role == 'system' and tools %}{%- for t in tools %}{{- '\\n' + (t | tojson) }}{%- endfor %}{%- endif %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and not enable_thinking %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}
""".strip()


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return make_tiny_study(tmp_path_factory.mktemp("study"))


@pytest.fixture
def store(study, monkeypatch):
    return open_store(study, monkeypatch)


@pytest.fixture(params=["own", "qwen"])
def chat(request, study):
    """A tokenizer with its keywords of the chat template."""
    tokenizer = AutoTokenizer.from_pretrained(study.model)
    if request.param == "qwen":
        tokenizer.chat_template = QWEN_LIKE
        return tokenizer, {"enable_thinking": False}
    return tokenizer, {}


@pytest.fixture
def played(study, store, chat, tmp_path):
    """The oracle's turns on the first query, played by verl's agent loop; and the messages of that demonstration."""
    tokenizer, keywords = chat
    query = study.train_queries[0]
    said = demonstration(query, plan_for(query, store), store, random.Random(0), slip_rate=0)
    player = make_player(study, tokenizer, tmp_path)
    overrides = {"data.apply_chat_template_kwargs": keywords, "data.max_prompt_length": 8000}
    texts = [m["content"] for m in said if m["role"] == "assistant"]
    output, _ = player(*texts, turns=30, tokens=8000, overrides=overrides)
    return output, query, said


def line(output, query, tokenizer, passed=1.0):
    """An episode of verl's as it is recorded."""
    text = "".join(tokenizer.decode(ids, skip_special_tokens=True) for ids in (output.prompt_ids, output.response_ids))
    return output.extra_fields["episode"] | {"idx": query.idx, "text": text, "sub_rewards": {"pass": passed}}


# ---- tokens -------------------------------------------------------------------------------------------------------


def test_a_lesson_has_the_tokens_of_the_episode_in_verls_agent_loop(played, chat):
    output, query, said = played
    lesson = Renderer(chat[0], "qwen3", chat[1])([*render_messages(query.query, TEMPLATE), *said])
    assert lesson.ids == output.prompt_ids + output.response_ids
    assert lesson.own == [0] * len(output.prompt_ids) + output.response_mask
    assert lesson.prompt == len(output.prompt_ids)


def test_a_lesson_reads_as_the_chat_template_writes_the_whole_conversation(played, chat):
    _, query, said = played
    tokenizer, keywords = chat
    messages = [*render_messages(query.query, TEMPLATE), *said]
    lesson = Renderer(tokenizer, "qwen3", keywords)(messages)
    whole = tokenizer.apply_chat_template(messages, tools=TOOL_SCHEMAS, tokenize=False, **keywords)
    thought = "<think>\n\n</think>\n\n"
    plain = [tokenizer.decode(lesson.ids).replace(thought, ""), whole.replace(thought, "").removesuffix("\n")]
    assert plain[0] == plain[1]
    assert tokenizer.decode(lesson.ids).count(thought) == (len(said) // 2 + 1 if keywords else 0)


def test_the_models_own_words_are_learnt_and_nothing_else(played, chat):
    _, query, said = played
    lesson = Renderer(chat[0], "qwen3", chat[1])([*render_messages(query.query, TEMPLATE), *said])
    own = [token for token, mine in zip(lesson.ids, lesson.own, strict=True) if mine]
    assert chat[0].decode(own) == "".join(m["content"] + "<|im_end|>" for m in said if m["role"] == "assistant")


def test_several_replies_to_a_turn_are_one_group(chat):
    said = [
        {"role": "assistant", "content": "two calls"},
        {"role": "tool", "content": "first"},
        {"role": "tool", "content": "second"},
        {"role": "assistant", "content": "done"},
    ]
    text = chat[0].decode(Renderer(chat[0], "qwen3", chat[1])([*render_messages("q", TEMPLATE), *said]).ids)
    replies = "<tool_response>\nfirst\n</tool_response>\n<tool_response>\nsecond\n</tool_response>"
    assert f"two calls<|im_end|>\n<|im_start|>user\n{replies}<|im_end|>\n<|im_start|>assistant\n" in text


def test_the_dataset_shows_each_lesson_equally_often(tmp_path):
    learnt = [Lesson([1, 2, 3], [0, 0, 1], 2), Lesson([4, 5], [0, 1], 1)]
    write_lessons(learnt, tmp_path / "lessons.parquet")
    dataset = LessonDataset([str(tmp_path / "lessons.parquet")], None, None, max_samples=5)
    rows = [dataset[i] for i in range(len(dataset))]
    assert [row["input_ids"].tolist() for row in rows] == [[1, 2, 3], [4, 5]] * 2 + [[1, 2, 3]]
    assert rows[1]["loss_mask"].tolist() == [0, 1] and rows[1]["position_ids"].tolist() == [0, 1]


# ---- recorded episodes --------------------------------------------------------------------------------------------


def test_an_episode_is_read_back_from_what_was_recorded_of_it(played, chat, tmp_path):
    output, query, said = played
    write_lines(tmp_path / "t.jsonl", [line(output, query, chat[0])])
    (episode,) = read_recorded(tmp_path / "t.jsonl")
    assert (episode.query, episode.said, episode.passed) == (query.query, said, True)


def test_an_episode_over_an_endpoint_is_read_back_too(played, tmp_path):
    output, query, said = played
    heard = {"system": "Other words, and tools.", "user": query.query}
    parts = [f"{role}\n{text}" for role, text in heard.items()]
    for message in said:
        reply = message["role"] == "tool"
        text = f"<tool_response>\n{message['content']}\n</tool_response>" if reply else message["content"]
        parts.append(f"{'user' if reply else 'assistant'}\n{text}")
    record = output.extra_fields["episode"] | {"text": "\n".join(parts), "sub_rewards": {"pass": 0.0}}
    write_lines(tmp_path / "t.jsonl", [record])
    (episode,) = read_recorded(tmp_path / "t.jsonl")
    assert (episode.query, episode.said, episode.passed) == (query.query, said, False)


@pytest.mark.parametrize("change", [{"turns": 2}, {"answer": "another"}, {"text": "system\ns\nuser\nq\nassistant\nx"}])
def test_a_text_that_does_not_add_up_is_not_learnt(played, chat, tmp_path, change):
    output, query, _ = played
    write_lines(tmp_path / "t.jsonl", [line(output, query, chat[0]) | change])
    left_out = Counter()
    assert list(recorded_episodes([tmp_path / "t.jsonl"], 0, left_out)) == []
    [(why, count)] = left_out.items()
    assert count == 1
    names(why, "turns")


def test_only_episodes_that_pass_are_learnt(played, chat, tmp_path):
    output, query, said = played
    write_lines(tmp_path / "a.jsonl", [line(output, query, chat[0], passed) for passed in (0.0, 1.0, 0.0)])
    write_lines(tmp_path / "b.jsonl", [line(output, query, chat[0])])
    left_out = Counter()
    found = list(recorded_episodes([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], 0, left_out))
    assert found == [Episode(query.query, said)] * 2
    [(why, count)] = left_out.items()
    assert count == 2
    names(why, "pass")


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ({"sub_rewards": None}, "scored"),
        ({"sub_rewards": {}}, "scored"),
        ({"text": None}, "'text'"),
        ({"turns": "2"}, "'turns'"),
        ("[]", "list"),
        ("{oops", "JSON"),
    ],
)
def test_what_is_no_scored_episode_is_refused_by_file_and_line(tmp_path, written, word):
    good = {"text": "system\ns\nuser\nq\nassistant\na", "answer": "a", "turns": 1, "sub_rewards": {"pass": 1.0}}
    bad = written if isinstance(written, str) else json.dumps(good | written)
    (tmp_path / "t.jsonl").write_text(f"{json.dumps(good)}\n{bad}\n", encoding="utf-8")
    with refused("t.jsonl", "line 2", word):
        list(recorded_episodes([tmp_path / "t.jsonl"], 0, Counter()))
    (tmp_path / "empty.jsonl").touch()
    with refused("empty.jsonl", "no episode"):
        list(recorded_episodes([tmp_path / "empty.jsonl"], 0, Counter()))
    with refused("nowhere.jsonl", "read"):
        list(recorded_episodes([tmp_path / "nowhere.jsonl"], 0, Counter()))


# ---- which are learnt ---------------------------------------------------------------------------------------------


def short(messages):
    """Stands for a renderer: one token a message."""
    return Lesson(list(range(len(messages))), [0] * len(messages), 2)


def episode(query, turns=2):
    call = [{"role": "assistant", "content": "call"}, {"role": "tool", "content": "reply" * 10}]
    return Episode(query, [*(call * (turns - 1)), {"role": "assistant", "content": "answer"}])


def chosen(episodes, held_out=(), limits=LIMITS, render=short, at_most=100, prompt=10):
    left_out = Counter()
    found = lessons(episodes, Rules(limits, prompt, held_out), TEMPLATE, render, at_most, left_out)
    return found, dict(left_out)


def test_what_a_validation_or_test_query_asks_is_never_learnt():
    episodes = [episode("To Rome, please."), episode("  to  ROME, please.\n"), episode("To Paris.")]
    found, left_out = chosen(episodes, held_out=["To Rome, please."])
    assert len(found) == 1
    [(why, count)] = left_out.items()
    assert count == 2
    names(why, "validation or test")


def test_nothing_left_is_one_clear_error():
    with refused("no episode", 1, "validation or test"):
        chosen([episode("To Rome.")], held_out=["To Rome."])
    with refused("no episode", "none"):
        chosen([])


@pytest.mark.parametrize(
    ("limits", "prompt", "kept"),
    [
        ({}, 10, [2, 3, 4]),
        ({"assistant_turns": 3}, 10, [2, 3]),
        ({"user_turns": 1}, 10, [2]),  # verl's loop looks at its turns before it counts the replies to the last one
        ({"response_tokens": 5}, 10, [2, 3]),
        ({}, 1, []),
    ],
)
def test_an_episode_is_as_long_as_the_agent_loop_lets_it_be(limits, prompt, kept):
    episodes = [episode("q", turns) for turns in (2, 3, 4)]
    if not kept:
        with refused("no episode", "3 longer"):
            chosen(episodes, prompt=prompt)
        return
    found, _ = chosen(episodes, limits=replace(LIMITS, **limits), prompt=prompt)
    assert [len(lesson.ids) // 2 for lesson in found] == kept


def test_replies_are_cut_as_the_trainer_cuts_them_and_the_prompt_is_the_studys():
    seen = []
    chosen([episode("q")], limits=replace(LIMITS, reply_chars=7), render=lambda m: seen.append(m) or short(m))
    assert [m["content"] for m in seen[0]] == [TEMPLATE, "q", "call", "replyre...(truncated)", "answer"]


def test_no_more_are_rendered_than_the_steps_can_see():
    found, _ = chosen((episode(str(i)) for i in range(1_000_000_000)), at_most=3)
    assert len(found) == 3


def test_the_oracle_shows_each_query_once_without_a_slip(study, store):
    lost = replace(study.train_queries[0], org="Nowhere", query="From nowhere.")
    queries, left_out = [*study.train_queries, lost], Counter()
    found = list(oracle_episodes(queries, store, 0, left_out))
    assert sorted(e.query for e in found) == sorted(q.query for q in study.train_queries)
    by_words = {q.query: q for q in queries}
    assert all(sub_rewards(e.said[-1]["content"], by_words[e.query], store).passed for e in found)
    [(why, count)] = left_out.items()
    assert count == 1
    names(why, "oracle")
    assert [e.query for e in oracle_episodes(queries, store, 0, Counter())] == [e.query for e in found]
    assert [e.query for e in oracle_episodes(queries, store, 1, Counter())] != [e.query for e in found]
