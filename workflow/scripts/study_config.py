"""Write the resolved configuration beside the results: every key, defaults included."""

from pathlib import Path

import yaml

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    text = yaml.safe_dump(snakemake.params.config, sort_keys=False, allow_unicode=True, width=120)
    Path(snakemake.output[0]).write_text(text, encoding="utf-8")
