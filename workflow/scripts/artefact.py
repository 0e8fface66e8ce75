"""A table or a figure, drawn from the numbers that it writes."""

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.paper.artefacts import artefact
    from planner_r1.paper.make import make
    from planner_r1.study import Study

    made = artefact(snakemake.rule)
    make(made, Study.from_config(snakemake.config), snakemake.params.folder, dict(snakemake.output.items()))
