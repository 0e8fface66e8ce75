"""Make a tiny model, or link the files of a given one, in one folder of Hugging Face's layout with a manifest."""

from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.study import Study
    from planner_r1.training.base_model import check_suite_files, link_model
    from planner_r1.training.config import check_study
    from planner_r1.training.manifest import versions, write_manifest

    # a wrong key of the trainer or folder of a suite is found here, before anything that takes long
    study = Study.from_config(snakemake.config)
    check_study(study)
    check_suite_files(study)
    params, source, out = snakemake.params, snakemake.input, Path(snakemake.output[0]).parent
    if params.warm_start is None:
        record = link_model(Path(params.path), out)
    else:
        from planner_r1.agent.prompt import load_template
        from planner_r1.queries import load_queries
        from planner_r1.sandbox.store import Store
        from planner_r1.training.warm_start import WarmStartSpec, warm_start

        spec = WarmStartSpec(seed=params.seed, **params.warm_start)
        queries = load_queries(source.queries)
        held_out = max(1, min(spec.check_queries, len(queries) // 4))
        store, template = Store.open(Path(source.store).parent), load_template(params.template)
        record = warm_start(spec, store, template, queries[:-held_out], queries[-held_out:], out)
    write_manifest(out, {"model": snakemake.wildcards.model, **record, "versions": versions()})
