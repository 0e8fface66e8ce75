"""The scores of a file of plans, as they are printed."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from planner_r1.evaluator import RATES
from planner_r1.evaluator.profiles import HOLES
from planner_r1.plan_files import Scores


def print_scores(scores: Scores) -> None:
    """Print the rates by profile, those of a lenient reading where there are any, and the holes."""
    console = Console(highlight=False)
    columns = {**scores.rates, **{f"{profile}, lenient*": found for profile, found in scores.lenient_rates.items()}}
    table = Table("rate", *columns, caption=f"{next(iter(scores.rates.values()))['n']} plans")
    for rate in RATES:
        table.add_row(rate, *(f"{100 * found[rate]:.1f}%" for found in columns.values()))
    console.print(table)
    if scores.lenient_rates:
        _print_lenient(scores)
    if "official" in scores.rates and "strict" in scores.rates:
        _print_holes(scores, console)


def _print_lenient(scores: Scores) -> None:
    verdicts = [record["lenient"] for record in scores.records if "lenient" in record]
    found = sum(verdict["delivered"] for verdict in verdicts)
    print("* not the benchmark's rates: what stands around the JSON of an answer is left out of account")
    print(f"answers without a plan: {len(verdicts)}; a lenient reading finds one in {found} of them")


def _print_holes(scores: Scores, console: Console) -> None:
    print(f"plans that pass official and fail strict: {scores.by_any_hole}")
    if scores.holes:
        table = Table("hole", "plans", "what it is")
        for hole, count in scores.holes.most_common():
            table.add_row(hole, str(count), "; and ".join(HOLES[name] for name in hole.split("+")))
        console.print(table)
