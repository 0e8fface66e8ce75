"""Make up the data of a suite, in its own layout."""

from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.ood.suites import SUITES

    params, out = snakemake.params, Path(snakemake.output[0]).parent
    SUITES[params.suite].make_up(out, **params.spec)
    print(f"made up {out}: {params.spec}")
