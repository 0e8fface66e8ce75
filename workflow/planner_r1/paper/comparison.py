"""Every number that the paper prints, beside ours, and whether it is reproduced.

A number is compared only where model, world (the official database), split (the official test set), regime, phases and
steps are the paper's, and no setting that learning depends on is another; else it is `not comparable`, or, where the
study has nothing that could stand beside it, `not run`.

The 95% interval of the difference decides. It includes 0 and lies within the margin, or lies within a tenth of the
margin, wherever 0 is: `reproduced`. It excludes 0 and reaches beyond a tenth of the margin: `not reproduced`. It
includes 0 but reaches beyond the margin: `undecided`, since with too few seeds anything would agree. The interval is
found as fits what the paper prints:

- a mean and a half-width: Welch's, from both sides' means and half-widths, the paper's over five runs (also where it
  does not say how many). One run of ours counts as a sixth of the paper's.
- a single run: both rates as shares of 1,000 independent queries, Newcombe's interval. They are the same queries, so
  that the interval is wider than it need be.
- a headline figure, without any: our interval less the figure; where we have none either, the difference alone must
  lie within the margin.
- a count of runs: within one run in five is reproduced, Fisher's exact test at 0.05 says that it is not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from scipy import stats

from planner_r1.paper.evidence import PAPERS, count_queries
from planner_r1.paper.reference import SEEDS, reference, training_listing
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import LEVEL, Difference, Summary, proportions, welch
from planner_r1.paper.tables import memory, table1, table2
from planner_r1.reward import weights_label
from planner_r1.study import BASE_REGIME, OFFICIAL, UNDER, Study

REPRODUCED, NOT_REPRODUCED, UNDECIDED = "reproduced", "not reproduced", "undecided"
NOT_COMPARABLE, NOT_RUN = "not comparable", "not run"
TABLE1, TABLE2, HEADLINE = "table 1", "table 2", "headline"
# Points that a difference may lie within, by part; of a headline figure other than a percentage, a share of it.
MARGINS = {TABLE1: 10.0, TABLE2: 5.0}
SHARE = 0.2
SPARE = 0.1  # of the margin: an interval that lies within it counts as no difference, though it may exclude 0
TEST_QUERIES = 1_000  # of the official test split
RUNS = "of 5 runs"
FIGURES = "figure against figure"
PAPERS_ALGORITHM = "grpo"
LEADERBOARD = "constraints hidden: needs the leaderboard"
METRICS = table1.COLUMNS[:6]  # the paper's six
FIELDS = ("part", "where", "quantity", "model", "regime", "steps", "unit", "paper", "paper_ci", "ours", "low", "high")
FIELDS += ("n", "varies", "difference", "difference_low", "difference_high", "test", "p", "p_holm", "verdict", "reason")
# verl's keys that learning depends on; others say where and how fast it is done.
LEARNING = re.compile(
    r"algorithm\.|data\.(train_batch_size|max_)|actor_rollout_ref\.(actor\.(optim|clip|loss|policy_loss|entropy|kl|use_kl"
    r"|ppo_mini|ppo_epochs)|rollout\.(n$|temperature|top_|response|multi_turn|val_kwargs))"
)
# Headline figures that are settings, or stand in Table 1 as well.
SETTINGS = ("train_queries", "test_queries", "max_steps", "seeds", "peak_flops_per_gpu", "world_size")
SETTINGS += ("gpt5_final_pass",)
# Headline figures that come of passes on the official test set; ours come of the validations.
OF_TEST_SPLIT = ("final_pass", "flops_to", "compute_efficiency", "improvement")


@dataclass(frozen=True)
class Number:
    """A number that the paper prints. `ci`: half-width of its 95% interval; None of a single run."""

    part: str
    where: str
    quantity: str
    model: str
    regime: str
    steps: str
    value: float
    ci: float | None
    unit: str = "percent"


@dataclass(frozen=True)
class Own:
    """What this study has beside it: a value with its interval over n seeds, and what stands against comparing it; or
    `absent`, why it has nothing."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    obstacles: tuple[str, ...] = ()
    absent: str = ""


# ---- the rule -------------------------------------------------------------------------------------------------------


def judge(difference: Difference, margin: float) -> str:
    """The verdict on a number, from the interval of the difference; one wholly within a tenth of the margin counts as
    no difference, whether or not it includes 0."""
    low, high = difference.low, difference.high
    if low <= 0 <= high:
        return REPRODUCED if -margin <= low and high <= margin else UNDECIDED
    return REPRODUCED if -SPARE * margin <= low and high <= SPARE * margin else NOT_REPRODUCED


