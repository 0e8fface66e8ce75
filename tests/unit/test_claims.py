"""The paper's claims on made-up results whose truth is known, and the verdicts on the edge."""

import json
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from helpers.made_up_study import CONFIG
from helpers.messages import names
from planner_r1.paper.artefacts import artefact
from planner_r1.paper.claims import CLAIMS, Claim, Outcome, claims, judged
from planner_r1.paper.effects import FAILS, HOLDS, NOT_RUN, UNDECIDED, Effect, decide, difference, gain, paired
from planner_r1.paper.evidence import LARGE, SMALL, Evidence
from planner_r1.paper.render import write_rows
from planner_r1.paper.results import Results, evaluation_folder, model_file, suite_folder, validations_file
from planner_r1.paper.tables import headline
from planner_r1.study import BASE_REGIME, Study

REGIMES = {name: [{"weights": name, "steps": 40}] for name in ("stage1", "stage2", "stage3")}
REGIMES |= {"curriculum": [{"weights": "stage1", "steps": 20}, {"weights": "stage3", "steps": 20}]}
TWO = CONFIG | {
    "models": {"tiny": {"warm_start": {}}, "small": {"warm_start": {"hidden_size": 192}}},
    "regimes": REGIMES,
    "training": {"test_every": 20},
}
SUITES = {"repeats": 1, "checkpoints": "evaluated", "tau_bench": {"source": "synthetic", "size": 2}}


class Files:
    """Writes results of a study by hand: how large each model is, which share of 100 queries each checkpoint passes."""

    def __init__(self, config, folder):
        self.study, self.folder = Study.from_config(config), folder

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")

    def lines(self, name, rows):
        self.write(name, "".join(json.dumps(row) + "\n" for row in rows))

    def sizes(self, **parameters):
        for model, size in parameters.items():
            self.write(model_file(model), json.dumps({"parameters": size}))
        return self

    def evaluated(self, share, strict=1.0, queries=100):
        """share(checkpoint) of the queries pass, the first ones; of these `strict` under the strict profile."""
        for checkpoint in self.study.checkpoints:
            passing = round(queries * share(checkpoint))
            verdicts = [(idx < passing, idx < strict * passing) for idx in range(queries)]
            rows = [
                {"idx": idx, "official": {"final_pass": official}, "strict": {"final_pass": closed}}
                for idx, (official, closed) in enumerate(verdicts)
            ]
            self.lines(f"{evaluation_folder(checkpoint, 'test')}/scores.jsonl", rows)
        return self

    def validated(self, share):
        """share(run, step) of 50 queries pass at steps 0, 20 and 40."""
        for run in self.study.runs:
            rows = [
                {"idx": idx, "step": step, "sub_rewards": {"pass": float(idx < 50 * share(run, step))}}
                for step in (0, 20, 40)
                for idx in range(50)
            ]
            self.lines(validations_file(run), rows)
        return self

    def asked(self, value, metrics=("tau_pass1",), items=60):
        """value(checkpoint, metric, item) of the suite tau_bench."""
        for checkpoint in self.study.suite_checkpoints:
            folder = suite_folder(checkpoint, "tau_bench")
            place = {key: getattr(checkpoint, key) for key in ("model", "regime", "seed", "step")}
            counted = {"metrics": {metric: {"items": items} for metric in metrics}}
            self.write(f"{folder}/metrics.json", json.dumps(place | counted | {"suite": "tau_bench"}))
            rows = [
                {"metric": metric, "item": item, "repeat": 0, "value": value(checkpoint, metric, item)}
                for metric in metrics
                for item in range(items)
            ]
            self.lines(f"{folder}/scores.jsonl", rows)
        return self

    def told(self):
        page = artefact("reproduction")
        rows = claims(self.study, Results(self.study, self.folder, (*page.reads, *page.may_read)))
        return {row["claim"]: row for row in rows}


def noisy(share, checkpoint, spread=0.02):
    return share + spread * random.Random(checkpoint.name).uniform(-1, 1)


