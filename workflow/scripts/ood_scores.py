"""Score the raw answers of a checkpoint to a suite."""

import json
from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.ood.scores import score_suite, write_scores

    source, params, wildcards = snakemake.input, snakemake.params, snakemake.wildcards
    asked = json.loads(Path(source.asked).read_text(encoding="utf-8"))[params.suite]
    rows, metrics = score_suite(params.suite, Path(params.folder), Path(source.answers), asked, params.made_up)
    checkpoint = {"model": wildcards.model, "regime": wildcards.regime, "suite": params.suite}
    checkpoint |= {"seed": int(wildcards.seed), "step": int(wildcards.step)}
    write_scores(rows, checkpoint | metrics, Path(snakemake.output.metrics).parent)
    print(json.dumps({name: metric["mean"] for name, metric in metrics["metrics"].items()}))