def difference(printed: Number, own: Own) -> tuple[Difference, str]:
    """Ours less the paper's in the number's unit, and how it was found."""
    if printed.unit == RUNS:
        return _counted(printed, own), "Fisher's exact test"
    if printed.part == HEADLINE:
        return _from_figure(printed, own)
    if printed.ci is None:
        found = proportions(own.value / 100, TEST_QUERIES, printed.value / 100, TEST_QUERIES)
        percent = Difference(*(100 * value for value in (found.mean, found.low, found.high)), found.p)
        return percent, f"shares of {TEST_QUERIES:,} queries"
    papers = Summary.of(printed.value, printed.ci, SEEDS)
    if own.n > 1 and own.high is not None:
        return welch(Summary.of(own.value, own.high - own.value, own.n), papers), "Welch"
    return welch(Summary(own.value, 0.0, 1), papers), f"one run beside {SEEDS}"


def judge_runs(found: Difference, n: int) -> str:
    """The verdict on a count of runs, in runs of the paper's five."""
    if n >= SEEDS and abs(found.mean) <= 1:
        return REPRODUCED
    return NOT_REPRODUCED if found.p is not None and found.p < 1 - LEVEL else UNDECIDED


def _counted(printed: Number, own: Own) -> Difference:
    """Ours less the paper's as runs of five; by Fisher's exact test, as the counts are small."""
    found = proportions(own.value / own.n, own.n, printed.value / SEEDS, SEEDS)
    counts = [[own.value, own.n - own.value], [printed.value, SEEDS - printed.value]]
    p = float(stats.fisher_exact(counts).pvalue)
    return Difference(SEEDS * found.mean, SEEDS * found.low, SEEDS * found.high, p)


def _from_figure(printed: Number, own: Own) -> tuple[Difference, str]:
    mean = own.value - printed.value
    if own.low is None or own.high is None:
        return Difference(mean, mean, mean, None), FIGURES
    return Difference(mean, own.low - printed.value, own.high - printed.value, None), "our interval"


def margin(printed: Number) -> float:
    """What the difference must lie within, in the number's unit."""
    if printed.part in MARGINS:
        return MARGINS[printed.part]
    return MARGINS[TABLE1] if printed.unit == "percent" else SHARE * abs(printed.value)


def row(printed: Number, own: Own) -> dict:
    """A row of the CSV; a difference only where it is comparable."""
    cells = {"part": printed.part, "where": printed.where, "quantity": printed.quantity, "model": printed.model}
    cells |= {"regime": printed.regime, "steps": printed.steps, "unit": printed.unit}
    cells |= {"paper": printed.value, "paper_ci": printed.ci, "verdict": NOT_RUN, "reason": own.absent}
    if own.value is not None:
        cells |= {"ours": own.value, "low": own.low, "high": own.high, "n": own.n, "varies": "seeds"}
    if own.absent:
        return dict.fromkeys(FIELDS) | cells
    if own.obstacles:
        cells |= {"verdict": NOT_COMPARABLE, "reason": ", ".join(own.obstacles)}
    else:
        found, test = difference(printed, own)
        ends = {"difference": found.mean, "difference_low": found.low, "difference_high": found.high}
        if printed.unit == RUNS:
            verdict = judge_runs(found, own.n)
        elif test == FIGURES:
            verdict = REPRODUCED if abs(found.mean) <= margin(printed) else NOT_REPRODUCED
        else:
            verdict = judge(found, margin(printed))
        reason = _why_undecided(printed, own) if verdict == UNDECIDED else ""
        cells |= ends | {"test": test, "p": found.p, "verdict": verdict, "reason": reason}
    return dict.fromkeys(FIELDS) | cells


def _why_undecided(printed: Number, own: Own) -> str:
    if printed.unit == RUNS:
        return f"{own.n} runs tell too little"
    if printed.ci is not None and printed.ci > margin(printed):
        return f"the paper's own interval reaches beyond the margin (±{printed.ci:g})"
    return "the interval reaches beyond the margin"


# ---- what stands against comparing ----------------------------------------------------------------------------------


def training_obstacles(study: Study, model: str, regime: str) -> Iterator[str]:
    """What of a regime is not as in the paper. How many steps it has matters in a curriculum only: under one phase at a
    constant learning rate a step is what a run of so many steps gives."""
    phases = study.run(model, regime, study.seeds_of(regime)[0]).phases
    curriculum = training_listing()["rewards"]["curriculum"]
    expected = [(f"stage{i}", n) for i, n in enumerate(curriculum.get(model, ()), start=1)]
    if regime == "curriculum":
        as_printed = [(weights_label(phase.weights), phase.steps) for phase in phases] == expected
    else:
        as_printed = [weights_label(phase.weights) for phase in phases] == [regime]
    if not as_printed:
        yield "other phases"
    if study.profile(regime) != OFFICIAL:
        yield f"the {study.profile(regime)} profile pays"
    algorithm = study.algorithm(regime) or PAPERS_ALGORITHM
    name = algorithm if isinstance(algorithm, str) else algorithm["name"]
    if name != PAPERS_ALGORITHM:
        yield f"another algorithm ({name})"
    if study.training_noise(regime):
        yield f"noise in training ({study.noise_name(regime)})"
    changed = sorted(key for key, value in study.regime_overrides(regime).items() if _changed(key, value))
    if changed:
        yield f"other settings ({', '.join(key.rpartition('.')[2] for key in changed)})"


