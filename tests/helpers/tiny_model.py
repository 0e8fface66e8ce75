"""A model small enough to run verl in a test, and the world, queries and rows that go with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from planner_r1.agent.query_generator import QuerySpec, draw_queries
from planner_r1.queries import Query
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store
from planner_r1.sandbox.synthetic import WorldSpec, write_world
from planner_r1.training.launch import TrainSpec
from planner_r1.training.rows import write_parquet
from planner_r1.training.tokenizer import learn_tokenizer

TEMPLATE = "Plan a trip with the tools. Answer in <answer></answer>."


@dataclass(frozen=True)
class TinyStudy:
    """Everything that a run needs, in one folder."""

    store: Path
    model: Path
    train: Path
    validation: Path
    train_queries: list[Query]
    validation_queries: list[Query]


def make_tiny_study(folder: Path, train: int = 16, validation: int = 4) -> TinyStudy:
    """A world of three cities, an untrained two-layer model with a tokenizer learnt from it, and parquet rows."""
    write_world(WorldSpec(), folder / "world")
    build(folder / "world", folder / "store")
    store = Store.open(folder / "store")
    spec = QuerySpec(days=(3,), n_days=14)
    validation_queries = draw_queries(store, spec, validation, seed=1)
    train_queries = draw_queries(store, spec, train, seed=2, avoid=validation_queries)
    write_parquet(train_queries, folder / "train.parquet", "train", TEMPLATE)
    write_parquet(validation_queries, folder / "validation.parquet", "validation", TEMPLATE)
    save_tiny_model(folder / "model", [q.query for q in train_queries])
    return TinyStudy(
        store=folder / "store",
        model=folder / "model",
        train=folder / "train.parquet",
        validation=folder / "validation.parquet",
        train_queries=train_queries,
        validation_queries=validation_queries,
    )


def tiny_run(study: TinyStudy, folder: Path, name: str, steps: int, **changes) -> TrainSpec:
    """A run of some steps under stage 1 with a checkpoint and a validation at its end; `changes` are its fields."""
    settings = {
        "name": name,
        "model_path": study.model,
        "train_parquet": study.train,
        "validation_parquet": study.validation,
        "store": study.store,
        "phases": [{"weights": "stage1", "steps": steps}],
        "seed": 0,
        "work": folder / "work",
        "out": folder / "out",
        "save_every": steps,
        "test_every": steps,
    }
    return TrainSpec(**settings | changes)


def save_tiny_model(out: Path, texts: list[str], seed: int = 0) -> None:
    """An untrained Qwen3 of two layers with a tokenizer learnt from `texts`."""
    tokenizer = learn_tokenizer([TEMPLATE, *texts], vocabulary=400, context=1024)
    torch.manual_seed(seed)
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=32,
            max_position_embeddings=1024,
            tie_word_embeddings=True,
            rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
