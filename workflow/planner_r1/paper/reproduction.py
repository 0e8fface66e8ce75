"""Does it reproduce? Every claim and every number of the paper with what this study says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from planner_r1.paper import effects
from planner_r1.paper.claims import claims
from planner_r1.paper.comparison import (
    FIELDS,
    HEADLINE,
    LEADERBOARD,
    MARGINS,
    NOT_COMPARABLE,
    NOT_REPRODUCED,
    NOT_RUN,
    REPRODUCED,
    SHARE,
    SPARE,
    TABLE1,
    TABLE2,
    TEST_QUERIES,
    UNDECIDED,
    of_headline,
    of_table1,
    of_table2,
)
from planner_r1.paper.effects import FEWEST
from planner_r1.paper.reference import SOURCE
from planner_r1.paper.render import bar
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import holm
from planner_r1.study import Study

CLAIM = "claim"
PARTS = {TABLE1: "Table 1: TravelPlanner", TABLE2: "Table 2: out-of-domain suites", HEADLINE: "Headline figures"}
VERDICTS = (REPRODUCED, NOT_REPRODUCED, UNDECIDED, NOT_COMPARABLE, NOT_RUN)
CLAIM_VERDICTS = (effects.HOLDS, effects.FAILS, effects.UNDECIDED, effects.NOT_RUN)
RULES = f"""\
**Numbers** are compared only where model, database, split, regime, phases, steps and learning settings are the paper's.
Then the 95% interval of the difference (ours less the paper's) decides, with a margin of {MARGINS[TABLE1]:g} points in
Table 1 and for headline percentages, {MARGINS[TABLE2]:g} in Table 2, {SHARE:.0%} of other headline figures.
*Reproduced*: it includes 0 and lies within the margin; or it lies within {SPARE:.0%} of the margin, which counts as no
difference even where it excludes 0. *Not reproduced*: it excludes 0 and reaches beyond {SPARE:.0%} of the margin.
*Undecided*: it includes 0 but reaches beyond the margin, so that "no difference" is not a finding. *Not comparable*: we
have such a number, but something named above is not the paper's. *Not run*: we have none.

The interval is Welch's from means over seeds (five runs in the paper; one of ours counts as a sixth). Where the paper
prints a single run, it is that of two shares of {TEST_QUERIES:,} queries. A headline figure of ours without an interval
is reproduced where it lies within the margin, else not; a count of runs (five or more) where it is within one run in
five of the paper's, and not where Fisher's exact test tells them apart. Of true numbers one in twenty is "not
reproduced" by chance: p after Holm's correction is in the CSV.

**Claims** are effects with a line to cross, named in each test. *Holds*: the whole 95% interval lies beyond the line,
and p, where the test has one, is below 0.05 after Holm's correction for all claims tested (counts of runs, FLOPs, and
items that all come out alike have an interval alone). *Does not hold*: the whole interval lies below what would matter.
*Undecided* else, also where nothing varies (one run, or seeds that all come out alike) or there are fewer than
{FEWEST} queries or items. n says what varied: seeds; or, where a side has one seed or the seeds are all alike, queries
and items, which tells nothing of how other seeds would come out. Where results are missing, "Tested on" names how many
there are, such as 1 of 2 seeds; the others are not in the test.
"""
HAND_IN = """\
Where the constraints are hidden only TravelPlanner's leaderboard can score the plans: `planner-r1 submission` makes the
file to hand in there from a checkpoint's trajectories.jsonl; the rates that it returns are not read back, so compare
them with the paper's by hand."""


def rows(study: Study, results: Results) -> list[dict]:
    """A row a claim of the paper, then a row a number that it prints, with p-values after Holm's correction by part."""
    told = [_claim(claim) for claim in claims(study, results)]
    for part in (of_table1(study, results), of_table2(study, results), of_headline(study, results)):
        tested = [cells for cells in part if cells["p"] is not None]
        for cells, corrected in zip(tested, holm([cells["p"] for cells in tested]), strict=True):
            cells["p_holm"] = corrected
        told += part
    return told


def _claim(claim: Mapping) -> dict:
    same = ("where", "unit", "low", "high", "n", "varies", "test", "p", "p_holm", "verdict")
    cells = {"part": CLAIM, "quantity": claim["statement"], "model": claim["tested_on"], "ours": claim["effect"]}
    return dict.fromkeys(FIELDS) | cells | {key: claim[key] for key in same} | {"reason": claim["note"]}


def markdown(rows: Sequence[Mapping[str, str]], title: str) -> str:
    """The page for people, from the rows of the CSV."""
    lines = [f"# {title}", "", f"The paper: {SOURCE}. All numbers: reproduction.csv.", "", *_summary(rows), "", RULES]
    lines += ["## Claims", "", *_claims([cells for cells in rows if cells["part"] == CLAIM]), ""]
    lines += ["## Numbers", ""]
    for part, heading in PARTS.items():
        of_part = [cells for cells in rows if cells["part"] == part]
        lines += [f"### {heading}", "", *_numbers(of_part), ""]
        lines += [HAND_IN, ""] * any(cells["reason"] == LEADERBOARD for cells in of_part)
    return "\n".join(lines)