# ---- effects --------------------------------------------------------------------------------------------------------


def test_over_seeds_it_is_welch_and_over_queries_it_is_paired():
    rng = np.random.default_rng(1)
    first, second = ([dict(enumerate(100.0 * (rng.random(50) < p))) for _ in range(4)] for p in (0.6, 0.3))
    effect = difference(first, second, null=10)
    means = [[np.mean(list(seed.values())) for seed in side] for side in (first, second)]
    told = stats.ttest_ind(np.array(means[0]) - 10, means[1], equal_var=False)
    assert (effect.varies, effect.n) == ("seeds", 4) and effect.p == pytest.approx(told.pvalue)
    alone = difference(first[:1], second)
    assert (alone.varies, alone.n) == ("queries", 50)
    assert alone.value == pytest.approx(np.mean(list(first[0].values())) - np.mean(means[1]))


def test_a_gain_over_what_does_not_vary_is_the_one_sample_test():
    seeds = [dict.fromkeys(range(10), 100.0) | dict.fromkeys(range(k), 0.0) for k in (2, 4, 5)]
    effect = gain(seeds, dict.fromkeys(range(10), 0.0) | {0: 100.0})
    gains = [70.0, 50.0, 40.0]
    told = stats.ttest_1samp(gains, 0)
    interval = told.confidence_interval(0.95)
    assert (effect.value, effect.p) == pytest.approx((np.mean(gains), told.pvalue))
    assert (effect.low, effect.high) == pytest.approx((interval.low, interval.high))


def test_seeds_that_come_out_alike_tell_nothing_so_that_the_queries_are_what_varies():
    passing = [range(0, 9), range(1, 10), range(2, 11)]
    seeds = [{idx: 100.0 * (idx in kept) for idx in range(32)} for kept in passing]
    effect = gain(seeds, dict.fromkeys(range(32), 0.0))
    assert (effect.varies, effect.n, effect.value) == ("queries", 32, pytest.approx(100 * 9 / 32))
    assert effect.low < effect.value < effect.high
    # by query what the seeds agree on: 7 of 3, 2 of 2, 2 of 1; all 2^11 signs but two are nearer to 0
    assert effect.p == pytest.approx(2 / 2**11)
    assert difference(seeds, [dict.fromkeys(range(32), 0.0)] * 2).varies == "queries"
    seeds[0] = seeds[0] | {31: 100.0}
    assert gain(seeds, dict.fromkeys(range(32), 0.0)).varies == "seeds"


def test_few_items_have_no_interval_and_items_that_agree_follow_the_rule_of_three():
    few = paired([100.0] * 19, 0, "items")
    assert few.value == 100 and few.low is few.high is few.p is None and decide(few, 0, 5) == UNDECIDED
    alike = paired([0.0] * 60, -6, "items")
    assert (alike.low, alike.high, alike.p) == (-5, 5, None) and decide(alike, -6, 0) == HOLDS
    assert decide(paired([0.0] * 30, -6, "items"), -6, 0) == UNDECIDED
    assert paired([], 0, "items") is None


@pytest.mark.parametrize(
    ("low", "high", "null", "refuted", "verdict"),
    [
        (1, 9, 0, 5, HOLDS),
        (0, 9, 0, 5, UNDECIDED),
        (-3, 4, 0, 5, FAILS),  # surely less than what would matter
        (-3, 6, 0, 5, UNDECIDED),
        (-4, 3, -5, 0, HOLDS),  # not much worse
        (-9, -1, -5, 0, FAILS),
        (-9, 1, -5, 0, UNDECIDED),
        (None, None, 0, 5, UNDECIDED),
        (9, 9, 0, 5, UNDECIDED),  # all alike
        (-9, -9, 0, 5, UNDECIDED),
    ],
)
def test_the_line_and_what_would_matter_decide(low, high, null, refuted, verdict):
    assert decide(Effect(0.0, low, high, None, 5, "seeds"), null, refuted) == verdict


