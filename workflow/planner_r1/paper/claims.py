"""What the paper says in words, put to the test on a study's own results.

Every claim is an effect (a difference in points, a ratio, a share of runs) with a 95% interval and a line to cross. It
*holds* where the whole interval lies beyond the line, and the p-value against the line, where the test has one, is
below 0.05 after Holm's correction for all claims tested. It *does not hold* where the whole interval lies below what
would matter. Else it is *undecided*: also where one run, or seeds that are all alike, leave nothing to judge by, or
there are fewer than 20 queries or items. What varies in the test, seeds or queries, is said with each (see `effects`),
and so is what its results lack: seeds, queries, items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations

import numpy as np
from scipy import stats

from planner_r1.paper.compute import collapsed, compared_regime
from planner_r1.paper.effects import (
    FEWEST,
    HOLDS,
    NOT_RUN,
    UNDECIDED,
    Effect,
    all_hold,
    decide,
    difference,
    gain,
    over_seeds,
    paired,
)
from planner_r1.paper.evidence import LARGE, SMALL, Evidence
from planner_r1.paper.results import Results
from planner_r1.paper.statistics import LEVEL, RESAMPLES, holm, paired_permutation
from planner_r1.paper.tables import table2
from planner_r1.reward import STAGES, weights_label
from planner_r1.study import BASE_REGIME, OFFICIAL, Study

MARGIN = 5.0  # points: a smaller difference is of no account
SIMILAR = 10.0  # points: the room that "about as well" leaves, a quarter of what dense reward gains in the paper
BOTH = (SMALL, LARGE)
SUITES = "Abstract; Table 2"
FIELDS = ("claim", "statement", "where", "tested_on", "effect", "unit", "low", "high", "n", "varies", "p", "p_holm")
FIELDS += ("verdict", "test", "note")


@dataclass(frozen=True)
class Outcome:
    """What came of a claim. `note`: why it could not be tested, or what to know of the test."""

    verdict: str
    tested_on: str = ""
    effect: Effect | None = None
    unit: str = "points"
    test: str = ""
    note: str = ""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper (in our words), where it stands, and how it is tested."""

    key: str
    statement: str
    where: str
    test: Callable[[Evidence], Outcome] = field(repr=False)


def _missing(evidence: Evidence, roles: Sequence[str], regimes: Sequence[str] = ()) -> str:
    """Why a claim cannot be tested: a model or a regime that the study lacks; nothing where it can."""
    for role in roles:
        if role not in evidence.roles:
            return f"no {role} model in this study"
        model, study = evidence.roles[role], evidence.study
        if absent := [regime for regime in regimes if regime not in study.regimes_of(model)]:
            return f"{model} is not trained under {', '.join(absent)}"
        if other := [regime for regime in regimes if not _pays_as_named(study, model, regime)]:
            return f"{', '.join(other)} of {model} pays otherwise than the paper's"
    return ""


def _pays_as_named(study: Study, model: str, regime: str) -> bool:
    """Whether a regime that has a name of the paper's pays as it does there, a curriculum by stages in their order."""
    phases = study.run(model, regime, study.seeds_of(regime)[0]).phases
    paid = list(dict.fromkeys(weights_label(phase.weights) for phase in phases))
    stages = sorted(STAGES.keys() & set(paid))
    named = {stage: [stage] for stage in STAGES} | {"curriculum": stages}
    return regime not in named or (study.profile(regime) == OFFICIAL and paid == named[regime])


# ---- the tests -----------------------------------------------------------------------------------------------------


