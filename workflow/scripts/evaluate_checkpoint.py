"""Run one checkpoint on the queries of a split through verl's own validation, greedily."""

from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.study import Study
    from planner_r1.training.evaluate import EvaluateSpec, evaluate_checkpoint

    source, params, wildcards = snakemake.input, snakemake.params, snakemake.wildcards
    folder = Path(source.manifest).parent
    spec = EvaluateSpec(
        model=wildcards.model,
        regime=wildcards.regime,
        seed=int(wildcards.seed),
        step=int(wildcards.step),
        split=wildcards.split,
        model_path=folder if wildcards.regime == "base" else folder / "checkpoints" / f"step{wildcards.step}",
        parquet=Path(source.queries),
        store=Path(source.store).parent,
        work=Path(params.work),
        out=Path(snakemake.output[0]),
        backend=params.backend,
        # no parameter of the rule: another environment is no reason to evaluate again
        environment=Study.from_config(snakemake.config).environment,
        overrides=params.overrides,
        noise=params.get("noise"),
    )
    evaluate_checkpoint(spec)
