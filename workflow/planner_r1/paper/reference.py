"""The numbers the paper prints, as copied into `reference/`, each file with its source in its first lines."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

import yaml

SOURCE = "arXiv 2509.25779v2"
SEEDS = 5  # runs behind each mean of the paper's own models (its section 3.2)


def reference(name: str) -> list[dict[str, str]]:
    """The rows of `table1`, `table2`, `headline` or `decoding`, as text; an empty cell was not printed."""
    text = files(__package__).joinpath("reference", f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


@cache
def training_listing() -> dict:
    """The paper's training settings, as it lists them."""
    return yaml.safe_load(files(__package__).joinpath("reference", "training.yaml").read_text(encoding="utf-8"))