def _changed(key: str, value) -> bool:
    """Whether a key of verl's configuration is one that learning depends on, and not as the paper lists it."""
    if not LEARNING.match(key):
        return False
    listed = training_listing()["verl"]
    for part in key.split("."):
        listed = listed.get(part) if isinstance(listed, Mapping) else None
    return value != listed


def world_obstacles(study: Study) -> Iterator[str]:
    if not study.official:
        yield f"another world ({study.world_label})" if study.world else "not the complete database"


def model_obstacles(study: Study, model: str) -> Iterator[str]:
    if study.warm_start(model):
        yield f"another model ({model} made here)"
    if model in study.fine_tuned:
        yield f"another start ({model} was fine-tuned first)"


def unlike(study: Study, model: str, regime: str, ran: Collection[tuple[str, str]]) -> Own:
    """What to say of a row whose model or regime this study has not; `ran`: the models and regimes that it has results
    of."""
    others = [other for other in study.trainable if regime == BASE_REGIME or regime in study.regimes_of(other)]
    if model in study.models:
        return Own(absent=f"{model} is not trained under {regime} here")
    if model not in PAPERS or not study.trainable:
        return Own(absent=f"{model} is not in this study")
    if not others:
        return Own(absent=f"nothing is trained under {regime}")
    found = [other for other in others if (other, regime) in ran]
    if not found:
        return Own(absent="no results")
    return Own(obstacles=(f"another model ({', '.join(found)})", *world_obstacles(study)))


# ---- Table 1 --------------------------------------------------------------------------------------------------------


def of_table1(study: Study, results: Results) -> list[dict]:
    """A row for each number of the paper's Table 1."""
    own = [found for found in results.table("table1") or () if found["source"] == table1.OURS]
    whole = _is_official_test(study, results)
    ran = {(found["model"], found["regime"]) for found in own if found["n"] != "0"}
    rows = []
    for printed in reference("table1"):
        model, regime = printed["model"], printed["regime"]
        alike = [found for found in own if (found["model"], found["regime"]) == (model, regime)]
        for key, _, _, heading in METRICS:
            ci = float(printed[f"{key}_ci"]) if printed[f"{key}_ci"] else None
            where = f"Table 1, {printed['method']}"
            number = Number(TABLE1, where, heading, model, regime, printed["steps"], float(printed[key]), ci)
            rows.append(row(number, _best(study, number, key, alike, whole) or unlike(study, model, regime, ran)))
    return rows


def _is_official_test(study: Study, results: Results) -> bool:
    """Whether the study's test split is the official one: the official database, and as many queries."""
    return study.official and count_queries(results, "test") == TEST_QUERIES


def _best(study: Study, number: Number, key: str, alike: Sequence[Mapping[str, str]], whole: bool) -> Own | None:
    """Of our rows of that model and regime the one that compares best; None where there is none."""
    found = [(_of_table1(study, number, key, ours, whole), ours) for ours in alike]

    def rank(one: tuple[Own, Mapping[str, str]]) -> tuple:
        own, ours = one
        return len(own.obstacles), ours["split"] != "test", ours["steps"] != number.steps

    return min(found, key=rank)[0] if found else None


def _of_table1(study: Study, number: Number, key: str, ours: Mapping[str, str], whole: bool) -> Own:
    obstacles = [*model_obstacles(study, number.model), *world_obstacles(study)]
    split, _, noise = ours["split"].partition(UNDER)
    if split != "test" or not whole:
        obstacles.append(f"another split ({split})" if split != "test" else "not the official test set")
    if noise:
        obstacles.append(f"noise ({noise})")
    if ours["regime"] != BASE_REGIME:
        obstacles += training_obstacles(study, number.model, number.regime)
        if ours["steps"] != number.steps:
            obstacles.append(f"another step ({ours['steps']})")
    if ours[key] == "":
        if table1.HIDDEN not in ours["missing"]:
            return Own(obstacles=tuple(obstacles), absent="not evaluated")
        return Own(obstacles=tuple(obstacles) or (LEADERBOARD,))
    return _own(ours, key, obstacles)