def test_what_holds_by_its_interval_alone_is_undecided_after_correction():
    claim = Claim("c", "s", "w", lambda evidence: None)
    outcomes = [(claim, Outcome(HOLDS, "m", Effect(5, 1, 9, p, 5, "seeds"))) for p in (0.01, 0.03, 0.04)]
    outcomes += [(claim, Outcome(HOLDS, "m", Effect(5, 1, 9, None, 5, "runs"))), (claim, Outcome(NOT_RUN, note="why"))]
    rows = judged(outcomes)
    assert [row["p_holm"] for row in rows] == pytest.approx([0.03, 0.06, 0.06, None, None])
    assert [row["verdict"] for row in rows] == [HOLDS, UNDECIDED, UNDECIDED, HOLDS, NOT_RUN]
    assert "corrected" in rows[1]["note"] and rows[4]["note"] == "why"


def test_an_interval_without_width_is_none():
    claim = Claim("c", "s", "w", lambda evidence: None)
    (told,) = judged([(claim, Outcome(UNDECIDED, "m", Effect(5, 5, 5, None, 2, "seeds")))])
    names(told["note"], "interval", "2 seeds")


# ---- on results -----------------------------------------------------------------------------------------------------


def as_the_paper(checkpoint):
    small = {"base": 0.1, "stage1": 0.5, "stage2": 0.2, "stage3": 0.0, "curriculum": 0.45}
    large = {"base": 0.1, "stage1": 0.52, "stage2": 0.52, "stage3": 0.52, "curriculum": 0.55}
    share = (small if checkpoint.model == "tiny" else large)[checkpoint.regime]
    return share if checkpoint.regime in ("base", "stage3") else noisy(share, checkpoint)


def ends_as_the_paper(run, step):
    gone = run.model == "tiny" and (run.regime == "stage3" or (run.regime == "stage2" and run.seed == 0))
    return 0.0 if gone or not step else 0.5 + 0.02 * run.seed


def test_results_like_the_papers_bear_its_claims_out(tmp_path):
    config = TWO | {"seeds": [0, 1, 2, 3, 4]}
    files = Files(config, tmp_path).sizes(tiny=10, small=20).evaluated(as_the_paper).validated(ends_as_the_paper)
    told = files.told()
    holding = {"dense", "collapse_stage3", "collapse_stage2", "curriculum", "robust", "peak"}
    holding |= {"small_beats_base", "large_beats_base", "holes"}
    assert {claim for claim, row in told.items() if row["verdict"] == HOLDS} == holding
    dense = told["dense"]
    names(dense["tested_on"], "tiny", "model", "world")
    assert (dense["n"], dense["varies"]) == (5, "seeds")
    assert dense["low"] < dense["effect"] < dense["high"] and dense["effect"] == pytest.approx(50, abs=3)
    assert told["collapse_stage3"]["low"] == pytest.approx(100 * 0.05 ** (1 / 5))  # exact, of 5 of 5
    names(told["beats_gpt5"]["note"], "gpt-5")
    assert all(row["verdict"] == NOT_RUN and row["note"] for claim, row in told.items() if claim not in holding)


def test_results_unlike_the_papers_do_not(tmp_path):
    def share(checkpoint):
        if checkpoint.regime == BASE_REGIME:
            return 0.6
        better = {"stage1": 0.2, "stage2": 0.3, "stage3": 0.6, "curriculum": 0.5}[checkpoint.regime]
        return noisy(better, checkpoint, 0.01)

    def end(run, step):
        return (0.1 if run.model == "tiny" else 0.6) + 0.02 * run.seed

    told = Files(TWO | {"seeds": [0, 1, 2, 3, 4]}, tmp_path).sizes(tiny=10, small=20).evaluated(share, strict=0.7)
    told = told.validated(end).told()
    failing = {"dense", "collapse_stage3", "collapse_stage2", "curriculum", "robust", "peak"}
    failing |= {"small_beats_base", "large_beats_base", "holes"}
    assert {claim for claim, row in told.items() if row["verdict"] == FAILS} == failing


