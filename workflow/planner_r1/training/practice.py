"""A quick look at how many queries a model passes, in one process and without a trainer.

It steers the supervised warm start. The results of a study come from the trainer's own validation instead.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from planner_r1.agent.prompt import render_messages
from planner_r1.agent.turns import error_reply, read_tool_calls
from planner_r1.queries import Query
from planner_r1.reward import sub_rewards
from planner_r1.sandbox.store import Store
from planner_r1.sandbox.tools import TOOL_SCHEMAS, Toolbox
from planner_r1.training.cpu.engine import Engine, Request
from planner_r1.training.cpu.sampling import SamplingParameters

AS_IN_TRAINING = SamplingParameters(temperature=1.0)
MAX_TURNS = 20


def pass_rate(
    model: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    store: Store,
    template: str,
    queries: list[Query],
    context: int,
    max_tool_reply: int,
) -> float:
    """The share of `queries` passed at temperature 1, in episodes of at most `context` tokens.

    A tool's reply is cut after `max_tool_reply` characters, as the trainer cuts it.
    """
    attention = model.config._attn_implementation
    engine = Engine(model, {tokenizer.eos_token_id}, slots=len(queries), max_length=context, seed=0)
    toolbox = Toolbox(store)
    waiting: deque[Request] = deque()
    finished: list[tuple[int, Request]] = []
    answers: dict[int, str] = {}

    def ask(index: int, ids: list[int]) -> None:
        request = Request(np.array(ids), AS_IN_TRAINING, context - len(ids), lambda r: finished.append((index, r)))
        waiting.append(request)

    turns = [0] * len(queries)
    for index, query in enumerate(queries):
        text = tokenizer.apply_chat_template(
            render_messages(query.query, template), tools=TOOL_SCHEMAS, tokenize=False, add_generation_prompt=True
        )
        ask(index, tokenizer.encode(text, add_special_tokens=False))
    while waiting or engine.active:
        engine.step(waiting)
        while finished:
            index, request = finished.pop()
            said = tokenizer.decode(request.tokens, skip_special_tokens=True)
            turns[index] += 1
            reply = _reply(toolbox, said)
            ids = [*request.prompt.tolist(), *request.tokens]
            if reply is not None and turns[index] < MAX_TURNS and request.tokens[-1] == tokenizer.eos_token_id:
                message = {"role": "tool", "content": reply[:max_tool_reply]}
                text = tokenizer.apply_chat_template([message], tokenize=False, add_generation_prompt=True)
                ids += tokenizer.encode("\n" + text, add_special_tokens=False)
                if len(ids) + 1 < context:
                    ask(index, ids)
                    continue
            answers[index] = said
    model.set_attn_implementation(attention)
    passed = sum(sub_rewards(answers[i], query, store).passed for i, query in enumerate(queries))
    return float(passed) / len(queries)


def _reply(toolbox: Toolbox, said: str) -> str | None:
    """The tool's reply to the first call in an assistant's turn, or None where there is no call."""
    for call in read_tool_calls(said):
        if call.error:
            return error_reply(call.error)
        return toolbox.call_text(call.name, call.arguments)
    return None
