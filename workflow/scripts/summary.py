"""What was learnt: validation reward and final pass at the start and the end of the runs."""

import json
from pathlib import Path

from planner_r1.rule_log import rule_log

with rule_log(snakemake.log[0]):
    from planner_r1.paper.curves import validations
    from planner_r1.paper.learning import learning, markdown
    from planner_r1.paper.results import Results
    from planner_r1.study import Study

    study = Study.from_config(snakemake.config)
    results = Results(study, snakemake.params.folder, ["validations"])
    entries = learning(validations(study, results))
    Path(snakemake.output.json).write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")
    text = markdown(entries, f"study {study.name}, {study.world_label}")
    Path(snakemake.output.markdown).write_text(text, encoding="utf-8")
    print(text)
