"""How fast the CPU engine generates, beside transformers' own `generate` on the same conversations.

    python benchmarks/rollout.py

64 conversations at once (8 prompts, 8 of each, as in a training step), each of about 550 tokens: a prompt of 120, five
tool turns of about 15 generated tokens and 50 of the tool, and an answer of about 120. The model is a random Qwen3 of
0.5 M parameters; when an output ends is laid down beforehand, so that both do the same work. `generate` is called once
a turn with all conversations padded on the left, as a loop around it would.

Engine: one thread, as in the rollout server. `generate`: all of the machine's cores. Median of several rounds. The
rate per CPU second is the steadier one when other processes want the cores too.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: idle threads must not keep a core busy

import copy
import statistics
import time
from collections import deque

import numpy as np
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from planner_r1.training.cpu.engine import Engine, Request
from planner_r1.training.cpu.sampling import SamplingParameters

PROMPTS, SAMPLES, VOCABULARY, SLOTS, MAX_LENGTH = 8, 8, 1000, 64, 800
ENGINE_ROUNDS, GENERATE_ROUNDS = 7, 3
BAR = 4000


class Script:
    """What happens in one round: prompts, and turn by turn how much is generated and what the tool replies."""

    def __init__(self, seed: int):
        random = np.random.default_rng(seed)
        conversations = PROMPTS * SAMPLES
        prompts = [random.integers(2, VOCABULARY, 120) for _ in range(PROMPTS)]
        self.prompts = [prompts[i // SAMPLES] for i in range(conversations)]
        self.generated = [random.integers(10, 21, conversations) for _ in range(5)]
        self.generated.append(random.integers(100, 141, conversations))
        self.replies = [
            [random.integers(2, VOCABULARY, n) for n in random.integers(35, 66, conversations)] for _ in range(5)
        ]
        self.total = int(sum(lengths.sum() for lengths in self.generated))


def make_model() -> Qwen3ForCausalLM:
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        intermediate_size=384,
        tie_word_embeddings=True,
        eos_token_id=0,
        pad_token_id=0,
    )
    return Qwen3ForCausalLM(config).eval()


def run_engine(engine: Engine, script: Script) -> None:
    """One round; every conversation goes on as soon as its own turn has ended."""
    waiting: deque[Request] = deque()
    finished: list[tuple[int, int, Request]] = []

    def ask(conversation: int, turn: int, tokens: np.ndarray) -> None:
        waiting.append(
            Request(
                tokens,
                SamplingParameters(ignore_eos=True),
                int(script.generated[turn][conversation]),
                lambda request: finished.append((conversation, turn, request)),
            )
        )

    for conversation, prompt in enumerate(script.prompts):
        ask(conversation, 0, prompt)
    while waiting or engine.active:
        engine.step(waiting)
        for conversation, turn, request in finished:
            if turn < 5:
                reply = script.replies[turn][conversation]
                ask(conversation, turn + 1, np.concatenate([request.prompt, request.tokens, reply]))
        finished.clear()


@torch.inference_mode()
def run_generate(model: Qwen3ForCausalLM, script: Script) -> None:
    """The same round by `generate`: a turn lasts as long as its longest output."""
    histories = list(script.prompts)
    for turn, lengths in enumerate(script.generated):
        width = max(map(len, histories))
        tokens = torch.tensor(np.stack([np.pad(h, (width - len(h), 0)) for h in histories]))
        mask = torch.tensor(np.stack([np.arange(width) >= width - len(h) for h in histories])).long()
        longest = int(lengths.max())
        output = model.generate(
            tokens,
            attention_mask=mask,
            do_sample=True,
            top_k=0,
            min_new_tokens=longest,
            max_new_tokens=longest,
        ).numpy()
        if turn < 5:
            histories = [
                np.concatenate([h, row[width : width + n], reply])
                for h, row, n, reply in zip(histories, output, lengths, script.replies[turn], strict=True)
            ]


def measure(name: str, run, rounds: int) -> float:
    """Run rounds, print the rates, and return the median in generated tokens a second."""
    rates, cpu_rates = [], []
    for number in range(rounds + 1):
        script = Script(seed=number)
        wall, cpu = time.perf_counter(), time.process_time()
        run(script)
        if number:  # the first round warms up
            rates.append(script.total / (time.perf_counter() - wall))
            cpu_rates.append(script.total / (time.process_time() - cpu))
    median = statistics.median(rates)
    print(
        f"{name:24s} {median:7.0f} tokens/s (median of {rounds}; {min(rates):.0f} to {max(rates):.0f}), "
        f"{statistics.median(cpu_rates):.0f} a CPU second"
    )
    return median


def main() -> None:
    model = make_model()
    parameters = sum(p.numel() for p in model.parameters())
    cores = os.cpu_count()
    print(f"{PROMPTS * SAMPLES} conversations of six turns, {parameters / 1e6:.2f} M parameters, {cores} cores")
    engine = Engine(copy.deepcopy(model), set(), SLOTS, MAX_LENGTH, seed=0)

    def engine_round(script: Script) -> None:
        engine.weights_changed(version=0)  # each round starts as a training step does: with nothing cached
        run_engine(engine, script)

    torch.set_num_threads(1)
    engine_rate = measure("engine, one thread", engine_round, ENGINE_ROUNDS)
    done = engine.statistics
    print(
        f"{'':24s} {done.generated / done.passes:.0f} rows a pass; of the prompts' tokens "
        f"{done.reused / (done.reused + done.prefilled):.0%} were found cached"
    )
    torch.set_num_threads(cores)
    generate_rate = measure(f"generate, {cores} threads", lambda script: run_generate(model, script), GENERATE_ROUNDS)
    print(f"ratio {engine_rate / generate_rate:.1f}; bar {BAR} tokens/s: {'met' if engine_rate >= BAR else 'MISSED'}")


if __name__ == "__main__":
    main()
