"""dvc.yaml of a study, from the DAG itself: each stage asks Snakemake for the outputs of some jobs.

Files, scripts and parameters are those of the rules, so the two cannot drift apart. What a job is called with goes to
results/<study>/params.yaml, which the first stage writes anew whenever code or study change: a key then reruns exactly
the stages whose jobs it touches. No stage has `persist`: DVC deletes what is stale, so that Snakemake has to make it,
whatever ages and records of files say.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from planner_r1.errors import InputError
from planner_r1.study import SUITE_FILES, Study

FILE = Path("dvc.yaml")
DEFAULT_STUDY = "config/quick.yaml"
HEADER = "# Written by `planner-r1 dvc stages` from the DAG; not by hand.\n"
FIRST = "study"

# The stage of each rule, in the order of dvc.yaml; one that is not named here has a stage of its own name. What takes
# long has a stage a job, so that a new seed leaves the finished ones alone.
STAGES = {
    "study_config": FIRST,
    **dict.fromkeys(("world", "build_sandbox", "queries", "parquet", "train_subset"), "sandbox"),
    **{f"ood_data_{suite}": "suite_data" for suite in SUITE_FILES},
    **dict.fromkeys(("base_model", "fine_tune", "preflight"), "model-{model}"),
    "train_run": "train-{model}-{regime}-seed{seed}",
    **dict.fromkeys(
        ("evaluate_checkpoint", "evaluate_endpoint"), "trajectories-{model}-{regime}-seed{seed}-step{step}"
    ),
    **dict.fromkeys(("ood_answers", "ood_answers_of_service"), "answers-{model}-{regime}-seed{seed}-step{step}"),
    "memory_probe": "memory-{model}-share{share}",
    **{rule: rule for rule in ("score", "score_validations")},
    **{f"ood_{suite}": "score_suites" for suite in SUITE_FILES},
}
# Downloads are pinned by config/sources.yaml and need no second record; a stage that reads them may fetch them.
DOWNLOADS = ("download", "unpack", "multi_if_english", "tau_bench_tasks", "tau_bench_tools")
# Rules without files of their own: their stages only stand for others.
STATIONS = ("train", "evaluate", "ood", "tables", "figures")
USES_WEIGHTS = ("train_run", "evaluate_checkpoint", "ood_answers", "memory_probe")

# What git keeps itself, below results/<study>; .gitignore lets the same pass. DVC's cache keeps the rest.
SMALL = (
    *("config.yaml", "params.yaml", "summary.*", "reproduction.*", "tables/*", "figures/*", "preflight/*", "memory/*"),
    *("sandbox/report.json", "runs/*/MANIFEST.json", "evaluations/*/metrics.json", "evaluations/*/costs.json"),
    "ood/*/metrics.json",
)
METRICS = "evaluations/*/metrics.json"
# Figures that `dvc plots` draws itself from their numbers, by .dvc/plots/curves.json: x, y and what y is. Of the others
# it shows the picture.
CURVES = {"figures/figure3_left.csv": ("step", "final_pass", "final pass (%)")}


@dataclass
class Stage:
    """What a stage runs, reads and writes; paths from the repository's root."""

    rules: set[str] = field(default_factory=set)
    targets: list[str] = field(default_factory=list)
    outputs: set[str] = field(default_factory=set)
    inputs: set[str] = field(default_factory=set)
    params: dict[str, dict] = field(default_factory=dict)


