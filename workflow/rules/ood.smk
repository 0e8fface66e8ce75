# The out-of-domain suites: raw answers first, scores second. Each scoring rule is named after its suite, and reads that
# suite's code alone.

OOD = "<results>/ood/{model}/{regime}/seed{seed}/step{step}"
OOD_CHECKPOINTS = [
    f"<results>/ood/{checkpoint.name}" for checkpoint in study.suite_checkpoints
]


rule ood:
    input:
        expand(
            "{checkpoint}/{suite}/metrics.json",
            checkpoint=OOD_CHECKPOINTS,
            suite=study.suites,
        ),


# All suites in one rule, because the server starts once a checkpoint and serves them all.
rule ood_answers:
    input:
        manifest=checkpoint_manifest,
        data=[suite_files(suite) for suite in study.suites],
        preflight=preflight,
    output:
        asked=f"{OOD}/asked.json",
        answers=expand(
            f"{OOD}/{{suite}}/answers.jsonl", suite=study.suites, allow_missing=True
        ),
    log:
        "<logs>/ood_answers/{model}/{regime}/seed{seed}/step{step}.log",
    benchmark:
        "<benchmarks>/ood_answers/{model}/{regime}/seed{seed}/step{step}.tsv"
    wildcard_constraints:
        model=one_of(study.trainable),
    threads: WHOLE_MACHINE
    resources:
        mem_mb=8000,
    params:
        work=f"{RESULTS}/work/ood/{{model}}/{{regime}}/seed{{seed}}/step{{step}}",
        backend=study.backend,
        folders={suite: suite_folder(suite) for suite in study.suites},
        settings=lambda w: study.suite_settings(w.model),
    script:
        "../scripts/ood_answers.py"


# Light, and it needs the internet and the keys: it runs where Snakemake does, also with a cluster.
use rule ood_answers as ood_answers_of_service with:
    input:
        data=[suite_files(suite) for suite in study.suites],
    wildcard_constraints:
        model=one_of(model for model in study.models if study.endpoint(model)),
    threads: 1


for suite in study.suites:

    rule:
        name:
            f"ood_{suite}"
        input:
            answers=f"{OOD}/{suite}/answers.jsonl",
            asked=f"{OOD}/asked.json",
            data=suite_files(suite),
            code=library(
                f"ood/{suite}/*.py", "ood/scores.py", "ood/suite.py", "ood/thinking.py"
            ),
        output:
            scores=f"{OOD}/{suite}/scores.jsonl",
            metrics=f"{OOD}/{suite}/metrics.json",
        log:
            f"<logs>/ood_{suite}/{{model}}/{{regime}}/seed{{seed}}/step{{step}}.log",
        params:
            suite=suite,
            folder=suite_folder(suite),
            made_up=study.suite_folder(suite) is None,
        script:
            "../scripts/ood_scores.py"

    if study.suite_folder(suite) is None:

        rule:
            name:
                f"ood_data_{suite}"
            output:
                suite_files(suite),
            log:
                f"<logs>/ood_data/{suite}.log",
            params:
                suite=suite,
                spec=study.made_up_suite(suite),
            script:
                "../scripts/ood_data.py"


localrules:
    ood,
    ood_answers_of_service,
