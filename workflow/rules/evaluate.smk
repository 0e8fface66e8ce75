# Trajectories first, scores second: scoring is cheap and can be done again.

EVALUATION = "<results>/evaluations/{model}/{regime}/seed{seed}/step{step}/{split}"


rule evaluate:
    input:
        SCORES,


rule evaluate_checkpoint:
    input:
        manifest=checkpoint_manifest,
        store=STORE,
        queries="<results>/data/{split}.parquet",
        settings=SETTINGS,
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
        overrides=lambda w: study.evaluation_overrides(w.regime),
    script:
        "../scripts/evaluate_checkpoint.py"


rule score:
    input:
        trajectories=f"{EVALUATION}/trajectories.jsonl",
        queries="<results>/data/{split}.jsonl",
        store=STORE,
        code=library("scoring.py", "reward.py", "evaluator/*.py", "plan/*.py"),
    output:
        scores=f"{EVALUATION}/scores.jsonl",
        metrics=f"{EVALUATION}/metrics.json",
    log:
        "<logs>/score/{model}/{regime}/seed{seed}/step{step}/{split}.log",
    script:
        "../scripts/score.py"


localrules:
    evaluate,
