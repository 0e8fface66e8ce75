"""What the page says, section by section, from what lies in results/<study>. What is not there is left out."""

from __future__ import annotations

import csv
import json
import platform
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import yaml

from planner_r1.checkout import ROOT
from planner_r1.downloads.sources import load_catalogue
from planner_r1.evaluator.profiles import HOLES
from planner_r1.paper.artefacts import FIGURE, TABLE, Artefact, artefacts_of
from planner_r1.paper.reference import SOURCE
from planner_r1.paper.report.episodes import Episodes
from planner_r1.paper.report.html import (
    Html,
    code,
    element,
    facts,
    fold,
    join,
    markdown,
    picture,
    section,
    table,
)
from planner_r1.paper.report.inputs import SUMMARY, reads, shown
from planner_r1.paper.report.viewer import viewer
from planner_r1.paper.results import Results
from planner_r1.queries import load_queries
from planner_r1.reward import weights_label
from planner_r1.study import OFFICIAL, Study
from planner_r1.training.manifest import git_commit

CAPTIONS = ROOT / "workflow" / "report"
PAGE_BYTES = 15_000_000
VIEWER_BYTES = 6_000_000
COMPARED = ("differences", "equal_budgets")  # artefacts that compare regimes, in a section of their own
RESERVE = 1_500_000  # for all that is neither picture nor episode
# What this page itself was made with.
PACKAGES = ("snakemake", "numpy", "scipy", "matplotlib", "papermill", "nbconvert")


