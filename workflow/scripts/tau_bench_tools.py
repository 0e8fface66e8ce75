"""Write the schemas of tau-bench's retail tools as JSON, in the benchmark's order, which is that of their names."""

import json
from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.downloads.tau_bench import read_tool

    tools = [read_tool(Path(file)) for file in sorted(snakemake.input)]
    text = json.dumps(tools, indent=1, ensure_ascii=False)
    Path(snakemake.output[0]).write_text(text + "\n", encoding="utf-8")
    print(f"{len(tools)} tools")
