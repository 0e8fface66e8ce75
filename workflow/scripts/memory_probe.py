"""Train a model for a few steps at one share of the GPUs' memory; running out of memory is a result."""

from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.study import Study
    from planner_r1.training.launch import TrainSpec
    from planner_r1.training.memory_probe import probe

    source, wildcards, study = snakemake.input, snakemake.wildcards, Study.from_config(snakemake.config)
    work = Path(snakemake.params.work)
    spec = TrainSpec(
        name=f"{wildcards.model}/memory/share{wildcards.share}",
        model_path=Path(source.model).parent,
        train_parquet=Path(source.train),
        validation_parquet=Path(source.validation),
        store=Path(source.store).parent,
        work=work,
        out=work / "outputs",
        environment=study.environment,
        **snakemake.params.run,
    )
    probe(spec, Path(snakemake.output[0]), {"model": wildcards.model, "share": float(wildcards.share)})