class Plan:
    """The jobs of a study's `all`, as Snakemake sees them from the current folder.

    Raises:
        InputError: there is no such study, or Snakemake cannot plan it.
    """

    def __init__(self, study_file: str):
        self.study_file, self.study = study_file, Study.load(study_file)
        self.results = f"results/{self.study.name}"
        self.dag = _dag(Path(study_file))

    @cached_property
    def jobs(self) -> set:
        """Those that `all` needs; a station may have others, such as the evaluations of a study of memory."""
        whole = next(job for job in self.dag.jobs if job.rule.name == "all")
        return {*self.dag.bfs(self.dag.dependencies, whole)}

    @property
    def to_do(self) -> list[str]:
        """What Snakemake would run, what comes first at the front."""
        return [_label(job) for job in sorted(self.jobs & {*self.dag.needrun_jobs()}, key=_place) if job.output]

    @property
    def files(self) -> list[str]:
        """Every file that a stage writes, folders for what lies in them."""
        return sorted({file for stage in self.stages.values() for file in stage.outputs})

    @property
    def params_file(self) -> str:
        return f"{self.results}/params.yaml"

    @cached_property
    def stages(self) -> dict[str, Stage]:
        """The stages that make something, in the order of STAGES; those of artefacts by name."""
        stages: dict[str, Stage] = {}
        kept = (job for job in self.jobs if job.output and job.rule.name not in DOWNLOADS)
        for job in sorted(kept, key=_place):
            stage = stages.setdefault(_stage_name(job), Stage())
            stage.rules.add(job.rule.name)
            stage.targets.append(str(job.output[0]))
            stage.outputs |= {*self._outputs(job)}
            stage.inputs |= {*self._inputs(job)}
            if any(_downloaded(file) for file in job.input):
                stage.rules |= {*DOWNLOADS}
            stage.params[_label(job)] = _plain(dict(job.params.items()))
        for stage in stages.values():
            stage.inputs -= stage.outputs
        return stages

    def small(self, file: str) -> bool:
        """Whether git keeps a file itself."""
        return any(fnmatch(file, f"{self.results}/{pattern}") for pattern in SMALL)

    def kind(self, file: str) -> str:
        """What a file is to DVC: one of a stage's `metrics` or `outs`."""
        return "metrics" if fnmatch(file, f"{self.results}/{METRICS}") else "outs"

    def params(self) -> str:
        """The text of params.yaml: the parameters of every job, by stage."""
        text = {name: stage.params for name, stage in sorted(self.stages.items()) if name != FIRST}
        return yaml.safe_dump(text, sort_keys=True, allow_unicode=True, width=120)

    def text(self) -> str:
        """The text of dvc.yaml."""
        stages = {name: self._as_yaml(name, stage) for name, stage in self.stages.items()}
        stages = {FIRST: stages.pop(FIRST)} | stages | self._stations()
        return as_yaml(HEADER, {"stages": stages} | self._plots())

    # ---- files ------------------------------------------------------------------------------------------------

    def _outputs(self, job) -> Iterator[str]:
        """What a job leaves: what its rule declares, and the folder for which a declared file stands."""
        for file in map(str, job.output):
            yield self._folder(file) or file
        if job.rule.name == "train_run":
            yield f"{_run_folder(job)}/checkpoints"

    def _inputs(self, job) -> Iterator[str]:
        """What a job reads: what its rule declares, its script, and the weights for which a manifest stands."""
        for file in job.input:
            if _downloaded(file):
                continue
            folder = self._folder(str(file))
            yield folder if folder and (job.rule.name in USES_WEIGHTS or "/store/" in file) else str(file)
            if job.rule.name in USES_WEIGHTS and fnmatch(file, f"{self.results}/runs/*/MANIFEST.json"):
                yield f"{Path(file).parent}/checkpoints/step{job.wildcards.step}"
        if job.rule.script:
            yield os.path.relpath(os.path.join(str(job.rule.basedir), job.rule.script))

    def _folder(self, file: str) -> str | None:
        """The folder that is whole when a file is there; of a model taken as given only the manifest is kept."""
        models, store = f"{self.results}/models/", f"{self.results}/sandbox/store/"
        if file.startswith(store):
            return store.removesuffix("/")
        if file.startswith(models) and self.study.made_here(file.removeprefix(models).partition("/")[0]):
            return str(Path(file).parent)
        return None

    # ---- YAML -------------------------------------------------------------------------------------------------

    def _as_yaml(self, name: str, stage: Stage) -> dict[str, Any]:
        words = ["snakemake", "--cores", "all", "--configfile", self.study_file]
        command = shlex.join([*words, "--allowed-rules", *sorted(stage.rules), "--", *sorted(stage.targets)])
        kept = {"outs": [], "metrics": []}
        for file in sorted(stage.outputs):
            kept[self.kind(file)].append({file: {"cache": False}} if self.small(file) else file)
        outputs = {kind: files for kind, files in kept.items() if files}
        if name == FIRST:
            return {
                "desc": "stops where this file is not of the study any more",
                "meta": {"study": self.study_file},
                "cmd": ["planner-r1 dvc params", command],
                "deps": ["Snakefile", "config/sources.yaml", self.study_file, "workflow"],
                "outs": [*outputs["outs"], {self.params_file: {"cache": False}}],
            }
        return {"cmd": command, "deps": sorted(stage.inputs), "params": [{self.params_file: [name]}], **outputs}

    def _stations(self) -> dict[str, dict]:
        jobs = {job.rule.name: job for job in self.dag.jobs if job.rule.name in STATIONS}
        made = {str(file) for job in self.jobs for file in job.output}
        files = {name: sorted(made & {*map(str, jobs[name].input)}) for name in STATIONS if name in jobs}
        return {name: {"cmd": "true", "deps": deps} for name, deps in files.items() if deps}

    def _plots(self) -> dict[str, list]:
        drawn = {f"{self.results}/{file}": axes for file, axes in CURVES.items()}
        plots = []
        for file in self.files:
            if file in drawn:
                x, y, label = drawn[file]
                plots.append({file: {"template": "curves", "x": x, "y": y, "y_label": label}})
            elif file.endswith(".png"):
                plots.append(file)
        return {"plots": plots} if plots else {}


