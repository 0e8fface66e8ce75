# The page that people open: tables, figures, episodes and what is behind them, in one file.

from planner_r1.paper.report.inputs import inputs as report_inputs


rule report:
    input:
        results=expand("<results>/{file}", file=report_inputs(study)),
        store=STORE,
        captions=sorted(
            {f"workflow/report/{one.drawn_by}.rst" for one in artefacts_of(study)}
        ),
        page=["workflow/notebooks/report.ipynb"]
        + sorted(map(str, Path("workflow/notebooks/page").iterdir())),
        code=library("paper/report/*.py", "evaluator/*.py", "plan/*.py"),
    output:
        "<results>/report.html",
    log:
        "<logs>/report.log",
    params:
        folder=RESULTS,
    script:
        "../scripts/report.py"


localrules:
    report,