class Report:
    """The page of a study, in pieces for the cells of its notebook.

    Args:
        config: the study with its defaults, results/<study>/config.yaml
        folder: results/<study>

    Raises:
        InputError: the study, or a file of its results, is not what it should be.
    """

    def __init__(self, config: str, folder: str):
        self.study, self.folder = Study.load(config), Path(folder)
        self._results = Results(self.study, folder, reads(self.study))

    # ---- the pieces of the notebook ---------------------------------------------------------------------------------

    def opening(self) -> Html:
        """The title, what this study is, and what the page holds."""
        study = self.study
        what = element("p", _what_it_is(study), class_="lead")
        caution = element("p", element("strong", "Made-up world. "), CAUTION, class_="caution") if study.world else ""
        papers = element("p", f"Numbers marked “paper” are printed in {SOURCE}; all others this study measured.")
        head = element(
            "header", element("h1", f"Planner-R1, reproduced: {study.name}"), what, caution, papers, _facts(study)
        )
        return join([head, _contents(self._sections)])

    def verdicts(self) -> Html:
        return join(self._pick("reproduction", "learnt", "regimes"))

    def tables(self) -> Html:
        return join(self._pick("tables"))

    def figures(self) -> Html:
        return join(self._pick("figures"))

    def episodes(self) -> Html:
        return join(self._pick("episodes"))

    def background(self) -> Html:
        return join(self._pick("holes", "faults", "cost", "data", "versions", "configuration"))

    def _pick(self, *anchors: str) -> list[Html]:
        return [content for anchor, _, content, _ in self._sections if anchor in anchors]

    @cached_property
    def _sections(self) -> list[tuple[str, str, Html, list[Artefact]]]:
        """Anchor, title, the whole section, and the artefacts within; those that have content, in order."""
        every = [*self._made(TABLE), *self._made(FIGURE)]
        compared = [artefact for artefact in every if artefact.name in COMPARED]
        tables, figures = ([a for a in every if a.kind == kind and a not in compared] for kind in (TABLE, FIGURE))
        made = [
            ("reproduction", "Does it reproduce?", self._markdown("reproduction.md"), []),
            ("learnt", "What was learnt", self._markdown(SUMMARY), []),
            ("regimes", "Regimes compared", join(map(self._artefact, compared)), compared),
            ("tables", "Tables", join(map(self._artefact, tables)), tables),
            ("figures", "Figures", join(map(self._artefact, figures)), figures),
            ("episodes", "Episodes, turn by turn", self._viewer(), []),
            ("holes", "Holes of the official rules", self._holes(), []),
            ("faults", "Requests and faults", self._faults(), []),
            ("cost", "Time and cost", self._cost(), []),
            ("data", "Data", self._data(), []),
            ("versions", "Versions", self._versions(), []),
            ("configuration", "Configuration", self._configuration(), []),
        ]
        return [(anchor, title, section(anchor, title, what), own) for anchor, title, what, own in made if what]

    # ---- results --------------------------------------------------------------------------------------------------

    def _markdown(self, name: str) -> Html:
        path = self.folder / name
        return markdown(path.read_text(encoding="utf-8")) if path.is_file() else Html()

    def _made(self, kind: str) -> list[Artefact]:
        found = [artefact for artefact in artefacts_of(self.study) if artefact.kind == kind]
        return [artefact for artefact in found if (self.folder / artefact.csv).is_file()]

    def _artefact(self, artefact: Artefact) -> Html:
        caption = _caption(artefact)
        numbers = element("p", "Numbers: ", element("code", artefact.csv), class_="note")
        if artefact.kind == FIGURE:
            path = self.folder / shown(artefact)
            drawn = picture(path, f"{artefact.title}. {caption}") if path.is_file() else ""
            content = element("figure", drawn, element("figcaption", caption))
        else:
            content = element("p", caption, class_="caption") + self._markdown(shown(artefact))
        return element("article", element("h3", artefact.title), content, numbers, id=artefact.name)

    def _viewer(self) -> Html:
        pictures = sum(path.stat().st_size for path in (self.folder / "figures").glob("*.png"))
        room = min(VIEWER_BYTES, PAGE_BYTES - RESERVE - pictures * 4 // 3)
        return viewer(Episodes(self.study, self.folder), max(room, 0))

    # ---- behind the numbers ---------------------------------------------------------------------------------------

    def _holes(self) -> Html:
        """By checkpoint, means over its seeds in percent."""
        if self.study.probes:
            return Html()
        groups = defaultdict(list)
        for metrics in self._results.rates():
            if not metrics["hidden"]:
                groups[metrics["model"], metrics["regime"], metrics["step"], metrics["split"]].append(metrics)
        rows, found = [], Counter()
        for place, group in groups.items():
            passes = [_percent(m["rates"][profile]["final_pass"] for m in group) for profile in ("official", "strict")]
            holes = sum((Counter(m.get("holes", {})) for m in group), Counter())
            found += holes
            rows.append([*place, len(group), *passes, sum(holes.values()), _counted(holes)])
        told = "Final pass in percent, mean over seeds, under the official rules and with their holes closed; and the "
        told += "plans of all seeds that pass through a hole alone, by hole."
        headings = ("Model", "Regime", "Step", "Split", "Seeds", "Official", "Strict", "Plans", "Holes")
        names = {name for hole in found for name in hole.split("+")}
        meanings = facts((name, meaning) for name, meaning in HOLES.items() if name in names)
        none = "" if found else element("p", "No plan passed through a hole alone.")
        return (
            join([element("p", told), table(headings, rows, numbers=(2, *range(4, 8))), none, meanings])
            if rows
            else Html()
        )

    def _faults(self) -> Html:
        """What services and servers were asked; of trained models' own evaluations nobody else answers."""
        rows = []
        for checkpoint in () if self.study.probes else self.study.suite_checkpoints:
            for suite, asked in (self._results.asked(checkpoint) or {}).items():
                for who, took in asked["costs"].items():
                    rows.append([checkpoint.name, suite, who, *_taken(took)])
        for path in sorted(self.folder.glob("evaluations/**/costs.json")):
            took = json.loads(path.read_text(encoding="utf-8"))
            rows.append(
                [path.parent.parent.relative_to(self.folder / "evaluations"), path.parent.name, "model", *_taken(took)]
            )
        told = (
            "Requests to servers and services. A request without an answer does not count as wrong: it is asked again "
        )
        told += "until there is one, and no score is made before."
        again = sum(row[5] + row[4] for row in rows)
        total = f" Of {sum(row[3] for row in rows):,} requests {again:,} were repeated or had no answer at first."
        headings = ("Checkpoint", "Asked for", "Of", "Requests", "Without answer", "Repeated", "Hours")
        return (
            join([element("p", told, total), fold("By checkpoint", table(headings, rows, numbers=range(3, 7)))])
            if rows
            else Html()
        )

    def _cost(self) -> Html:
        rows = []
        manifests = self._manifests
        for model in self.study.trainable:
            for regime in self.study.regimes_of(model):
                of_regime = [m for run, m in manifests if (run.model, run.regime) == (model, regime)]
                if of_regime:
                    hours = sum(m["wall_seconds"] for m in of_regime) / 3600
                    on_gpus = sum(m["wall_seconds"] * _gpus(m) for m in of_regime) / 3600
                    steps = sum(m["final_step"] for m in of_regime)
                    gpus = f"{on_gpus:,.1f}" if on_gpus else "none used"
                    rows.append([model, regime, len(of_regime), f"{steps:,}", f"{hours:,.2f}", gpus])
        runs = table(("Model", "Regime", "Runs", "Steps", "Wall hours", "GPU hours"), rows, numbers=range(2, 6))
        told = element("p", "Measured: wall time of the training runs, one after the other, and GPUs times wall time.")
        return join([told, runs, self._benchmarks()]) if rows else self._benchmarks()

    def _benchmarks(self) -> Html:
        """Snakemake's own measurements, by rule."""
        by_rule = defaultdict(list)
        folder = self.folder / "benchmarks"
        for path in sorted(folder.rglob("*.tsv")):
            with open(path, encoding="utf-8", newline="") as file:
                by_rule[path.relative_to(folder).with_suffix("").parts[0]] += csv.DictReader(file, delimiter="\t")
        rows = []
        for rule, jobs in by_rule.items():
            memory = [float(job["max_rss"]) for job in jobs if _is_number(job["max_rss"])]
            seconds = sum(float(job["s"]) for job in jobs)
            rows.append([rule, len(jobs), f"{seconds:,.0f}", f"{max(memory) / 1024:,.1f}" if memory else ""])
        headings = ("Rule", "Jobs", "Seconds", "Most memory, GiB")
        told = "By rule of the pipeline, as Snakemake measured the jobs that ran last."
        return element("p", told) + table(headings, rows, numbers=range(1, 4)) if rows else Html()

    def _data(self) -> Html:
        return join([self._database(), self._queries(), self._downloads(), self._trained_on()])

    def _database(self) -> Html:
        path = self.folder / "sandbox" / "store" / "store.json"
        if not path.is_file():
            return Html()
        store = json.loads(path.read_text(encoding="utf-8"))
        claim = "the complete release, by its row counts" if store["official"] else "not claimed to be complete"
        if world := self.study.world:
            claim = f"made up, {', '.join(f'{key} {value}' for key, value in world.items())}"
        rows = [[name, *(count[key] for key in ("read", "kept", "dropped"))] for name, count in store["rows"].items()]
        hashes = table(("File", "SHA-256"), [[name, element("code", sha)] for name, sha in store["sha256"].items()])
        return join(
            [
                element("p", f"Travel database from {store['source']}: {claim}."),
                table(("Table", "Rows read", "Kept", "Dropped"), rows, numbers=range(1, 4)),
                fold("Hashes of its files", hashes),
            ]
        )

    def _queries(self) -> Html:
        rows = []
        for split in self.study.all_splits:
            path = self.folder / "data" / f"{split}.jsonl"
            if path.is_file():
                drawn = self.study.query_file(split) or f"drawn from the database, seed {self.study.query_seed(split)}"
                rows.append([split, f"{len(load_queries(path)):,}", drawn])
        return element("p", "Queries:") + table(("Split", "Number", "From"), rows, numbers=(1,)) if rows else Html()

    def _downloads(self) -> Html:
        """The sources of the catalogue that the study's files lie in."""
        named = set(re.findall(r"[\w./-]+", yaml.safe_dump(self.study.config)))
        rows = []
        for source in load_catalogue().sources.values():
            places = {str(path) for path in source.wanted}
            if named & (places | {str(parent) for path in source.wanted for parent in path.parents[:-2]}):
                rows.append([source.name, source.description, source.licence, element("code", source.revision or "")])
        return (
            element("p", "What the study's files are, as config/sources.yaml pins them:")
            + table(("Source", "What", "Licence", "Revision"), rows)
            if rows
            else Html()
        )

    def _trained_on(self) -> Html:
        keys = {"train_queries": "queries trained on", "validation_queries": "validation queries", "store": "store"}
        known = {key: {m["settings"].get(key) for _, m in self._manifests} for key in keys}
        rows = [[what, element("code", sha)] for key, what in keys.items() for sha in sorted(filter(None, known[key]))]
        return fold("Hashes of what the runs were given", table(("What", "SHA-256"), rows)) if rows else Html()

    def _versions(self) -> Html:
        """Packages and commit, of what made the models and of what made this page."""
        made = [m for _, m in self._manifests] or list(filter(None, map(self._results.model, self.study.trainable)))
        made = made or (self._results.probes() if self.study.probes else [])
        theirs: dict[str, Counter] = defaultdict(Counter)
        for manifest in made:
            known = manifest.get("versions", {}) | {"commit": manifest.get("git_commit")}
            theirs.update({name: theirs[name] + Counter([number]) for name, number in known.items() if number})
        own = {name: version(name) for name in PACKAGES} | {"python": platform.python_version(), "commit": git_commit()}
        names = sorted(theirs.keys() | own.keys(), key=lambda name: (name == "commit", name.lower()))
        rows = [[name, _alike(theirs[name], len(made)), own.get(name)] for name in names]
        return table(("", "Models", "This page"), rows)

    def _configuration(self) -> Html:
        path = self.folder / "config.yaml"
        shown = (
            path.read_text(encoding="utf-8") if path.is_file() else yaml.safe_dump(self.study.config, sort_keys=False)
        )
        return element("p", "Every key of the study, defaults included.") + fold("config.yaml", code(shown))

    @cached_property
    def _manifests(self) -> list[tuple]:
        found = ((run, self._results.manifest(run)) for run in self.study.runs)
        return [(run, manifest) for run, manifest in found if manifest]


CAUTION = "Tiny models here show that the pipeline works and learns. They say nothing about the paper's numbers."


def _what_it_is(study: Study) -> str:
    if study.probes:
        return "Short probes of the memory that training takes, at each share given to the rollout engine."
    if not study.runs:
        return "Models that are not trained here, as planners of trips with tools."
    return "Language models trained by GRPO to plan trips with tools, and how dense the reward should be for that."


def _facts(study: Study) -> Html:
    regimes = {
        r: " → ".join(weights_label(p.weights) for p in study.run(m, r, 0).phases)
        + ("" if study.profile(r) == OFFICIAL else f"; the {study.profile(r)} profile pays")
        for m in study.models
        for r in study.regimes_of(m)
    }
    steps = sorted({run.steps for run in study.runs})
    return facts(
        [
            ("World", study.world_label),
            ("Models", ", ".join(study.models)),
            (
                "Regimes",
                "; ".join(name if name == phases else f"{name} ({phases})" for name, phases in regimes.items()),
            ),
            (
                "Training",
                f"{len(study.runs)} runs of {_span(steps)} steps, on {study.backend.upper()}s" if steps else "",
            ),
            ("Seeds", ", ".join(map(str, study.seeds)) if study.runs else ""),
            ("Evaluated on", "" if study.probes else ", ".join(study.splits)),
            ("Other skills", ", ".join(study.suites)),
        ]
    )


def _span(numbers: Sequence[int]) -> str:
    return f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}"


