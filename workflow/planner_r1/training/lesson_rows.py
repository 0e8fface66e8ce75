"""Lessons as files of token ids, and the dataset that verl's supervised trainer reads them with.

verl's own dataset renders each message by the chat template alone, which for Qwen3 gives other tokens than a rollout
has: the template puts an empty thought into the last turn only, a rollout one before every turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch.utils.data import Dataset


@dataclass(frozen=True)
class Lesson:
    """An episode as tokens: `ids`, and for each whether it is the assistant's own; `prompt` opening tokens precede."""

    ids: Sequence[int]
    own: Sequence[int]
    prompt: int


def write_lessons(lessons: Sequence[Lesson], out: Path) -> None:
    """Write one row a lesson: columns input_ids and loss_mask, lists of int32."""
    columns = {
        "input_ids": pa.array([lesson.ids for lesson in lessons], pa.list_(pa.int32())),
        "loss_mask": pa.array([lesson.own for lesson in lessons], pa.list_(pa.int32())),
    }
    pq.write_table(pa.table(columns), out)


class LessonDataset(Dataset):
    """`max_samples` samples: the lessons over and over, each as often as any other, give or take one."""

    def __init__(self, parquet_files, tokenizer, config, processor=None, max_samples: int = -1):
        (path,) = parquet_files
        table = pq.read_table(path)
        self._ids, self._own = table["input_ids"].combine_chunks(), table["loss_mask"].combine_chunks()
        self._samples = max_samples if max_samples > 0 else len(self._ids)

    def __len__(self) -> int:
        return self._samples

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        row = index % len(self._ids)
        ids = torch.tensor(self._ids[row].values.to_numpy(), dtype=torch.long)
        own = torch.tensor(self._own[row].values.to_numpy(), dtype=torch.long)
        return {"input_ids": ids, "position_ids": torch.arange(len(ids)), "loss_mask": own}
