"""A further study under DVC: its small results and their record, results/<study>/{dvc.yaml,dvc.lock}, all in git.

The root's dvc.yaml holds one study with all its files, job by job. A study of hours beside it has one stage, which asks
Snakemake for everything: its outputs are the small files alone, so that they can be checked in a clone that has no
other file of the study, and a `dvc repro` of the root does not start it. Its outputs have `persist`, where the root's
have none: DVC would delete what took hours. Nothing stale is taken for new by that: each of them is made of files that
a clone lacks, or, as config.yaml and params.yaml, made anew every time.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from planner_r1.downloads.progress import amount
from planner_r1.errors import InputError
from planner_r1.study import Study
from planner_r1.versioning.records import check_finished, run_dvc
from planner_r1.versioning.stages import FILE, Plan, as_yaml, study_of_stages, write_params

HEADER = "# Written by `planner-r1 dvc keep` from the DAG; not by hand.\n"
STAGE = "all"
# Of what jobs read, the repository's own: data from elsewhere is not in every clone.
OWN = ("config/", "workflow/")


def kept_file(plan: Plan) -> Path:
    """Where the stage of a study stands that is kept beside that of the root."""
    return Path(plan.results) / FILE


def kept_files(plan: Plan) -> list[str]:
    """The small files of a study, paths from the repository's root."""
    return sorted([plan.params_file, *filter(plan.small, plan.files)])


def kept_text(plan: Plan) -> str:
    """The text of a kept study's dvc.yaml. The study's keys are parameters: a comment in its file changes nothing."""
    snakemake = ["snakemake", "--cores", "all", "--configfile", plan.study_file]
    outputs: dict[str, list] = {}
    for file in kept_files(plan):
        outputs.setdefault(plan.kind(file), []).append({file: {"cache": False, "persist": True}})
    stage = {
        "desc": f"the small results of study {plan.study.name}; making them anew takes as long as its file says",
        "wdir": os.path.relpath(".", plan.results),
        "cmd": [
            shlex.join(["planner-r1", "dvc", "params", "--study", plan.study_file]),
            shlex.join([*snakemake, "--forcerun", "study_config", "--", "all"]),
        ],
        "deps": _code(plan),
        "params": [{plan.study_file: None}],
        **outputs,
    }
    return as_yaml(HEADER, {"stages": {STAGE: stage}})


def keep(study_file: str) -> Plan:
    """Write the stage of a study that Snakemake has finished, and record its small files, running nothing.

    Raises:
        InputError: the root's dvc.yaml holds the study, there is work left, or DVC fails.
    """
    plan = Plan(study_file)
    if FILE.is_file() and Study.load(study_of_stages()).name == plan.study.name:
        raise InputError(f"{FILE}: holds study {plan.study.name} with all its files; use `planner-r1 dvc record`")
    check_finished(plan)
    write_params(plan)
    kept_file(plan).write_text(kept_text(plan), encoding="utf-8")
    run_dvc("commit", "--force", str(kept_file(plan)))
    return plan


def kept_plan(study_file: str) -> Plan:
    """The plan of a study that is kept.

    Raises:
        InputError: it is not kept, or its dvc.yaml is not what the study and the rules give now.
    """
    plan = Plan(study_file)
    path, command = kept_file(plan), f"planner-r1 dvc keep --study {study_file}"
    if not path.is_file():
        raise InputError(f"{path}: no such file; `{command}` writes it once the study is finished")
    if path.read_text(encoding="utf-8") != kept_text(plan):
        raise InputError(
            f"{path}: not what the rules and {study_file} give now; run "
            f"`snakemake -c 2 all --configfile {study_file}`, then `{command}`"
        )
    return plan


def kept_size(plan: Plan) -> str:
    """How many files git takes, and how much that is."""
    files = [Path(file) for file in kept_files(plan)]
    return f"{len(files)} files, {amount(sum(file.stat().st_size for file in files))}"


def _code(plan: Plan) -> list[str]:
    """Scripts, modules and settings that the small files are made with; a stage whose files nobody keeps nor reads, as
    that of the report, has no part in them."""
    stages = plan.stages.values()
    read = {file for stage in stages for file in stage.inputs}
    needed = [stage for stage in stages if any(plan.small(file) or file in read for file in stage.outputs)]
    return sorted({file for stage in needed for file in stage.inputs if file.startswith(OWN)})
