"""The table of the study of memory as CSV and Markdown."""

import json
from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.paper import memory
    from planner_r1.study import Study

    study = Study.from_config(snakemake.config)
    probes = [json.loads(Path(file).read_text(encoding="utf-8")) for file in snakemake.input.probes]
    rows = memory.memory_table(probes)
    memory.write_csv(rows, snakemake.output.csv)
    title = f"Memory, study {study.name} ({snakemake.params.world})"
    Path(snakemake.output.markdown).write_text(memory.markdown(rows, title), encoding="utf-8")