def _summary(rows: Sequence[Mapping[str, str]]) -> list[str]:
    counts = Counter((cells["part"], cells["verdict"]) for cells in rows)
    lines = [bar(["Claims", *CLAIM_VERDICTS]), bar(["---"] + ["---:"] * len(CLAIM_VERDICTS))]
    lines += [bar(["tested on this study's results", *(str(counts[CLAIM, verdict]) for verdict in CLAIM_VERDICTS)]), ""]
    lines += [bar(["Numbers", *VERDICTS]), bar(["---"] + ["---:"] * len(VERDICTS))]
    return lines + [bar([PARTS[part], *(str(counts[part, verdict]) for verdict in VERDICTS)]) for part in PARTS]


def _claims(rows: Sequence[Mapping[str, str]]) -> list[str]:
    tested = [cells for cells in rows if cells["ours"]]
    if not tested:
        lines = ["Nothing could be tested."]
    else:
        lines = [bar(("Claim", "Verdict", "Effect, 95% interval", "n", "p (Holm)", "Tested on")), bar(["---"] * 6)]
        lines += [bar(_tested(number, cells)) for number, cells in enumerate(tested, start=1)]
        lines += ["", "How each was tested:", ""]
        lines += [f"{number}. {_how(cells)}" for number, cells in enumerate(tested, start=1)]
    untested = [cells for cells in rows if not cells["ours"]]
    told = [f"- {cells['quantity']} ({cells['where']}): {cells['reason']}" for cells in untested]
    return [*lines, "", "Not run:", "", *told] if told else lines


def _tested(number: int, cells: Mapping[str, str]) -> tuple[str, ...]:
    claim, n = f"{number}. {cells['quantity']} ({cells['where']})", f"{cells['n']} {cells['varies']}"
    n = n.removesuffix("s") if cells["n"] == "1" else n
    return claim, f"**{cells['verdict']}**", _effect(cells), n, _p(cells), cells["model"]


def _how(cells: Mapping[str, str]) -> str:
    reason = f" {_sentence(cells['verdict'])}: {cells['reason']}." if cells["reason"] else ""
    return f"{_sentence(cells['test'])}.{reason}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _effect(cells: Mapping[str, str]) -> str:
    value = f"{_figure(cells['ours'])} {cells['unit']}".replace(" %", "%")
    return value if cells["low"] == "" else f"{value} [{_figure(cells['low'])}, {_figure(cells['high'])}]"


def _p(cells: Mapping[str, str]) -> str:
    return "" if cells["p"] == "" else f"{_small(cells['p'])} ({_small(cells['p_holm'])})"


def _small(p: str) -> str:
    return "<0.001" if float(p) < 0.001 else f"{float(p):.3f}"


def _figure(text: str) -> str:
    """A number in few digits; FLOPs as 2.1e20."""
    try:
        value = float(text)
    except ValueError:
        return text
    return f"{value:.2g}".replace("e+", "e") if abs(value) >= 1e6 else f"{value:.1f}"


def _numbers(rows: Sequence[Mapping[str, str]]) -> list[str]:
    compared = [cells for cells in rows if cells["difference"]]
    lines = []
    if compared:
        lines = [bar(("Number", "Paper", "Ours (n)", "Difference, 95% interval", "p", "Verdict")), bar(["---"] * 6)]
        lines += [bar(_compared(cells)) for cells in compared] + [""]
    return lines + list(_others([cells for cells in rows if not cells["difference"]]))


def _compared(cells: Mapping[str, str]) -> tuple[str, ...]:
    paper = _figure(cells["paper"]) + (f" ± {_figure(cells['paper_ci'])}" if cells["paper_ci"] else "")
    ours = f"{_figure(cells['ours'])} ({cells['n']})"
    ends = f" [{_figure(cells['difference_low'])}, {_figure(cells['difference_high'])}]"
    verdict = f"**{cells['verdict']}**" + (f": {cells['reason']}" if cells["reason"] else "")
    difference = "+" * (float(cells["difference"]) >= 0) + _figure(cells["difference"]) + ends
    return _place(cells), paper, ours, difference, "" if cells["p"] == "" else _small(cells["p"]), verdict


def _place(cells: Mapping[str, str]) -> str:
    row = cells["where"].rpartition(", ")[2] if cells["part"] != HEADLINE else cells["model"]
    step = f", step {cells['steps']}" if cells["steps"] else ""
    return f"{row}{', ' + cells['regime'] if cells['regime'] else ''}{step}: {cells['quantity']}"


def _others(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """What was not compared, a line a verdict and reason: the rows of the paper's table, and how many numbers."""
    groups: dict[tuple[str, str], Counter] = {}
    for cells in rows:
        place = _place(cells)
        shown = place if cells["part"] == HEADLINE else place.partition(":")[0]
        groups.setdefault((cells["verdict"], cells["reason"]), Counter())[shown] += 1
    for (verdict, reason), places in groups.items():
        told = "; ".join(place + f" ({count})" * (count > 1) for place, count in places.items())
        yield f"- *{verdict}*, {reason}: {told}"
