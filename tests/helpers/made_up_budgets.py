"""Runs with hand-made curves and tokens, for the tests of what is compared under equal budgets."""

import json
from dataclasses import asdict

from helpers.made_up_study import validations
from planner_r1.files import write_lines
from planner_r1.paper.results import validations_file

READS = ("validations", "metrics", "manifests")


def write_run(folder, run, passes, metrics, batch=4, filters=None):
    """The results of a run: its validations, a line of metrics a step, and a manifest."""
    for file in (validations_file(run), f"runs/{run.name}/metrics.jsonl"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
    write_lines(folder / validations_file(run), map(asdict, validations(run, passes)))
    write_lines(folder / f"runs/{run.name}/metrics.jsonl", [{"step": 0}, *metrics])
    config = {"data": {"train_batch_size": batch}, "algorithm": {"filter_groups": filters}}
    (folder / f"runs/{run.name}/MANIFEST.json").write_text(json.dumps({"config": config}))


def steps_of(tokens, steps=40, asked=None):
    """Metrics of so many tokens a step, and of so many queries asked."""
    more = {} if asked is None else {"training/queries_asked": asked}
    return [{"step": step, "perf/total_num_tokens": tokens, **more} for step in range(1, steps + 1)]


def straight(end):
    """The passes of a curve from 0 to an end, straight over its 40 steps."""
    return {0: 0.0, 20: end / 2, 40: end}
