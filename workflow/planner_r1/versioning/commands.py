"""`planner-r1 dvc`: a study under DVC."""

from __future__ import annotations

from typing import Annotated

import typer

dvc = typer.Typer(
    help="Keep a study's results with DVC.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dvc.command()
def stages(
    study: Annotated[str | None, typer.Option(help="The study's file; that of dvc.yaml where it is left out.")] = None,
):
    """Write dvc.yaml: the study's DAG as stages. To be done again when a study gains or loses jobs, or a rule changes;
    `dvc repro` stops where it was forgotten.

    \b
    planner-r1 dvc stages --study config/paper.yaml
    """
    from planner_r1.versioning.stages import FILE, Plan, study_of_stages

    present = study_of_stages()
    plan = Plan(study or present)
    FILE.write_text(plan.text(), encoding="utf-8")
    print(f"{FILE}: {len(plan.stages)} stages of study {plan.study.name}")


@dvc.command()
def params():
    """Check dvc.yaml against the DAG and write params.yaml, what every job is called with. The first stage runs it."""
    from planner_r1.versioning.stages import current_plan, write_params

    plan = current_plan()
    write_params(plan)
    print(f"{plan.params_file}: parameters of {len(plan.stages)} stages")


@dvc.command()
def record():
    """Record a finished run of Snakemake, as if `dvc repro` had made it. Nothing is run.

    \b
    snakemake --profile slurm all
    planner-r1 dvc record
    """
    from planner_r1.versioning.records import record
    from planner_r1.versioning.stages import FILE

    plan = record()
    print(f"study {plan.study.name} is recorded: `git add {FILE} dvc.lock {plan.results}`, `git commit`, `dvc push`")


@dvc.command()
def sync():
    """After `dvc pull`, have Snakemake take what was pulled for finished. Nothing is run.

    \b
    dvc pull
    planner-r1 dvc sync
    """
    from planner_r1.versioning.records import sync

    plan = sync()
    print(f"study {plan.study.name} is as dvc.lock says, and Snakemake has nothing to do")