def _compare(evidence: Evidence, first: str, second: str, null: float, refuted: float, means: str) -> Outcome:
    """The final passes of the small model under two regimes at the last step that both were evaluated at."""
    if reason := _missing(evidence, [SMALL], [first, second]):
        return Outcome(NOT_RUN, note=reason)
    step, effects = _between(evidence, evidence.roles[SMALL], first, second, null)
    if not effects:
        return Outcome(NOT_RUN, evidence.named(SMALL), note=f"no step at which {first} and {second} have scores")
    test = f"final pass on {evidence.split}, {first} less {second} at step {step}; {means}"
    lacking = _lacking(evidence, evidence.roles[SMALL], (first, second), step)
    return Outcome(decide(effects[0], null, refuted), evidence.tested_on([SMALL], lacking), effects[0], test=test)


def _lacking(evidence: Evidence, model: str, regimes: Sequence[str], step: int) -> list[str]:
    return [told for regime in regimes for told in evidence.lacking(model, regime, step)]


def _between(evidence: Evidence, model: str, first: str, second: str, *nulls: float) -> tuple[int, list[Effect]]:
    """The last step that both regimes were evaluated at, and their difference with its p against each line."""
    step = max(evidence.steps(model, first) & evidence.steps(model, second), default=0)
    if not step:
        return 0, []
    sides = [evidence.passes(model, regime, step) for regime in (first, second)]
    return step, [effect for null in nulls if (effect := difference(*sides, null))]


def _dense(evidence: Evidence) -> Outcome:
    return _compare(evidence, "stage1", "stage3", 0, MARGIN, f"holds above 0, fails below {MARGIN:g} points")


def _curriculum(evidence: Evidence) -> Outcome:
    means = f"holds above -{MARGIN:g} points, fails below 0"
    return _compare(evidence, "stage1", "curriculum", -MARGIN, 0, means)


def _robust(evidence: Evidence) -> Outcome:
    """Each two of the stages differ by less than SIMILAR, either way; the pair that is furthest apart is shown."""
    stages = ("stage1", "stage2", "stage3")
    if reason := _missing(evidence, [LARGE], stages):
        return Outcome(NOT_RUN, note=reason)
    model = evidence.roles[LARGE]
    pairs, verdicts, ps, lacking = {}, [], [], []
    for pair in combinations(stages, 2):
        step, both = _between(evidence, model, *pair, -SIMILAR, SIMILAR)
        if not both:
            return Outcome(NOT_RUN, evidence.named(LARGE), note=f"no step at which {' and '.join(pair)} have scores")
        lacking += _lacking(evidence, model, pair, step)
        pairs[f"{pair[0]} less {pair[1]} at step {step}"] = both[0]
        ps += [effect.p for effect in both if effect.p is not None]
        verdicts.append(_similar(both[0]))
    furthest = max(pairs, key=lambda pair: abs(pairs[pair].value))
    effect = replace(pairs[furthest], p=max(ps, default=None))
    test = f"final pass on {evidence.split}, {furthest}, the pair furthest apart; holds where all three are "
    test += f"within ±{SIMILAR:g} points, fails where one is beyond"
    return Outcome(all_hold(verdicts), evidence.tested_on([LARGE], lacking), effect, test=test)


def _similar(effect: Effect) -> str:
    """Whether an effect is within ±SIMILAR; not where its interval lies beyond on one side."""
    turned = replace(effect, value=-effect.value, low=effect.high and -effect.high, high=effect.low and -effect.low)
    return all_hold([decide(side, -SIMILAR, -SIMILAR) for side in (effect, turned)])


def _collapse(evidence: Evidence, regime: str) -> Outcome | tuple[int, int]:
    """How many of how many runs of the small model collapsed under a regime."""
    if reason := _missing(evidence, [SMALL], [regime]):
        return Outcome(NOT_RUN, note=reason)
    model = evidence.roles[SMALL]
    ends = [collapsed(episodes) for run, episodes in evidence.runs if (run.model, run.regime) == (model, regime)]
    known = [end for end in ends if end is not None]
    if not known:
        return Outcome(NOT_RUN, evidence.named(SMALL), note=f"no validations under {regime}")
    return sum(known), len(known)