def _own(ours: Mapping[str, str], key: str, obstacles: Iterable[str]) -> Own:
    """A value of one of our tables with its interval."""
    value, half = float(ours[key]), ours[f"{key}_ci"]
    low, high = (value - float(half), value + float(half)) if half else (None, None)
    return Own(value, low, high, int(ours["n"]), tuple(obstacles))


# ---- Table 2 --------------------------------------------------------------------------------------------------------


def of_table2(study: Study, results: Results) -> list[dict]:
    """A row for each number of the paper's Table 2, whose trained rows are taken to be of stage 1."""
    own = [found for found in results.table("table2") or () if found["source"] == table2.OURS]
    rows = []
    for printed in reference("table2"):
        regime = BASE_REGIME if printed["steps"] == "0" else "stage1"
        place = (printed["model"], regime)
        alike = [found for found in own if (found["model"], found["regime"]) == place]
        same = next((found for found in alike if found["steps"] == printed["steps"]), None)
        for key, suite, heading in table2.COLUMNS:
            value, ci = float(printed[key]), float(printed[f"{key}_ci"])
            where = f"Table 2, {printed['method']}"
            number = Number(TABLE2, where, heading, *place, printed["steps"], value, ci)
            ran = {(found["model"], found["regime"]) for found in own if found[key] != ""}
            rows.append(row(number, _of_table2(study, number, suite, key, same, bool(alike), ran)))
    return rows


def _of_table2(
    study: Study,
    number: Number,
    suite: str,
    key: str,
    ours: Mapping[str, str] | None,
    other_steps: bool,
    ran: Collection[tuple[str, str]],
) -> Own:
    if suite not in study.suites:
        return Own(absent=f"{suite} is not in this study")
    if ours is None:
        absent = f"the suites were not put to step {number.steps}"
        return Own(absent=absent) if other_steps else unlike(study, number.model, number.regime, ran)
    obstacles = list(model_obstacles(study, number.model))
    if number.regime != BASE_REGIME:
        obstacles += [*world_obstacles(study), *training_obstacles(study, number.model, number.regime)]
    marked = f"{suite}: "
    obstacles += [told.removeprefix(marked) for told in ours["caveats"].split("; ") if told.startswith(marked)]
    if ours[key] == "":
        return Own(obstacles=tuple(obstacles), absent="no scores")
    return _own(ours, key, obstacles)


# ---- headline figures -----------------------------------------------------------------------------------------------


def of_headline(study: Study, results: Results) -> list[dict]:
    """A row for each headline figure that is a number to reproduce."""
    own = {(found["quantity"], found["model"]): found for found in results.table("headline") or () if found["ours"]}
    measured = {_family(quantity) for quantity, _ in own}
    rows = []
    for printed in reference("headline"):
        quantity, model = printed["quantity"], printed["model"]
        if quantity in SETTINGS:
            continue
        place = Number(HEADLINE, printed["where"], quantity.replace("_", " "), model, "", "", printed["value"], None)
        number = replace(place, unit=printed["unit"], value=_number(printed["value"]))
        rows.append(row(number, _of_headline(study, quantity, model, own.get((quantity, model)), measured)))
    return rows


def _family(quantity: str) -> str:
    """A quantity without the model in its name."""
    return quantity.partition("_of_")[0]


def _number(text: str) -> float | str:
    """A figure; as it is printed where it is a span, which nothing is held against."""
    try:
        return float(text)
    except ValueError:
        return text


def _of_headline(
    study: Study, quantity: str, model: str, ours: Mapping[str, str] | None, measured: Collection[str]
) -> Own:
    """`measured`: what this study measured, of any model."""
    if memory.CLAIMS.get(quantity, ("", ""))[1] == memory.NO_CHOICE:
        return Own(absent=memory.NO_CHOICE.partition(": ")[2])
    if quantity.startswith("kv_cache"):
        return Own(absent="a study of memory measures it")
    models = [model] if model in PAPERS else list(PAPERS)
    obstacles = [told for name in models if name in study.models for told in model_obstacles(study, name)]
    unlike_papers = not all(name in study.models for name in models)
    obstacles += [f"another model ({', '.join(study.trainable)})"] * unlike_papers + [*world_obstacles(study)]
    if ours is None:
        beside = unlike_papers and _family(quantity) in measured
        return Own(obstacles=tuple(obstacles)) if beside else Own(absent="not measured")
    if quantity.startswith(OF_TEST_SPLIT):
        obstacles.append("another split (ours: the validations)")
    if quantity.startswith("memory"):
        obstacles.append("another measure (ours: the trainer's process alone)")
    low, high = (float(ours[end]) if ours[end] else None for end in ("low", "high"))
    return Own(float(ours["ours"]), low, high, int(ours["n"] or 0), tuple(obstacles))
