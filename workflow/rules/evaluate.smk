# Trajectories first, scores second: scoring is cheap and can be done again.

EVALUATION = "<results>/evaluations/{model}/{regime}/seed{seed}/step{step}/{split}"


EVALUATED = one_of(dict.fromkeys((*SPLITS, *study.splits)))
# Where nothing is evaluated under noise the rules have no parameter that says so.
NOISE = (
    {"noise": lambda w: study.evaluation_noise(w.split)}
    if study.config["evaluation"]["noise"]
    else {}
)


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
        split=EVALUATED,
    threads: WHOLE_MACHINE
    resources:
        mem_mb=8000,
    params:
        **NOISE,
        work=f"{RESULTS}/work/evaluations/{{model}}/{{regime}}/seed{{seed}}/step{{step}}/{{split}}",
        backend=study.backend,
        overrides=lambda w: study.evaluation_overrides(w.regime),
    script:
        "../scripts/evaluate_checkpoint.py"


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
        split=EVALUATED,
    params:
        **NOISE,
        work=f"{RESULTS}/work/evaluations/{{model}}/{{regime}}/seed{{seed}}/step{{step}}/{{split}}",
        endpoint=lambda w: study.endpoint(w.model),
        template=study.prompt,
        overrides=study.evaluation_overrides("base"),
    script:
        "../scripts/evaluate_endpoint.py"


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
        split=EVALUATED,
    script:
        "../scripts/score.py"


localrules:
    evaluate,
    evaluate_endpoint,
