# The whole study as one DAG: sandbox -> queries -> runs -> checkpoints -> scores -> tables and figures.
# Run from this folder:  snakemake -c 2 [TARGET] [--configfile config/laptop.yaml]
import re
import sys
from pathlib import Path

from snakemake.utils import min_version

from planner_r1.downloads.sources import load_catalogue
from planner_r1.errors import InputError
from planner_r1.paper.artefacts import (
    FIGURE,
    TABLE,
    artefact_files,
    artefacts_of,
    files_of,
)
from planner_r1.queries import load_queries
from planner_r1.study import DATABASE_FILES, SPLITS, SUITE_FILES, Study
from planner_r1.training.early_checks import check_training
from planner_r1.verl_overlays import overlay_names

min_version("9.27")

# A study is one file: another one replaces the default, where two `configfile`s would be merged.
if not workflow.overwrite_configfiles:

    configfile: "config/quick.yaml"


try:
    study = Study.from_config(config)
    check_training(study)
except InputError as error:
    sys.exit(f"{', '.join(map(str, workflow.configfiles))}: {error}")

RESULTS = f"results/{study.name}"


pathvars:
    results=RESULTS,
    logs=f"{RESULTS}/logs",
    benchmarks=f"{RESULTS}/benchmarks",


wildcard_constraints:
    model="|".join(study.models),
    regime="|".join(("base", *study.regimes)),
    seed=r"\d+",
    step=r"\d+",
    split="|".join(SPLITS),


rule all:
    default_target: True
    input:
        "<results>/config.yaml",
        expand("<results>/{file}", file=artefact_files(artefacts_of(study))),
        "<results>/summary.md" if study.runs else [],
        "<results>/report.html",


include: "workflow/rules/common.smk"
include: "workflow/rules/downloads.smk"
include: "workflow/rules/sandbox.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/preflight.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/ood.smk"
include: "workflow/rules/paper.smk"
include: "workflow/rules/memory.smk"
include: "workflow/rules/report.smk"


localrules:
    all,


onsuccess:
    if Path(RESULTS, "report.html").is_file():
        print(
            f"Open {RESULTS}/report.html in a browser: results, verdicts, episodes."
        )