def test_one_seed_is_tested_over_queries_and_one_run_collapses_undecidedly(tmp_path):
    files = Files(TWO | {"seeds": [0]}, tmp_path).sizes(tiny=10, small=20)
    told = files.evaluated(as_the_paper).validated(ends_as_the_paper).told()
    assert (told["dense"]["varies"], told["dense"]["n"], told["dense"]["verdict"]) == ("queries", 100, HOLDS)
    assert told["collapse_stage3"]["verdict"] == UNDECIDED and told["collapse_stage3"]["effect"] == 100
    assert told["peak"]["verdict"] == UNDECIDED
    names(told["peak"]["note"], "interval", "1 seed")


def test_seeds_and_queries_that_lack_are_said(tmp_path):
    files = Files(CONFIG | {"models": {"tiny": {"warm_start": {}}}, "seeds": [0, 1]}, tmp_path)
    files.evaluated(as_the_paper).validated(ends_as_the_paper)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/test.jsonl").write_text("{}\n" * 100, encoding="utf-8")
    whole = {claim: row["tested_on"] for claim, row in files.told().items()}
    assert not any("seeds" in told or "queries" in told for told in whole.values())
    (tmp_path / validations_file(next(run for run in files.study.runs if run.name.endswith("stage3/seed1")))).unlink()
    for checkpoint in files.study.checkpoints:
        path = tmp_path / f"{evaluation_folder(checkpoint, 'test')}/scores.jsonl"
        if checkpoint.seed == 1:
            path.unlink()
        elif checkpoint.regime == "stage3":
            path.write_text("".join(path.read_text().splitlines(True)[:30]), encoding="utf-8")
    told = {claim: row["tested_on"] for claim, row in files.told().items()}
    stage1, stage3, cut = "tiny/stage1: 1 of 2 seeds", "tiny/stage3: 1 of 2 seeds", "tiny/stage3: 30 of 100 queries"
    lacking = {"small_beats_base": [stage1], "collapse_stage3": [stage3]}
    lacking |= {claim: [stage1, stage3, cut] for claim in ("dense", "holes")}
    for claim, lacks in lacking.items():
        assert told[claim].split("; ") == [whole[claim], *lacks]


def test_models_are_small_and_large_by_their_weights(tmp_path):
    def roles(config, **sizes):
        files = Files(config, tmp_path / str(len(list(tmp_path.iterdir())))).sizes(**sizes)
        page = artefact("reproduction")
        return Evidence(files.study, Results(files.study, files.folder, page.may_read)).roles

    (tmp_path / "first").mkdir()
    assert roles(TWO, tiny=10, small=20) == {SMALL: "tiny", LARGE: "small"}
    assert roles(TWO, tiny=30, small=20) == {SMALL: "small", LARGE: "tiny"}
    assert roles(TWO, tiny=30) == {}
    one = TWO | {"models": {"tiny": {"warm_start": {}}}}
    assert roles(one) == {SMALL: "tiny"}
    assert roles(TWO | {"models": {"qwen3-32b": {"path": "w"}}}) == {LARGE: "qwen3-32b"}


def test_flops_come_from_the_headline_table(tmp_path):
    files = Files(TWO, tmp_path).sizes(tiny=10, small=20)

    def cheaper(**cells):
        row = {"quantity": "compute_efficiency_ratio", "model": "tiny_vs_small", "n": 3} | cells
        papers = {"quantity": "compute_efficiency_ratio", "model": "8b_vs_32b", "paper": 3.5}
        (tmp_path / "tables").mkdir(exist_ok=True)
        write_rows([papers, row], headline.FIELDS, tmp_path / "tables" / "headline.csv")
        return files.told()["cheaper"]

    assert cheaper(ours=3.0, low=2.0, high=4.0)["verdict"] == HOLDS
    assert cheaper(ours=3.0, low=2.0)["verdict"] == HOLDS  # no upper end: some resamples never reached it
    assert cheaper(ours=0.5, low=0.2, high=0.9)["verdict"] == FAILS
    assert cheaper(ours=3.0, low=0.9, high=9.0)["verdict"] == UNDECIDED
    names(cheaper(ours=3.0, n=1)["note"], "interval", "1 seed")
    assert cheaper()["verdict"] == NOT_RUN


