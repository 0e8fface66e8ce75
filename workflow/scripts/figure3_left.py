"""Figure 3, left: final pass rate of the validations against training steps."""

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.paper.curves import load_validations
    from planner_r1.paper.figures import figure3_left, style
    from planner_r1.study import Study

    study = Study.from_config(snakemake.config)
    runs = [(run, load_validations(file)) for run, file in zip(study.runs, snakemake.input.validations, strict=True)]
    curves = figure3_left.figure3_left(runs)
    figure3_left.write_csv(curves, snakemake.output.csv)
    style.save(figure3_left.draw(curves, study), snakemake.output.pdf, snakemake.output.png)
