"""`planner-r1 dvc`: a study under DVC."""

from __future__ import annotations

from typing import Annotated

import typer

from planner_r1.errors import InputError

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
    from planner_r1.versioning.kept import kept_file
    from planner_r1.versioning.stages import FILE, Plan, study_of_stages

    present = study_of_stages()
    plan = Plan(study or present)
    if kept_file(plan).is_file():
        raise InputError(f"{kept_file(plan)}: holds files of study {plan.study.name} already; remove it first")
    FILE.write_text(plan.text(), encoding="utf-8")
    print(f"{FILE}: {len(plan.stages)} stages of study {plan.study.name}")


@dvc.command()
def params(
    study: Annotated[str | None, typer.Option(help="A study that `keep` has recorded, instead of dvc.yaml's.")] = None,
):
    """Check dvc.yaml against the DAG and write params.yaml, what every job is called with. `dvc repro` runs it first.

    \b
    planner-r1 dvc params --study config/studies/planpo.yaml
    dvc status results/planpo/dvc.yaml       # now also tells whether a job would be called with something else
    """
    from planner_r1.versioning.kept import kept_plan
    from planner_r1.versioning.stages import current_plan, write_params

    plan = kept_plan(study) if study else current_plan()
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
def keep(study: Annotated[str, typer.Option(help="The study's file; another one than dvc.yaml's.")]):
    """Keep the small results of a further study in git, with their record beside them. Nothing is run.

    \b
    snakemake -c 2 all --configfile config/studies/planpo.yaml
    planner-r1 dvc keep --study config/studies/planpo.yaml

    `dvc status results/planpo/dvc.yaml` then tells in any clone whether they are those that were recorded, and which
    keys and modules have changed since; `dvc repro results/planpo/dvc.yaml` makes them anew.
    """
    from planner_r1.versioning.kept import keep, kept_size

    plan = keep(study)
    print(f"study {plan.study.name} is kept ({kept_size(plan)}): `git add {plan.results}`, `git commit`")


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
