# Tables and figures. Their library modules are inputs, so that an edit redraws what it touches and nothing else.

MADE = artefacts_of(study)


rule score_validations:
    input:
        episodes="<results>/runs/{model}/{regime}/seed{seed}/validation.jsonl",
        queries="<results>/data/validation.jsonl",
        store=STORE,
        code=library("scoring.py", "evaluator/*.py", "plan/*.py"),
    output:
        "<results>/validations/{model}/{regime}/seed{seed}/scores.jsonl",
    log:
        "<logs>/score_validations/{model}/{regime}/seed{seed}.log",
    script:
        "../scripts/score_validations.py"


# A rule an artefact, named after it: what is drawn from what stands in planner_r1/paper/artefacts.py.
for artefact in MADE:
    shown = "png" if artefact.kind == FIGURE else "markdown"

    rule:
        name:
            artefact.name
        input:
            results=expand("<results>/{file}", file=artefact.inputs(study)),
            code=[os.path.relpath(module) for module in artefact.modules()],
        output:
            **{
                what: (
                    report(
                        f"<results>/{file}",
                        category=f"{artefact.kind.capitalize()}s",
                        caption=f"../report/{artefact.drawn_by}.rst",
                        labels={"what": artefact.title},
                    )
                    if what == shown
                    else f"<results>/{file}"
                )
                for what, file in artefact.outputs.items()
            },
        log:
            f"<logs>/{artefact.name}.log",
        localrule: True
        params:
            folder=RESULTS,
            options=artefact.options,
            world=study.world_label,
        script:
            "../scripts/artefact.py"


rule tables:
    input:
        expand("<results>/{file}", file=artefact_files(MADE, TABLE)),


rule figures:
    input:
        expand("<results>/{file}", file=artefact_files(MADE, FIGURE)),


rule study_config:
    output:
        "<results>/config.yaml",
    log:
        "<logs>/study_config.log",
    params:
        config=study.config,
    script:
        "../scripts/study_config.py"


rule summary:
    input:
        validations=expand("<results>/{file}", file=files_of(study, "validations")),
        code=library("paper/curves.py", "paper/learning.py", "paper/statistics.py"),
    output:
        json="<results>/summary.json",
        markdown=report(
            "<results>/summary.md", category="Summary", caption="../report/summary.rst"
        ),
    log:
        "<logs>/summary.log",
    params:
        folder=RESULTS,
    script:
        "../scripts/summary.py"


localrules:
    score_validations,
    tables,
    figures,
    study_config,
    summary,
