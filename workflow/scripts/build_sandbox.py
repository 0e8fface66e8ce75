"""Build the read-only store from the official files, or from a world in their format."""

import json
import shutil
from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.sandbox.builder import build

    store = Path(snakemake.output.store).parent
    # Snakemake has taken away the old store.json, without which the builder holds the folder for somebody else's
    shutil.rmtree(store, ignore_errors=True)
    report = build(Path(snakemake.params.database), store, official=snakemake.params.official)
    text = json.dumps(report.to_json(), indent=2)
    Path(snakemake.output.report).write_text(text + "\n", encoding="utf-8")
    print(report)
