# Trajectories first, scores second: scoring is cheap and can be done again.

EVALUATION = "<results>/evaluations/{model}/{regime}/seed{seed}/step{step}/{split}"
SCORES = [
    f"<results>/evaluations/{checkpoint.name}/{split}/metrics.json"
    for checkpoint in study.checkpoints
    for split in study.splits
]


def checkpoint_manifest(wildcards):
    if wildcards.regime == "base":
        return "<results>/models/{model}/MANIFEST.json"
    return "<results>/runs/{model}/{regime}/seed{seed}/MANIFEST.json"


rule evaluate:
    input:
        SCORES,


rule evaluate_checkpoint:
    input:
        manifest=checkpoint_manifest,
        store=STORE,
        queries="<results>/data/{split}.parquet",
        settings=["config/verl/paper.yaml", f"config/verl/{study.backend}.yaml"],
    output:
        f"{EVALUATION}/trajectories.jsonl",
    log:
        "<logs>/evaluate_checkpoint/{model}/{regime}/seed{seed}/step{step}/{split}.log",
    benchmark:
        "<benchmarks>/evaluate_checkpoint/{model}/{regime}/seed{seed}/step{step}/{split}.tsv"
    threads: WHOLE_MACHINE
    resources:
        mem_mb=8000,
    params:
        work=f"{RESULTS}/work/evaluations/{{model}}/{{regime}}/seed{{seed}}/step{{step}}/{{split}}",
        backend=study.backend,
        overrides=study.overrides,
    script:
        "../scripts/evaluate_checkpoint.py"


rule score:
    input:
        trajectories=f"{EVALUATION}/trajectories.jsonl",
        queries="<results>/data/{split}.jsonl",
        store=STORE,
        code="workflow/planner_r1/scoring.py",
    output:
        scores=f"{EVALUATION}/scores.jsonl",
        metrics=f"{EVALUATION}/metrics.json",
    log:
        "<logs>/score/{model}/{regime}/seed{seed}/step{step}/{split}.log",
    script:
        "../scripts/score.py"


localrules:
    evaluate,
