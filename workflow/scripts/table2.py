"""Table 2 as CSV, Markdown and LaTeX."""

import json
from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.files import read_lines
    from planner_r1.paper import table2
    from planner_r1.paper.render import read_csv
    from planner_r1.study import Study

    study, source = Study.from_config(snakemake.config), snakemake.input
    metrics = [json.loads(Path(file).read_text(encoding="utf-8")) for file in source.metrics]
    scores = [list(read_lines(file)) for file in source.scores]
    results = [table2.Result(m, s) for m, s in zip(metrics, scores, strict=True)]
    table2.write_csv(table2.table2(study, results), snakemake.output.csv)
    rows, title = read_csv(snakemake.output.csv), f"Table 2, study {study.name}"
    Path(snakemake.output.markdown).write_text(table2.markdown(rows, title), encoding="utf-8")
    Path(snakemake.output.latex).write_text(table2.latex(rows, title), encoding="utf-8")
