# Trajectories first, scores second: scoring is cheap and can be done again.

EVALUATION = "<results>/evaluations/{model}/{regime}/seed{seed}/step{step}/{split}"


NOISY_SPLITS = one_of(split for split in study.splits if study.evaluation_noise(split))


rule evaluate:
    input:
        SCORES,


rule evaluate_checkpoint:
    input:
        manifest=checkpoint_manifest,
        store=STORE,
        queries=lambda w: f"<results>/data/{study.query_split(w.split)}.parquet",
        settings=SETTINGS,
        preflight=preflight,
    output:
        f"{EVALUATION}/trajectories.jsonl",
    log:
        "<logs>/evaluate_checkpoint/{model}/{regime}/seed{seed}/step{step}/{split}.log",
    benchmark:
        "<benchmarks>/evaluate_checkpoint/{model}/{regime}/seed{seed}/step{step}/{split}.tsv"
    wildcard_constraints:
        model=one_of(study.trainable),
    threads: WHOLE_MACHINE
    resources:
        mem_mb=8000,
    params:
        work=f"{RESULTS}/work/evaluations/{{model}}/{{regime}}/seed{{seed}}/step{{step}}/{{split}}",
        backend=study.backend,
        overrides=lambda w: study.evaluation_overrides(w.regime),
    script:
        "../scripts/evaluate_checkpoint.py"


# Rules of their own, so that the others have no parameter that says nothing.
use rule evaluate_checkpoint as evaluate_checkpoint_under_noise with:
    wildcard_constraints:
        model=one_of(study.trainable),
        split=NOISY_SPLITS,
    params:
        noise=lambda w: study.evaluation_noise(w.split),


# Light, and it needs the internet and the keys: it runs where Snakemake does, also with a cluster.
rule evaluate_endpoint:
    input:
        store=STORE,
        queries=lambda w: f"<results>/data/{study.query_split(w.split)}.jsonl",
        template=present(study.prompt),
        settings=SETTINGS,
    output:
        trajectories=f"{EVALUATION}/trajectories.jsonl",
        costs=f"{EVALUATION}/costs.json",
    log:
        "<logs>/evaluate_endpoint/{model}/{regime}/seed{seed}/step{step}/{split}.log",
    wildcard_constraints:
        model=one_of(model for model in study.models if study.endpoint(model)),
    params:
        work=f"{RESULTS}/work/evaluations/{{model}}/{{regime}}/seed{{seed}}/step{{step}}/{{split}}",
        endpoint=lambda w: study.endpoint(w.model),
        template=study.prompt,
        overrides=study.evaluation_overrides("base"),
    script:
        "../scripts/evaluate_endpoint.py"


use rule evaluate_endpoint as evaluate_endpoint_under_noise with:
    wildcard_constraints:
        model=one_of(model for model in study.models if study.endpoint(model)),
        split=NOISY_SPLITS,
    params:
        noise=lambda w: study.evaluation_noise(w.split),


rule score:
    input:
        trajectories=f"{EVALUATION}/trajectories.jsonl",
        queries=lambda w: f"<results>/data/{study.query_split(w.split)}.jsonl",
        store=STORE,
        code=library("scoring.py", "reward.py", "evaluator/*.py", "plan/*.py"),
    output:
        scores=f"{EVALUATION}/scores.jsonl",
        metrics=f"{EVALUATION}/metrics.json",
    log:
        "<logs>/score/{model}/{regime}/seed{seed}/step{step}/{split}.log",
    wildcard_constraints:
        split=f"{one_of(SPLITS)}|{NOISY_SPLITS}",
    script:
        "../scripts/score.py"


localrules:
    evaluate,
    evaluate_endpoint,
    evaluate_endpoint_under_noise,