def test_other_skills_are_unharmed_harmed_or_unknown(tmp_path):
    config = TWO | {"suites": SUITES, "seeds": [0]}

    def told(after, items=60):
        def value(checkpoint, metric, item):
            return float(item % 2 == 0) if checkpoint.regime == BASE_REGIME else after(item)

        files = Files(config, tmp_path).sizes(tiny=10, small=20).asked(value, items=items)
        return files.told()["small_unharmed"]

    same = told(lambda item: float(item % 2 == 0), items=100)
    assert same["verdict"] == HOLDS and (same["effect"], same["low"], same["n"]) == (0, -3, 100)
    worse = told(lambda item: float(item % 6 == 0))
    assert worse["verdict"] == FAILS and worse["effect"] == pytest.approx(-100 / 3)
    names(told(lambda item: 0.0, items=10)["note"], "20 items")
    names(worse["test"], "fails")
    up_and_down = told(lambda item: float(item % 2))
    assert up_and_down["verdict"] == UNDECIDED and up_and_down["effect"] == 0


def test_suites_whose_scores_are_cut_say_so(tmp_path):
    config = CONFIG | {"models": {"tiny": {"warm_start": {}}}, "suites": SUITES, "seeds": [0]}
    files = Files(config, tmp_path).asked(lambda checkpoint, metric, item: float(item % 2))
    trained = next(c for c in files.study.suite_checkpoints if c.regime == "stage1")
    path = tmp_path / f"{suite_folder(trained, 'tau_bench')}/scores.jsonl"
    path.write_text("".join(path.read_text().splitlines(True)[:40]), encoding="utf-8")
    told = files.told()["small_unharmed"]
    names(told["tested_on"], "tiny/stage1, tau_bench", "40 of 60")
    assert told["n"] == 40
    path.write_text("", encoding="utf-8")
    told = files.told()["small_unharmed"]
    assert told["verdict"] == NOT_RUN
    names(told["note"], "tiny/stage1, tau_bench", "0 of 60")
    assert "not put" not in told["note"]
    path.unlink()
    assert "not put" in files.told()["small_unharmed"]["note"]


def test_the_rise_of_tau_bench_is_a_slope(tmp_path):
    evaluation = {"splits": ["test"], "checkpoints": [20]}
    config = TWO | {"suites": SUITES, "seeds": [0], "evaluation": evaluation}

    def told(rise):
        def value(checkpoint, metric, item):
            return min(1.0, max(0.0, 0.3 + rise * checkpoint.step / 40 + 0.01 * (item % 7 - 3)))

        return Files(config, tmp_path).sizes(tiny=10, small=20).asked(value).told()["tau_rises"]

    up = told(0.4)
    assert up["effect"] == pytest.approx(1000 * 40 / 40) and up["unit"] == "points a 1,000 steps"
    assert "0, 20, 40" in up["test"]
    assert Files(CONFIG | {"suites": SUITES}, tmp_path / "b").told()["tau_rises"]["verdict"] == NOT_RUN


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_what_cannot_be_tested_stays_so_whatever_the_results(seed, tmp_path_factory):
    draw = random.Random(seed)
    config = CONFIG | {"models": {"tiny": {"warm_start": {}}}, "seeds": [0]}
    told = Files(config, tmp_path_factory.mktemp("any")).evaluated(lambda checkpoint: draw.random()).told()
    tested = {"dense", "small_beats_base", "holes"}
    assert {claim for claim, row in told.items() if row["verdict"] == NOT_RUN} == {c.key for c in CLAIMS} - tested
    for row in told.values():
        assert (row["effect"] is None) == (row["verdict"] == NOT_RUN)
        if row["effect"] is not None:
            assert math.isfinite(row["effect"]) and row["low"] <= row["effect"] <= row["high"]
