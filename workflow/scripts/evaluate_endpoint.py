"""Put the queries of a split to a model behind an endpoint; an interrupted evaluation asks for what is missing."""

from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.agent.limits import read_limits
    from planner_r1.agent.prompt import load_template
    from planner_r1.endpoint.client import Endpoint
    from planner_r1.endpoint.evaluate import EndpointSpec, evaluate_endpoint

    source, params, wildcards = snakemake.input, snakemake.params, snakemake.wildcards
    spec = EndpointSpec(
        model=wildcards.model,
        split=wildcards.split,
        endpoint=Endpoint(name=f"models.{wildcards.model}.endpoint", **params.endpoint),
        limits=read_limits(source.settings, params.overrides),
        template=load_template(params.template),
        queries=Path(source.queries),
        store=Path(source.store).parent,
        work=Path(params.work),
        out=Path(snakemake.output.trajectories),
        costs=Path(snakemake.output.costs),
        noise=params.get("noise"),
    )
    evaluate_endpoint(spec)
