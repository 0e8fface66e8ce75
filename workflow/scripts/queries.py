"""Draw the queries of a split from the sandbox, or copy them from the user's file into one layout."""

from pathlib import Path

from planner_r1.queries import load_queries, save_queries
from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    params = snakemake.params
    if params.file or params.spec is None:
        queries = load_queries(params.file)
    else:
        from planner_r1.agent.query_generator import QuerySpec, draw_queries
        from planner_r1.sandbox.store import Store
        from planner_r1.study import Study

        store = Store.open(Path(snakemake.input.store).parent)
        # by the study and no parameter, which draws from before there was the key would lack
        known = [*snakemake.input.get("avoid", []), *Study.from_config(snakemake.config).avoided_queries]
        avoid = [query for file in known for query in load_queries(file)]
        queries = draw_queries(store, QuerySpec(**params.spec), params.size, params.seed, avoid)
    save_queries(snakemake.output[0], queries)
    print(f"{snakemake.wildcards.split}: {len(queries)} queries")
