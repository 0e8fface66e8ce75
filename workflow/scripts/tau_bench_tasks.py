"""Write a split of tau-bench's retail tasks as JSON."""

import json
from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.downloads.tau_bench import read_tasks

    tasks = read_tasks(Path(snakemake.input[0]))
    text = json.dumps(tasks, indent=1, ensure_ascii=False)
    Path(snakemake.output[0]).write_text(text + "\n", encoding="utf-8")
    print(f"{len(tasks)} tasks")
