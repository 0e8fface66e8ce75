"""Write the queries of a split as rows that verl reads, the prompt rendered inside."""

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.agent.prompt import load_template
    from planner_r1.queries import load_queries
    from planner_r1.training.rows import write_parquet

    queries = load_queries(snakemake.input.queries)
    template = load_template(snakemake.params.template)
    write_parquet(queries, snakemake.output[0], snakemake.wildcards.split, template)
    print(f"{snakemake.wildcards.split}: {len(queries)} rows")
