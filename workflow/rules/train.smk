# One training run a model, regime and seed. What a run resumes from lies in <results>/work, which no rule declares:
# Snakemake deletes the declared outputs of a job that failed.

# More than most machines have, and scaled down to the cores that Snakemake is given: two runs of verl never share a
# machine. A cluster's profile sets its own number with `set-threads`.
WHOLE_MACHINE = 64


rule train:
    input:
        [f"<results>/runs/{run.name}/MANIFEST.json" for run in study.runs],


rule base_model:
    input:
        unpack(base_model_sources),
    output:
        "<results>/models/{model}/MANIFEST.json",
    log:
        "<logs>/base_model/{model}.log",
    benchmark:
        "<benchmarks>/base_model/{model}.tsv"
    wildcard_constraints:
        model=one_of(m for m in study.models if m not in study.fine_tuned),
    threads: 2
    resources:
        mem_mb=4000,
    params:
        warm_start=lambda w: study.warm_start(w.model),
        path=lambda w: study.model_path(w.model),
        template=study.prompt,
        seed=study.seed,
    script:
        "../scripts/base_model.py"


# A given model that is fine-tuned before training by reward: a rule of its own, since it may need GPUs.
rule fine_tune:
    input:
        unpack(fine_tune_sources),
        store=STORE,
        held_out=expand("<results>/data/{split}.jsonl", split=study.held_out),
        template=present(study.prompt),
        settings=SETTINGS,
    # `update` as in train_run
    output:
        manifest=update("<results>/models/{model}/MANIFEST.json"),
    log:
        "<logs>/fine_tune/{model}.log",
    benchmark:
        "<benchmarks>/fine_tune/{model}.tsv"
    wildcard_constraints:
        model=one_of(study.fine_tuned),
    threads: WHOLE_MACHINE
    resources:
        mem_mb=8000,
    params:
        work=f"{RESULTS}/work/fine_tune/{{model}}",
        path=lambda w: study.model_path(w.model),
        template=study.prompt,
        settings=lambda w: study.fine_tune_settings(w.model),
    script:
        "../scripts/fine_tune.py"


rule train_run:
    input:
        model="<results>/models/{model}/MANIFEST.json",
        store=STORE,
        train=train_rows,
        validation="<results>/data/validation.parquet",
        template=present(study.prompt),
        settings=SETTINGS,
        preflight=preflight,
    # `update`: Snakemake would delete them before the job, and a run that is refused or fails would have lost its results.
    output:
        manifest=update("<results>/runs/{model}/{regime}/seed{seed}/MANIFEST.json"),
        metrics=update("<results>/runs/{model}/{regime}/seed{seed}/metrics.jsonl"),
        validation=update("<results>/runs/{model}/{regime}/seed{seed}/validation.jsonl"),
    log:
        "<logs>/train_run/{model}/{regime}/seed{seed}.log",
    benchmark:
        "<benchmarks>/train_run/{model}/{regime}/seed{seed}.tsv"
    threads: WHOLE_MACHINE
    resources:
        mem_mb=8000,
        attempt=lambda w, attempt: attempt,
    params:
        work=f"{RESULTS}/work/{{model}}/{{regime}}/seed{{seed}}",
        run=lambda w: study.train_settings(w.model, w.regime, int(w.seed)),
    script:
        "../scripts/train_run.py"


localrules:
    train,
