"""Write the first rows of the train split, for regimes that train on fewer queries."""

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.training.rows import write_first_rows

    write_first_rows(snakemake.input[0], int(snakemake.wildcards.size), snakemake.output[0])
    print(f"train: the first {snakemake.wildcards.size} rows")
