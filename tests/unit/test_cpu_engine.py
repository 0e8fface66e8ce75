"""The generation engine against a full forward pass of transformers, and its bookkeeping against what was asked."""

from collections import deque

import numpy as np
import pytest
import torch

from helpers.tiny_qwen3 import VOCABULARY, make_model
from planner_r1.training.cpu import engine as engine_module
from planner_r1.training.cpu.engine import Engine, Request
from planner_r1.training.cpu.sampling import SamplingParameters


class Conversations:
    """Drives an engine through multi-turn conversations: after each output, random tokens of a tool come in."""

    def __init__(self, engine: Engine):
        self.engine = engine
        self.waiting: deque[Request] = deque()
        self.finished: list[Request] = []

    def ask(self, tokens, max_tokens, **settings) -> Request:
        request = Request(np.asarray(tokens), SamplingParameters(**settings), max_tokens, self.finished.append)
        self.waiting.append(request)
        return request

    def run(self) -> None:
        while self.waiting or self.engine.active:
            self.engine.step(self.waiting)

    def talk(self, prompts, turns: int, seed: int, **settings) -> list[list[Request]]:
        """All conversations at once, each with its own lengths. Returns the requests of each, turn by turn."""
        random = np.random.default_rng(seed)
        histories = [[self.ask(p, int(random.integers(1, 20)), **settings)] for p in prompts]
        owners = {id(history[0]): history for history in histories}
        while self.waiting or self.engine.active:
            self.engine.step(self.waiting)
            for request in self.finished:
                history = owners.pop(id(request))
                if len(history) < turns:
                    tool = random.integers(0, VOCABULARY, int(random.integers(1, 60)))
                    tokens = np.concatenate([request.prompt, request.tokens, tool])
                    history.append(self.ask(tokens, int(random.integers(1, 20)), **settings))
                    owners[id(history[-1])] = history
            self.finished.clear()
        return histories


ROUNDING = 5e-5  # of fp32 in log-probabilities down to -10; other processors sum in another order


def random_prompts(seed, count, low=1, high=150):
    random = np.random.default_rng(seed)
    return [random.integers(0, VOCABULARY, int(random.integers(low, high))) for _ in range(count)]


def make_engine(slots=16, max_length=600, seed=0, end_tokens=frozenset()):
    return Engine(make_model(), set(end_tokens), slots, max_length, seed)


@torch.no_grad()
def full_log_probs(model, request, temperature=1.0):
    """The log-probabilities of a request's output by one pass over prompt and output."""
    tokens = torch.tensor([[*request.prompt.tolist(), *request.tokens]])
    logits = model(input_ids=tokens).logits[0] / temperature
    first = len(request.prompt)
    predicted = logits[first - 1 : first - 1 + len(request.tokens)].log_softmax(-1)
    return predicted.gather(1, tokens[0, first:, None])[:, 0]


def worst_difference(histories, temperature=1.0):
    model = make_model()
    return max(
        float((torch.tensor(r.log_probs) - full_log_probs(model, r, temperature)).abs().max())
        for history in histories
        for r in history
    )


def test_log_probs_equal_a_full_forward_pass_over_ragged_multi_turn_conversations():
    engine = make_engine(slots=16)
    # More conversations than slots, of very different lengths, some alike at the beginning, some the same.
    prompts = random_prompts(1, 12)
    prompts += [np.concatenate([prompts[0], p]) for p in random_prompts(2, 4)] + [prompts[1]] * 8
    histories = Conversations(engine).talk(prompts, turns=5, seed=3)
    assert all(len(history) == 5 for history in histories)
    assert worst_difference(histories) < ROUNDING


def test_log_probs_are_those_at_the_requested_temperature():
    histories = Conversations(make_engine()).talk(random_prompts(4, 10), turns=3, seed=5, temperature=0.6)
    assert worst_difference(histories, temperature=0.6) < ROUNDING


@pytest.mark.parametrize("slots", [1, 2, 5])
def test_few_slots_change_nothing_but_the_speed(slots):
    histories = Conversations(make_engine(slots=slots)).talk(random_prompts(6, 8), turns=3, seed=7)
    assert worst_difference(histories) < ROUNDING


def test_a_small_prefill_budget_changes_nothing_but_the_speed(monkeypatch):
    monkeypatch.setattr(engine_module, "MOST_PREFILL_TOKENS", 64)
    histories = Conversations(make_engine()).talk(random_prompts(8, 10), turns=3, seed=9)
    assert worst_difference(histories) < ROUNDING


def test_greedy_output_is_that_of_transformers_generate():
    prompts = random_prompts(10, 6, low=5)
    run = Conversations(make_engine())
    requests = [run.ask(p, 25, temperature=0.0) for p in prompts]
    run.run()
    model = make_model()
    for request in requests:
        expected = model.generate(
            torch.tensor(request.prompt[None]), max_new_tokens=25, do_sample=False, eos_token_id=None, pad_token_id=0
        )
        assert request.tokens == expected[0, len(request.prompt) :].tolist()


def test_a_turn_computes_only_what_the_last_one_did_not():
    run = Conversations(make_engine())
    first = run.ask(random_prompts(11, 1, low=100)[0], 10)
    run.run()
    tool = [3, 4, 5, 6]
    second = run.ask([*first.prompt, *first.tokens, *tool], 10)
    run.run()
    # The last token drawn was never an input.
    assert second.cached == len(first.prompt) + len(first.tokens) - 1


