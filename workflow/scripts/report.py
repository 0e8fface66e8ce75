"""The page of the study."""

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.paper.report.notebook import write_report

    folder = snakemake.params.folder
    write_report(f"{folder}/config.yaml", folder, snakemake.output[0])
