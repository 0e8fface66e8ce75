"""The numbers the paper prints, as copied into `reference/`, each file with its source in its first lines."""

from __future__ import annotations

import csv
from importlib.resources import files

SOURCE = "arXiv 2509.25779v2"
SEEDS = 5  # runs behind each mean of the paper's own models (its section 3.2)


def reference(name: str) -> list[dict[str, str]]:
    """The rows of `table1`, `table2` or `headline`, as text; an empty cell was not printed."""
    text = files(__package__).joinpath("reference", f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
