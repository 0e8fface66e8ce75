"""Write the resolved configuration beside the results, defaults included, once the trainer's keys are checked too."""

from pathlib import Path

import yaml

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.study import Study
    from planner_r1.training.config import compose_config

    study = Study.from_config(snakemake.params.config)
    compose_config(study.backend, study.overrides, {})
    text = yaml.safe_dump(snakemake.params.config, sort_keys=False, allow_unicode=True, width=120)
    Path(snakemake.output[0]).write_text(text, encoding="utf-8")