def _collapse_outcome(evidence: Evidence, regime: str, count: int, n: int, verdict: Callable, test: str) -> Outcome:
    """With the exact interval of the share of runs, of which either end is a 95% bound by itself."""
    bounds = stats.binomtest(count, n).proportion_ci(2 * LEVEL - 1, method="exact")
    effect = Effect(100 * count / n, 100 * bounds.low, 100 * bounds.high, None, n, "runs")
    test = f"{count} of {n} runs end below 1% final pass in their validations; {test}"
    lacking = evidence.lacking_seeds(evidence.roles[SMALL], regime, n)
    return Outcome(verdict(effect), evidence.tested_on([SMALL], lacking), effect, "% of runs", test)


def _sparse_collapse(evidence: Evidence) -> Outcome:
    found = _collapse(evidence, "stage3")
    if isinstance(found, Outcome):
        return found
    test = "holds where the exact 95% bound says more than half do, fails where it says fewer"
    return _collapse_outcome(evidence, "stage3", *found, lambda effect: decide(effect, 50, 50), test)


def _middle_collapse(evidence: Evidence) -> Outcome:
    found = _collapse(evidence, "stage2")
    if isinstance(found, Outcome):
        return found
    test = "holds where any does, fails where none does and the exact 95% bound excludes the paper's 60%"
    verdict = lambda effect: HOLDS if effect.value else decide(effect, 100, 60)  # noqa: E731
    return _collapse_outcome(evidence, "stage2", *found, verdict, test)


def _on_validations_of_both(evidence: Evidence) -> str:
    regime = compared_regime(evidence.study)
    lacking = [told for role in BOTH for told in evidence.lacking_validations(evidence.roles[role], regime)]
    return evidence.tested_on(BOTH, lacking)


def _cheaper(evidence: Evidence) -> Outcome:
    if reason := _missing(evidence, BOTH):
        return Outcome(NOT_RUN, note=reason)
    tested_on = _on_validations_of_both(evidence)
    table = evidence.results.table("headline") or ()
    ours = [row for row in table if row["quantity"] == "compute_efficiency_ratio" and row["ours"]]
    if not ours:
        return Outcome(NOT_RUN, tested_on, note="no FLOPs to 90% of the larger model's peak (table headline)")
    # a bootstrap's upper end that lies beyond what was trained is empty
    low = float(ours[0]["low"]) if ours[0]["low"] else None
    high = float(ours[0]["high"]) if ours[0]["high"] else None if low is None else np.inf
    effect = Effect(float(ours[0]["ours"]), low, high, None, int(ours[0]["n"]), "seeds")
    test = "FLOPs of the larger over those of the smaller to 90% of the larger one's peak; holds above 1, fails below 1"
    return Outcome(decide(effect, 1, 1), tested_on, effect, "times", test)