def _contents(sections: Iterable[tuple[str, str, Html, list[Artefact]]]) -> Html:
    entries = []
    for anchor, title, _, artefacts in sections:
        inner = (
            element("ul", *(element("li", element("a", a.title, href=f"#{a.name}")) for a in artefacts))
            if artefacts
            else ""
        )
        entries.append(element("li", element("a", title, href=f"#{anchor}"), inner))
    return element(
        "nav", element("p", "Contents", class_="note"), element("ul", *entries), **{"aria-label": "Contents"}
    )


def _caption(artefact: Artefact) -> str:
    path = CAPTIONS / f"{artefact.drawn_by}.rst"
    return " ".join(path.read_text(encoding="utf-8").split()) if path.is_file() else ""


def _percent(values: Iterable[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{100 * sum(known) / len(known):.1f}" if known else ""


def _counted(counts: Counter) -> str:
    return ", ".join(f"{name} {n}" for name, n in counts.most_common())


def _taken(took: dict) -> list:
    return [took["requests"], took["without_answer"], took["retries"], f"{took['seconds'] / 3600:,.2f}"]


def _gpus(manifest: dict) -> int:
    trainer = manifest["config"]["trainer"]
    return trainer["nnodes"] * trainer["n_gpus_per_node"] if trainer["device"] == "cuda" else 0


def _alike(numbers: Counter, total: int) -> str:
    """The one value of all, or each with how many have it."""
    if not numbers:
        return ""
    if len(numbers) == 1 and sum(numbers.values()) == total:
        return next(iter(numbers))
    return ", ".join(f"{number} ({n} of {total})" for number, n in numbers.most_common())


def _is_number(text: str | None) -> bool:
    return bool(text) and text not in ("-", "NA")
