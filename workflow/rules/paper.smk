# Tables and figures. Their library modules are inputs, so that an edit redraws what it touches and nothing else.


rule tables:
    input:
        "<results>/tables/table1.md",
        "<results>/tables/table2.md" if study.suites else [],


rule figures:
    input:
        "<results>/figures/figure3_left.png",


rule study_config:
    output:
        "<results>/config.yaml",
    log:
        "<logs>/study_config.log",
    params:
        config=study.config,
    script:
        "../scripts/study_config.py"


rule table1:
    input:
        metrics=SCORES,
        code=library(
            "paper/tables.py",
            "paper/render.py",
            "paper/statistics.py",
            "paper/reference.py",
            "paper/reference/table1.csv",
        ),
    output:
        csv=report(
            "<results>/tables/table1.csv",
            category="Tables",
            caption="../report/table1.rst",
        ),
        markdown="<results>/tables/table1.md",
        latex="<results>/tables/table1.tex",
    log:
        "<logs>/table1.log",
    params:
        world=study.world_label,
    script:
        "../scripts/table1.py"


rule table2:
    input:
        metrics=expand(
            "{checkpoint}/{suite}/metrics.json",
            checkpoint=OOD_CHECKPOINTS,
            suite=study.suites,
        ),
        scores=expand(
            "{checkpoint}/{suite}/scores.jsonl",
            checkpoint=OOD_CHECKPOINTS,
            suite=study.suites,
        ),
        code=library(
            "paper/table2.py",
            "paper/render.py",
            "paper/statistics.py",
            "paper/reference.py",
            "paper/reference/table2.csv",
        ),
    output:
        csv=report(
            "<results>/tables/table2.csv",
            category="Tables",
            caption="../report/table2.rst",
        ),
        markdown="<results>/tables/table2.md",
        latex="<results>/tables/table2.tex",
    log:
        "<logs>/table2.log",
    script:
        "../scripts/table2.py"


rule figure3_left:
    input:
        validations=VALIDATIONS,
        code=library(
            "paper/curves.py",
            "paper/statistics.py",
            "paper/figures/figure3_left.py",
            "paper/figures/style.py",
        ),
    output:
        csv="<results>/figures/figure3_left.csv",
        pdf="<results>/figures/figure3_left.pdf",
        png=report(
            "<results>/figures/figure3_left.png",
            category="Figures",
            caption="../report/figure3_left.rst",
        ),
    log:
        "<logs>/figure3_left.log",
    params:
        world=study.world_label,
    script:
        "../scripts/figure3_left.py"


rule summary:
    input:
        validations=VALIDATIONS,
        code=library("paper/curves.py", "paper/learning.py", "paper/statistics.py"),
    output:
        json="<results>/summary.json",
        markdown=report(
            "<results>/summary.md", category="Summary", caption="../report/summary.rst"
        ),
    log:
        "<logs>/summary.log",
    params:
        world=study.world_label,
    script:
        "../scripts/summary.py"


localrules:
    tables,
    figures,
    study_config,
    table1,
    table2,
    figure3_left,
    summary,
