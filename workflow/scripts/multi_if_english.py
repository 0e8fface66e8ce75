"""Keep the English conversations of Multi-IF."""

from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.downloads.multi_if import keep_language

    kept = keep_language(Path(snakemake.input[0]), "English", Path(snakemake.output[0]))
    print(f"{kept} conversations")
