"""Score the episodes of a run's validations, without their texts: what tables and figures over training read."""

from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.files import write_lines
    from planner_r1.queries import load_queries
    from planner_r1.sandbox.store import Store
    from planner_r1.scoring import score_validations

    source = snakemake.input
    store, queries = Store.open(Path(source.store).parent), load_queries(source.queries)
    write_lines(snakemake.output[0], score_validations(source.episodes, queries, store))
