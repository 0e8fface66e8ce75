"""Download one file of the catalogue."""

from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.downloads.obtain import obtain
    from planner_r1.downloads.sources import load_catalogue

    obtain(load_catalogue(), Path(snakemake.output[0]))