def _peak(evidence: Evidence) -> Outcome:
    """The peaks of the two mean curves, with a bootstrap over seeds in which both are found anew."""
    if reason := _missing(evidence, BOTH):
        return Outcome(NOT_RUN, note=reason)
    both = [evidence.courses.get(evidence.roles[role]) for role in BOTH]
    tested_on = _on_validations_of_both(evidence)
    if None in both or None in (peaks := [course.peak() for course in both]):
        return Outcome(NOT_RUN, tested_on, note="no validations of both models")
    low = high = p = None
    if (n := min(len(course.seeds) for course in both)) > 1:
        random = np.random.default_rng(0)
        drawn = [[c.peak(random.integers(len(c.seeds), size=len(c.seeds))) for _ in range(RESAMPLES)] for c in both]
        gaps = np.subtract(*drawn)
        low, high = np.quantile(gaps, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
        below = np.count_nonzero(gaps <= -SIMILAR) + 1
        p = min(1.0, 2 * min(below, RESAMPLES + 2 - below) / (RESAMPLES + 1))
    effect = Effect(peaks[0] - peaks[1], low, high, p, n, "seeds")
    regime = compared_regime(evidence.study)
    test = f"highest mean final pass of the validations under {regime}, small less large; bootstrap over seeds; "
    test += f"holds above -{SIMILAR:g} points, fails below"
    return Outcome(decide(effect, -SIMILAR, -SIMILAR), tested_on, effect, test=test)


def _beats_base(evidence: Evidence, role: str) -> Outcome:
    return _beats(evidence, role, evidence.roles.get(role, ""), "the untrained model")


def _beats_gpt5(evidence: Evidence) -> Outcome:
    role = LARGE if LARGE in evidence.roles else SMALL
    if "gpt-5" not in evidence.study.models:
        return Outcome(NOT_RUN, note="gpt-5 is not in this study")
    return _beats(evidence, role, "gpt-5", "gpt-5")


def _beats(evidence: Evidence, role: str, other: str, what: str) -> Outcome:
    """The last checkpoints under stage 1 (or the study's first regime) against an untrained model."""
    regime = compared_regime(evidence.study)
    if reason := _missing(evidence, [role], [regime] if regime else []):
        return Outcome(NOT_RUN, note=reason)
    model, base = evidence.roles[role], evidence.passes(other, BASE_REGIME, 0)
    steps = evidence.steps(model, regime)
    if not (steps and base):
        return Outcome(NOT_RUN, evidence.named(role), note=f"no scores of it or of {what}")
    effect = gain(evidence.passes(model, regime, max(steps)), base[0])
    lacking = evidence.lacking(model, regime, max(steps)) + evidence.lacking(other, BASE_REGIME, 0)
    test = f"final pass on {evidence.split}, {regime} at step {max(steps)} less {what}; holds above 0, fails below "
    test += f"{MARGIN:g} points"
    return Outcome(decide(effect, 0, MARGIN), evidence.tested_on([role], lacking), effect, test=test)


def _suite_regime(evidence: Evidence, model: str) -> str | None:
    """The regime whose checkpoints the suites were put to; of several the one that is compared elsewhere."""
    asked = [c.regime for c in evidence.study.suite_checkpoints if c.model == model and c.regime != BASE_REGIME]
    favoured = compared_regime(evidence.study)
    return favoured if favoured in asked else next(iter(asked), None)


def _suite(
    evidence: Evidence, model: str, regime: str, step: int, suite: str, lacking: list[str]
) -> list[table2.Result]:
    """The results of a suite of the seeds that have any; what they lack goes to `lacking`."""
    places = [c for c in evidence.study.suite_checkpoints if (c.model, c.regime, c.step) == (model, regime, step)]
    found = [table2.Result(*read) for place in places if (read := evidence.results.suite(place, suite))]
    told = [f"{len(found)} of {len(places)} seeds"] * (len(found) < len(places))
    told += [result.lacking for result in found if result.lacking]
    lacking += [f"{model}/{regime}, {suite}: {what}" for what in told]
    return found


def _suites(evidence: Evidence, role: str) -> Outcome:
    """The metric of the suites that fares worst decides: all must stay above -MARGIN."""
    if reason := _missing(evidence, [role]):
        return Outcome(NOT_RUN, note=reason)
    model = evidence.roles[role]
    regime, gaps, lacking, put = _suite_regime(evidence, model), {}, [], False
    step = max((c.step for c in evidence.study.suite_checkpoints if (c.model, c.regime) == (model, regime)), default=0)
    for suite in evidence.study.suites if step else ():
        base, trained = (_suite(evidence, model, *at, suite, lacking) for at in ((BASE_REGIME, 0), (regime, step)))
        put |= bool(base and trained)
        for key, of_suite, heading in table2.COLUMNS:
            if of_suite == suite and base and trained:
                of_metric = table2.differences(key, trained, base[0])
                gaps |= {heading: [100 * gap for gap in of_metric]} if of_metric else {}
    if not gaps:
        why = "the suites were not put to it and to the untrained model"
        if put:
            why = f"no item that it and the untrained model have scores of ({'; '.join(lacking)})"
        return Outcome(NOT_RUN, evidence.named(role), note=why)
    effects = {heading: paired(of_metric, -MARGIN, "items") for heading, of_metric in gaps.items()}
    worst = min(effects, key=lambda heading: -np.inf if effects[heading].low is None else effects[heading].low)
    p = max((effect.p for effect in effects.values() if effect.p is not None), default=None)
    test = f"{regime} at step {step} less the untrained model, by item; {worst}, the worst of {len(effects)} metrics; "
    test += f"holds where all are above -{MARGIN:g} points, fails where one that is not has fallen "
    test += "(p below 0.05 after Holm's correction for the metrics)"
    on = evidence.tested_on([role], lacking)
    return Outcome(_none_falls(gaps, effects), on, replace(effects[worst], p=p), test=test)


def _none_falls(gaps: Mapping[str, list[float]], effects: Mapping[str, Effect]) -> str:
    """The verdict on several metrics; that one falls counts after correction for their number."""
    corrected = dict(zip(gaps, holm([paired_permutation(of_metric) for of_metric in gaps.values()]), strict=True))
    verdicts = []
    for heading, effect in effects.items():
        falls = effect.value < 0 and corrected[heading] < 1 - LEVEL
        verdicts.append(decide(effect, -MARGIN, np.inf if falls else -np.inf))
    return all_hold(verdicts)


def _tau_rises(evidence: Evidence) -> Outcome:
    """An item's slope over the steps, by least squares; its mean over the items."""
    if reason := _missing(evidence, [SMALL]):
        return Outcome(NOT_RUN, note=reason)
    model = evidence.roles[SMALL]
    regime = _suite_regime(evidence, model)
    asked = {
        c.step: c.regime
        for c in evidence.study.suite_checkpoints
        if c.model == model and c.regime in (BASE_REGIME, regime)
    }
    by_step, lacking = {}, []
    for step in sorted(asked):
        found = _suite(evidence, model, asked[step], step, "tau_bench", lacking)
        if scores := [row for result in found for row in result.scores]:
            by_step[step] = table2.by_item("tau_pass1", scores)
    if len(by_step) < 3:
        return Outcome(NOT_RUN, evidence.named(SMALL), note="fewer than two trained steps beside the untrained model")
    items = set.intersection(*(set(values) for values in by_step.values()))
    slopes = [_slope({step: 100 * by_step[step][item] for step in by_step}) for item in sorted(items)]
    if not (effect := paired(slopes, 0, "items")):
        return Outcome(NOT_RUN, evidence.named(SMALL), note="no item was answered at every step")
    test = f"slope of pass@1 under {regime} over steps {', '.join(map(str, by_step))}, mean over items; holds above 0, "
    on = evidence.tested_on([SMALL], lacking)
    return Outcome(decide(effect, 0, 0), on, effect, "points a 1,000 steps", f"{test}fails below 0")


def _slope(values: Mapping[int, float]) -> float:
    return 1000 * float(np.polyfit(list(values), list(values.values()), 1)[0])


def _holes(evidence: Evidence) -> Outcome:
    """What the official profile passes and the strict one does not, of all trained checkpoints that came last."""
    trained = [c for c in evidence.verdicts if c.regime != BASE_REGIME]
    final = [c for c in trained if c.step == max(evidence.steps(c.model, c.regime))]
    if not final:
        return Outcome(NOT_RUN, note="no trained checkpoint was evaluated on queries whose constraints are known")
    official, strict = (over_seeds([evidence.verdicts[c][p] for c in final]) for p in ("official", "strict"))
    effect = paired([strict[idx] - official[idx] for idx in official], -MARGIN, "queries")
    test = f"final pass on {evidence.split} under the strict profile less that under the official one, mean of "
    test += f"{len(final)} trained checkpoints; holds above -{MARGIN:g} points, fails below 0"
    lacking = [told for c in final for told in evidence.lacking(c.model, c.regime, c.step)]
    on = "; ".join([", ".join(dict.fromkeys(c.model for c in final)), *dict.fromkeys(lacking)])
    return Outcome(decide(effect, -MARGIN, 0), on, effect, test=test)


CLAIMS = (
    Claim("dense", "Dense reward beats sparse reward for the small model", "Abstract; Table 1", _dense),
    Claim("collapse_stage3", "Under stage 3 the small model collapses", "Sec. 3.2; Table 1", _sparse_collapse),
    Claim("collapse_stage2", "Under stage 2 some of its runs collapse", "Sec. 3.2", _middle_collapse),
    Claim("curriculum", "For the small model a curriculum is no better than stage 1", "Abstract; Table 1", _curriculum),
    Claim("robust", "The large model does about as well under stages 1, 2 and 3", "Abstract; Table 1", _robust),
    Claim("cheaper", "The small model is cheaper to 90% of the larger one's peak", "Abstract; Sec. 3.2", _cheaper),
    Claim("peak", "The small model reaches about the larger one's peak", "Abstract; Sec. 3.2", _peak),
    Claim("small_beats_base", "Training improves the small model", "Table 1", partial(_beats_base, role=SMALL)),
    Claim("large_beats_base", "Training improves the large model", "Table 1", partial(_beats_base, role=LARGE)),
    Claim("beats_gpt5", "The trained model beats GPT-5", "Abstract; Table 1", _beats_gpt5),
    Claim("small_unharmed", "Training harms no other skill of the small model", SUITES, partial(_suites, role=SMALL)),
    Claim("large_unharmed", "Training harms no other skill of the large model", SUITES, partial(_suites, role=LARGE)),
    Claim("tau_rises", "The small model's τ-bench pass@1 rises with longer training", "Table 2", _tau_rises),
    Claim("holes", "Passes owe little to holes of the official rules", "ours; the paper has no strict profile", _holes),
)


def claims(study: Study, results: Results) -> list[dict]:
    """A row a claim, with FIELDS."""
    evidence = Evidence(study, results)
    return judged([(claim, claim.test(evidence)) for claim in CLAIMS])


def judged(outcomes: Sequence[tuple[Claim, Outcome]]) -> list[dict]:
    """The rows, after Holm's correction: what held by its interval alone and not after it is undecided."""
    tested = [i for i, (_, outcome) in enumerate(outcomes) if outcome.effect and outcome.effect.p is not None]
    corrected = dict(zip(tested, holm([outcomes[i][1].effect.p for i in tested]), strict=True))
    rows = []
    for i, (claim, outcome) in enumerate(outcomes):
        verdict, note = outcome.verdict, outcome.note
        if verdict == HOLDS and corrected.get(i, 0.0) >= 1 - LEVEL:
            verdict, note = UNDECIDED, "the interval alone says it holds, the corrected p does not"
        elif verdict == UNDECIDED and not note and outcome.effect:
            note = _why_undecided(outcome.effect)
        row = {"claim": claim.key, "statement": claim.statement, "where": claim.where, "verdict": verdict, "note": note}
        row |= {"tested_on": outcome.tested_on, "test": outcome.test, "p_holm": corrected.get(i)}
        if outcome.effect:
            row |= {"effect": outcome.effect.value, "unit": outcome.unit, "n": outcome.effect.n}
            row |= {key: getattr(outcome.effect, key) for key in ("low", "high", "varies", "p")}
        rows.append(dict.fromkeys(FIELDS) | row)
    return rows


def _why_undecided(effect: Effect) -> str:
    if effect.low is not None and effect.low == effect.high:
        return f"no interval: the {effect.n} {effect.varies} are alike"
    if effect.low is not None and effect.high is not None:
        return "the interval leaves it open"
    if effect.varies in ("queries", "items"):
        return f"fewer than {FEWEST} {effect.varies}"
    return f"no interval: {effect.n} seed{'' if effect.n == 1 else 's'}"
