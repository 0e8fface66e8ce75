"""Score the trajectories of a checkpoint on a split."""

import json
from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.queries import load_queries
    from planner_r1.sandbox.store import Store
    from planner_r1.scoring import load_episodes, score

    source = snakemake.input
    store = Store.open(Path(source.store).parent)
    rows, metrics = score(load_episodes(source.trajectories), load_queries(source.queries), store)
    with open(snakemake.output.scores, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    wildcards = snakemake.wildcards
    checkpoint = {"model": wildcards.model, "regime": wildcards.regime, "split": wildcards.split}
    checkpoint |= {"seed": int(wildcards.seed), "step": int(wildcards.step)}
    text = json.dumps(checkpoint | metrics, indent=2)
    Path(snakemake.output.metrics).write_text(text + "\n", encoding="utf-8")
    print(json.dumps(metrics["rates"]))
