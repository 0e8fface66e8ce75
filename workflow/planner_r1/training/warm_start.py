"""A tiny Qwen3 that can already use the tools a little: where the default study's training starts.

Tokenizer and model are made from the world's own text. The model is fine-tuned on the oracle's trajectories, some of
which hold mistakes, until it passes a share of held-out queries: a model that never passes has nothing to learn from a
sparse reward, one that always passes has nothing left to learn.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch
from transformers import (
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from planner_r1.agent.oracle import first_listed, plan_for
from planner_r1.agent.prompt import render_messages
from planner_r1.agent.trajectories import demonstration
from planner_r1.errors import InputError
from planner_r1.queries import Query
from planner_r1.sandbox.store import Store
from planner_r1.sandbox.tools import TOOL_SCHEMAS
from planner_r1.training.optimizer import MuonWithAdamW
from planner_r1.training.practice import pass_rate
from planner_r1.training.tokenizer import learn_tokenizer

IGNORED = -100  # label of a token that is not the model's own


@dataclass(frozen=True)
class WarmStartSpec:
    """Size of the model, and how long it is fine-tuned.

    A share `careless` of the demonstrations takes whatever is listed first, each kind of slip is made with probability
    `slips`, and a needless call before each look-up with `detours`; a service fails with `failures`. Fine-tuning ends
    as soon as a check finds at least `target_pass` of `check_queries` held-out queries passed when sampling at
    temperature 1, as training will, and at the latest after `max_steps`.
    """

    seed: int = 0
    hidden_size: int = 128
    intermediate_size: int = 384
    layers: int = 2
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 32
    vocabulary: int = 2048
    context: int = 1024
    max_steps: int = 300
    batch_size: int = 8
    learning_rate: float = 3e-3
    careless: float = 0.6
    slips: float = 0.03
    detours: float | None = None
    failures: float | None = None
    target_pass: float = 0.2
    check_every: int = 100
    check_queries: int = 48
    max_tool_reply: int = 4096


def warm_start(
    spec: WarmStartSpec,
    store: Store,
    template: str,
    train: list[Query],
    held_out: list[Query],
    out: Path,
    report: Callable[[str], None] = print,
) -> dict:
    """Make tokenizer and model and fine-tune them; the folder `out` holds both in Hugging Face's layout.

    Returns what was reached: steps, loss, pass rate on the held-out queries.

    Raises:
        InputError: the oracle can plan none of the training queries.
    """
    rng = random.Random(spec.seed)
    episodes = _demonstrations(spec, store, template, train, rng)
    tokenizer = _tokenizer(spec, episodes)
    model = _model(spec, tokenizer)
    renderer = _Renderer(tokenizer, spec.context)
    dataset = [renderer.example(episode) for episode in episodes]
    longest = max(len(e["input_ids"]) for e in dataset)
    report(f"{model.num_parameters():,} parameters, {len(tokenizer):,} tokens in the vocabulary")
    report(f"{len(dataset):,} demonstrations of up to {longest} tokens")
    check = _Check(spec, tokenizer, store, template, held_out[: spec.check_queries], report)
    steps, loss = _fine_tune(spec, model, dataset, check)
    out = Path(out)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    return {"steps": steps, "loss": loss, "held_out_pass": check.passed, "parameters": model.num_parameters()}


def _demonstrations(spec: WarmStartSpec, store: Store, template: str, train: list[Query], rng) -> list[list[dict]]:
    """As many episodes (lists of messages) as fine-tuning can see, each with mistakes of its own."""
    trips = [(query, trip, first_listed(query, store)) for query in train if (trip := plan_for(query, store))]
    if not trips:
        raise InputError("warm start: the oracle finds a plan for none of the training queries; see key 'queries'")
    episodes = []
    for _ in range(spec.max_steps * spec.batch_size):
        query, careful, careless = rng.choice(trips)
        trip = careless if careless and rng.random() < spec.careless else careful
        episode = demonstration(query, trip, store, rng, spec.slips, spec.detours, spec.failures)
        for message in episode:
            if message["role"] == "tool":
                message["content"] = message["content"][: spec.max_tool_reply]
        episodes.append([*render_messages(query.query, template), *episode])
    return episodes


def _tokenizer(spec: WarmStartSpec, episodes: list[list[dict]]) -> PreTrainedTokenizerFast:
    names = [f"{f['name']}({', '.join(f['parameters']['properties'])})" for f in (t["function"] for t in TOOL_SCHEMAS)]
    frame = "system\nTools:\n" + "\n".join(names) + "\nuser\nassistant\n"
    sample = episodes[:1000]
    return learn_tokenizer((frame + "\n".join(m["content"] for m in e) for e in sample), spec.vocabulary, spec.context)


def _model(spec: WarmStartSpec, tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    torch.manual_seed(spec.seed)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=spec.hidden_size,
        intermediate_size=spec.intermediate_size,
        num_hidden_layers=spec.layers,
        num_attention_heads=spec.heads,
        num_key_value_heads=spec.kv_heads,
        head_dim=spec.head_dim,
        max_position_embeddings=spec.context,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = Qwen3ForCausalLM(config)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    return model


class _Renderer:
    """Episodes as token ids, as the trainer would render them. Texts recur (a city has one list of restaurants), so
    each is tokenized once."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, context: int):
        self._tokenizer, self._context = tokenizer, context
        self._ids = lru_cache(maxsize=None)(self._tokenize)

    def example(self, episode: list[dict]) -> dict[str, list[int]]:
        """Ids of an episode, and labels on the assistant's turns alone."""
        ids = list(self._opening(episode[:2]))
        labels = [IGNORED] * len(ids)
        for message in episode[2:]:
            tokens = self._ids(message["role"], message["content"])
            ids += tokens
            labels += tokens if message["role"] == "assistant" else [IGNORED] * len(tokens)
        return {"input_ids": ids[: self._context], "labels": labels[: self._context]}

    def _opening(self, messages: list[dict]) -> list[int]:
        text = self._tokenizer.apply_chat_template(
            messages, tools=TOOL_SCHEMAS, tokenize=False, add_generation_prompt=True
        )
        return self._tokenizer.encode(text, add_special_tokens=False)

    def _tokenize(self, role: str, content: str) -> list[int]:
        if role == "assistant":
            text = content + self._tokenizer.eos_token
        else:
            message = [{"role": role, "content": content}]
            text = "\n" + self._tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
        return self._tokenizer.encode(text, add_special_tokens=False)