def study_of_stages() -> str:
    """The file of the study that dvc.yaml is of; the default one's where there is none yet.

    Raises:
        InputError: dvc.yaml was not written by this program.
    """
    if not FILE.is_file():
        return DEFAULT_STUDY
    try:
        return yaml.safe_load(FILE.read_text(encoding="utf-8"))["stages"][FIRST]["meta"]["study"]
    except (yaml.YAMLError, KeyError, TypeError):
        raise InputError(f"{FILE}: not a file of `planner-r1 dvc stages`; move it away") from None


def current_plan() -> Plan:
    """The plan of the study that dvc.yaml is of.

    Raises:
        InputError: dvc.yaml is not what the study and the rules give now.
    """
    plan = Plan(study_of_stages())
    if not FILE.is_file() or FILE.read_text(encoding="utf-8") != plan.text():
        raise InputError(
            f"{FILE}: not what the rules and {plan.study_file} give now; run `planner-r1 dvc stages`, then this again"
        )
    return plan


def as_yaml(header: str, whole: dict) -> str:
    """The text of a dvc.yaml."""
    return header + yaml.dump(whole, Dumper=_NoAliases, sort_keys=False, allow_unicode=True, width=120)


def write_params(plan: Plan) -> None:
    path = Path(plan.params_file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(plan.params(), encoding="utf-8")


def _dag(study_file: Path):
    """Snakemake's own DAG. Its library has no public way to look at jobs; the version is pinned."""
    from snakemake.api import SnakemakeApi
    from snakemake.exceptions import WorkflowError
    from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, Quietness, ResourceSettings

    output = OutputSettings(quiet={Quietness.ALL})
    try:
        with SnakemakeApi(output) as api:
            workflow = api.workflow(
                resource_settings=ResourceSettings(cores=1),
                config_settings=ConfigSettings(configfiles=[study_file]),
                snakefile=Path("Snakefile"),
            )
            # what a killed job left behind counts as work to do
            workflow.dag(DAGSettings(targets={"all", *STATIONS}, force_incomplete=True))
            planned = workflow._workflow
            planned._prepare_dag(forceall=False, ignore_incomplete=False, lock_warn_only=True, nolock=True)
            planned._build_dag()
            return planned.dag
    except WorkflowError as error:
        raise InputError(f"Snakefile with {study_file}: {error}; see `snakemake -n all`") from None


def _stage_name(job) -> str:
    """A stage's name; DVC allows neither dots nor slashes in it."""
    name = STAGES.get(job.rule.name, job.rule.name).format(**job.wildcards)
    return re.sub(r"[^\w-]", "_", name)


def _place(job) -> tuple[int, str]:
    rules = [*STAGES]
    return rules.index(job.rule.name) if job.rule.name in STAGES else len(rules), _label(job)


def _label(job) -> str:
    return "/".join([job.rule.name, *map(str, job.wildcards)])


def _run_folder(job) -> str:
    return str(Path(job.output.manifest).parent)


def _downloaded(file) -> bool:
    """Whether an input is a download, whose age says nothing (`present` in common.smk)."""
    return file.is_ancient


def _plain(value):
    return json.loads(json.dumps(value))


class _NoAliases(yaml.SafeDumper):
    def ignore_aliases(self, data) -> bool:
        return True