def test_samples_of_one_prompt_compute_it_once():
    engine = make_engine()
    run = Conversations(engine)
    prompt = random_prompts(12, 1, low=100)[0]
    requests = [run.ask(prompt, 3) for _ in range(8)]
    run.run()
    assert sorted(r.cached for r in requests) == [0] + [len(prompt) - 1] * 7
    assert engine.statistics.prefilled == len(prompt) + 7


def test_prompts_with_a_common_beginning_compute_it_once():
    engine = make_engine()
    run = Conversations(engine)
    system = random_prompts(13, 1, low=100)[0]
    requests = [run.ask([*system, i, i + 1], 3) for i in range(5)]
    run.run()
    assert sorted(r.cached for r in requests) == [0] + [len(system)] * 4


def test_new_weights_forget_what_was_cached_and_are_used():
    engine = make_engine()
    run = Conversations(engine)
    prompt = random_prompts(14, 1, low=50)[0]
    before = run.ask(prompt, 5, temperature=0.0)
    run.run()
    other = make_model(seed=1)
    engine.model.load_state_dict(other.state_dict())
    engine.weights_changed(version=1)
    after = run.ask([*prompt, *before.tokens], 5, temperature=0.0)
    run.run()
    assert after.cached == 0
    assert float((torch.tensor(after.log_probs) - full_log_probs(other, after)).abs().max()) < ROUNDING


def test_weights_do_not_change_under_a_request():
    engine = make_engine()
    run = Conversations(engine)
    run.ask([1, 2, 3], 10)
    engine.step(run.waiting)
    with pytest.raises(RuntimeError, match="1 requests"):
        engine.weights_changed(version=1)


def outputs(engine, prompts, order, **settings):
    """Outputs by prompt, each asked once, arriving in the given order, one more a step."""
    run = Conversations(engine)
    asked = {}
    for index in order:
        asked[index] = run.ask(prompts[index], 12, **settings)
        engine.step(run.waiting)
    run.run()
    return [asked[index].tokens for index in range(len(prompts))]


def test_a_seed_repeats_itself_whatever_the_order_of_arrival():
    prompts = random_prompts(15, 9)
    one = outputs(make_engine(seed=7), prompts, range(9))
    again = outputs(make_engine(seed=7), prompts, [4, 8, 0, 2, 6, 1, 3, 5, 7])
    other_seed = outputs(make_engine(seed=8), prompts, range(9))
    assert one == again
    assert one != other_seed


def test_samples_of_one_prompt_differ_and_so_do_those_of_other_weights():
    engine = make_engine()
    prompt = random_prompts(16, 1)[0]
    first = outputs(engine, [prompt] * 4, range(4))
    engine.weights_changed(version=1)
    second = outputs(engine, [prompt] * 4, range(4))
    assert len({tuple(t) for t in first + second}) == 8


def test_first_tokens_follow_the_models_distribution():
    engine = make_engine(slots=64)
    run = Conversations(engine)
    prompt = random_prompts(17, 1)[0]
    requests = [run.ask(prompt, 1, top_k=6) for _ in range(6000)]
    run.run()
    with torch.no_grad():
        logits = make_model()(input_ids=torch.tensor(prompt[None])).logits[0, -1]
    top = logits.topk(6)
    counts = np.array([sum(r.tokens == [int(t)] for r in requests) for t in top.indices])
    assert counts.sum() == 6000
    expected = top.values.softmax(-1).numpy() * 6000
    assert ((counts - expected) ** 2 / expected).sum() < 5 + 5 * np.sqrt(2 * 5)


def test_an_output_ends_at_an_end_token_a_stop_token_its_limit_or_the_length():
    def tokens_of(engine, prompt, limit, **settings):
        run = Conversations(engine)
        request = run.ask(prompt, limit, temperature=0.0, **settings)
        run.run()
        return request.tokens

    prompt = random_prompts(18, 1, low=20, high=21)[0]
    free = tokens_of(make_engine(), prompt, 30)
    assert len(free) == 30
    end = free[10]
    cut = free[: free.index(end) + 1]
    assert tokens_of(make_engine(end_tokens={end}), prompt, 30) == cut
    assert tokens_of(make_engine(end_tokens={end}), prompt, 30, ignore_eos=True) == free
    assert tokens_of(make_engine(), prompt, 30, stop_token_ids=frozenset({end})) == cut
    assert tokens_of(make_engine(), prompt, 1) == free[:1]
    assert tokens_of(make_engine(max_length=26), prompt, 30) == free[:6]


def test_an_aborted_request_ends_with_what_it_has_and_the_others_go_on():
    engine = make_engine(slots=4)
    run = Conversations(engine)
    requests = [run.ask(p, 20) for p in random_prompts(19, 6)]
    for _ in range(5):
        engine.step(run.waiting)
    started, never_started = requests[1], requests[5]
    assert started.tokens and not never_started.tokens
    started.aborted = never_started.aborted = True
    had = list(started.tokens)
    engine.step(run.waiting)
    assert started in run.finished and started.tokens == had
    assert never_started in run.finished and never_started.tokens == []
    run.run()
    others = [r for r in requests if not r.aborted]
    assert all(len(r.tokens) == 20 for r in others)
    assert worst_difference([others]) < ROUNDING
