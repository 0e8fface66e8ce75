"""Table 1 as CSV, Markdown and LaTeX."""

import json
from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.paper import tables
    from planner_r1.paper.render import read_csv
    from planner_r1.study import Study

    study = Study.from_config(snakemake.config)
    metrics = [json.loads(Path(file).read_text(encoding="utf-8")) for file in snakemake.input.metrics]
    tables.write_csv(tables.table1(study, metrics), snakemake.output.csv)
    rows = read_csv(snakemake.output.csv)
    title = f"Table 1, study {study.name} ({snakemake.params.world})"
    Path(snakemake.output.markdown).write_text(tables.markdown(rows, title), encoding="utf-8")
    Path(snakemake.output.latex).write_text(tables.latex(rows, title), encoding="utf-8")