def _collate(pad: int) -> Callable[[list[dict]], dict[str, torch.Tensor]]:
    """Right padding without a mask: attention is causal, so padding cannot be seen from the left of it."""

    def collate(batch: list[dict]) -> dict[str, torch.Tensor]:
        width = max(len(e["input_ids"]) for e in batch)
        return {
            "input_ids": torch.tensor([e["input_ids"] + [pad] * (width - len(e["input_ids"])) for e in batch]),
            "labels": torch.tensor([e["labels"] + [IGNORED] * (width - len(e["labels"])) for e in batch]),
        }

    return collate


def _fine_tune(spec: WarmStartSpec, model: Qwen3ForCausalLM, dataset: list[dict], check: _Check) -> tuple[int, float]:
    arguments = TrainingArguments(
        output_dir=tempfile.gettempdir(),  # nothing is saved there
        max_steps=spec.max_steps,
        per_device_train_batch_size=spec.batch_size,
        learning_rate=spec.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=min(20, spec.max_steps // 4),
        logging_strategy="no",
        save_strategy="no",
        report_to=[],
        seed=spec.seed,
        use_cpu=True,
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=False,
    )
    optimizer = MuonWithAdamW(model, spec.learning_rate)
    trainer = _OwnTokenTrainer(
        model=model,
        args=arguments,
        train_dataset=dataset,
        data_collator=_collate(model.config.pad_token_id),
        optimizers=(optimizer, None),
        callbacks=[check],
    )
    result = trainer.train()
    return result.global_step, result.training_loss


class _OwnTokenTrainer(Trainer):
    """Computes logits for the assistant's own tokens alone: four tokens in five are read, not written."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        hidden = model.base_model(input_ids=inputs["input_ids"], use_cache=False).last_hidden_state[:, :-1]
        labels = inputs["labels"][:, 1:]
        own = labels != IGNORED
        return torch.nn.functional.cross_entropy(model.lm_head(hidden[own]), labels[own])


class _Check(TrainerCallback):
    """Ends fine-tuning once enough held-out queries are passed."""

    def __init__(self, spec: WarmStartSpec, tokenizer, store: Store, template: str, queries: list[Query], report):
        self.spec, self.tokenizer, self.store, self.template = spec, tokenizer, store, template
        self.queries, self.report = queries, report
        self.passed = 0.0

    def rate(self, model) -> float:
        spec = self.spec
        return pass_rate(
            model, self.tokenizer, self.store, self.template, self.queries, spec.context, spec.max_tool_reply
        )

    def on_step_end(self, args, state, control, model=None, **_):
        last = state.global_step >= args.max_steps
        if state.global_step % self.spec.check_every and not last:
            return
        model.eval()
        self.passed = self.rate(model)
        model.train()
        held_out = f"{self.passed:.0%} of {len(self.queries)} held-out queries"
        self.report(f"step {state.global_step}/{args.max_steps}: passes {held_out}")
        control.should_training_stop = last or self.passed >= self.spec.target_pass
