"""Queries as verl's parquet rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from planner_r1.agent.prompt import render_messages, template_hash
from planner_r1.errors import InputError
from planner_r1.queries import Query
from planner_r1.training.verl_files import AGENT_LOOP

DATA_SOURCE = "travel"  # verl groups validation metrics by it
TEMPLATE_KEY = b"planner_r1.prompt_template"


def write_parquet(queries: Iterable[Query], out: str | Path, split: str, template: str) -> None:
    """Write one row a query: the opening messages, the query as ground truth, the agent loop's name.

    The columns are the ones verl reads: data_source, agent_name, prompt, ability, reward_model, extra_info. The hash
    of the prompt template is kept in the file's metadata; equal queries give equal bytes.
    """
    table = pa.Table.from_pylist([_row(query, split, template) for query in queries])
    table = table.replace_schema_metadata({TEMPLATE_KEY: template_hash(template)})
    pq.write_table(table, out)


def prompt_template_hash(parquet: str | Path) -> str | None:
    """The hash of the template that the prompts of a file were made from."""
    value = (pq.read_schema(parquet).metadata or {}).get(TEMPLATE_KEY)
    return value.decode() if value else None


def row_count(parquet: str | Path) -> int:
    """The number of rows of a file."""
    return pq.read_metadata(parquet).num_rows


def write_first_rows(parquet: str | Path, size: int, out: str | Path) -> None:
    """Write the first `size` rows of a file, so that a smaller set is part of every larger one.

    Raises:
        InputError: the file has fewer.
    """
    table = pq.read_table(parquet)
    if table.num_rows < size:
        raise InputError(
            f"{parquet}: {table.num_rows} queries, but a regime's train_queries asks for {size}; give the train split "
            "more queries or ask for fewer"
        )
    pq.write_table(table.slice(0, size), out)


def _row(query: Query, split: str, template: str) -> dict:
    return {
        "data_source": DATA_SOURCE,
        "agent_name": AGENT_LOOP,
        "prompt": render_messages(query.query, template),
        "ability": "planning",
        "reward_model": {"style": "rule", "ground_truth": json.dumps(query.to_json(), ensure_ascii=False)},
        "extra_info": {"split": split, "index": query.idx, "idx": query.idx},
    }
