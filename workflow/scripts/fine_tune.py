"""Fine-tune a given model on whole episodes; an interrupted fine-tuning goes on from its last checkpoint."""

from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.agent.prompt import load_template
    from planner_r1.study import Study
    from planner_r1.training.base_model import check_suite_files
    from planner_r1.training.config import check_study
    from planner_r1.training.fine_tune import FineTuneSpec, fine_tune
    from planner_r1.training.manifest import versions, write_manifest

    # as base_model: what is wrong is found before anything that takes long
    study = Study.from_config(snakemake.config)
    check_study(study)
    check_suite_files(study)
    source, params, name = snakemake.input, snakemake.params, snakemake.wildcards.model
    out = Path(snakemake.output.manifest).parent
    spec = FineTuneSpec(
        name=name,
        model_path=Path(params.path),
        queries=Path(source.queries) if source.get("queries") else None,
        held_out=[Path(file) for file in source.held_out],
        template=load_template(params.template),
        store=Path(source.store).parent,
        work=Path(params.work),
        out=out,
        # no parameter of the rule: a change of it is no reason to train again
        environment=study.environment,
        **params.settings,
    )
    record = fine_tune(spec)
    write_manifest(out, {"model": name, **record, "versions": versions(study.environment)})
