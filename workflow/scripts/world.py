"""Make up a world in the official file format."""

from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.sandbox.synthetic import WorldSpec, write_world

    out = Path(snakemake.output[0]).parents[1]
    write_world(WorldSpec(**snakemake.params.spec), out)
    print(f"wrote a world to {out}: {snakemake.params.spec}")
