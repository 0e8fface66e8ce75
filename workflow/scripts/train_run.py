"""Train one run: a model under a regime with a seed; an interrupted one goes on from its last checkpoint."""

from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.study import Study
    from planner_r1.training.launch import TrainSpec, train

    source, wildcards, study = snakemake.input, snakemake.wildcards, Study.from_config(snakemake.config)
    spec = TrainSpec(
        name=f"{wildcards.model}/{wildcards.regime}/seed{wildcards.seed}",
        model_path=Path(source.model).parent,
        train_parquet=Path(source.train),
        validation_parquet=Path(source.validation),
        store=Path(source.store).parent,
        work=Path(snakemake.params.work),
        out=Path(snakemake.output.manifest).parent,
        # no parameters of the rule: a change of these is no reason to train again
        environment=study.environment,
        keep_checkpoint=study.keep_checkpoint,
        **snakemake.params.run,
    )
    train(spec, attempt=snakemake.resources.attempt)
