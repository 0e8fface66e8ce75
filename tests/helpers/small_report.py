"""A small study with results for the tests of its page: some tables and figures, and episodes of the hand-made world,
so that they can be judged. Some of these say what no page may run."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

from helpers.made_up_results import write_results
from helpers.made_up_study import study
from helpers.small_world import AGENT_PLAN, query, write_small_world
from planner_r1.agent.episodes import SUB_REWARDS
from planner_r1.paper.artefacts import artefact as artefact_named
from planner_r1.paper.make import make
from planner_r1.paper.results import evaluation_folder
from planner_r1.queries import save_queries
from planner_r1.sandbox.builder import build
from planner_r1.study import Study

QUERIES = [
    replace(query(), idx=idx, level=level, query=f"Trip {idx}, please.")
    for idx, level in enumerate(("easy", "medium", "hard"), start=1)
]
DRAWN = ("table1", "table2", "differences", "figure3_left")
LAST = 40  # the last of a run's steps
UNKNOWN = "Nowhere Inn"  # the lunch of the middle step's plan
HOSTILE = (
    "<script>window.hurt = 1</script></script><img src=http://example.org/x onerror='window.hurt = 1'>"
    " \"quotes\" & 'quotes' \u2028 half \ud800 turned \u202e around \u200f"
)
LONG = json.dumps([{"Name": f"Place {i}", "Average Cost": i} for i in range(400)])


def write_small_study(folder: Path) -> Study:
    """Write the results of a study of two models and two regimes, and some of what is drawn of them."""
    made = study(seeds=[0, 1], suites={"natural_plan": {"source": "synthetic"}})
    write_results(made, folder, queries=6, test_queries=6, suite_items=4)
    for split in ("validation", "test"):
        save_queries(folder / "data" / f"{split}.jsonl", QUERIES)
    for run in made.runs:
        names = {"model": run.model, "regime": run.regime, "seed": run.seed}
        lines = ({"step": step, **names, **episode(q.idx, step)} for step in (0, 20, LAST) for q in QUERIES)
        _write(folder / "runs" / run.name / "validation.jsonl", lines)
    for checkpoint in made.checkpoints:
        names = {"model": checkpoint.model, "regime": checkpoint.regime, "seed": checkpoint.seed}
        lines = [{**names, "step": checkpoint.step, **episode(q.idx, checkpoint.step)} for q in QUERIES]
        _write(folder / evaluation_folder(checkpoint, "test") / "trajectories.jsonl", lines)
    build(write_small_world(folder / "sandbox" / "world"), folder / "sandbox" / "store")
    for artefact in map(artefact_named, DRAWN):
        outputs = {what: folder / file for what, file in artefact.outputs.items()}
        outputs["csv"].parent.mkdir(exist_ok=True)
        make(artefact, made, folder, outputs)
    (folder / "summary.md").write_text("# What was learnt\n\n- tiny, stage1: rises\n", encoding="utf-8")
    return made


def _write(path: Path, lines) -> None:
    """Half characters stay in, as a model's service may send them."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="ascii")


def episode(idx: int, step: int) -> dict:
    """At first words that no page may run, then a plan with an unknown place, at last one that passes."""
    plan = deepcopy(AGENT_PLAN)
    if 0 < step < LAST:
        plan[1]["lunch"] = UNKNOWN
    answer = HOSTILE if step == 0 else f"<answer>{json.dumps(plan)}</answer>"
    call = '<tool_call>\n{"name": "search_restaurants", "arguments": {"city": "Alba"}}\n</tool_call>'
    reply = f"<tool_response>\n{LONG}\n</tool_response>"
    said = ["system", "You plan trips.", "user", QUERIES[idx - 1].query, "assistant", f"Query {idx}.\n{call}"]
    passed = float(step == LAST)
    return {
        "idx": idx,
        "split": "test",
        "text": "\n".join([*said, "user", reply, "assistant", answer]),
        "tool_calls": [],
        "answer": answer,
        "plan": plan if step else None,
        "end_reason": "answer" if step else "no_answer",
        "turns": 2,
        "tokens": {"prompt": 100, "response": 500, "generated": 50},
        "sub_rewards": dict.fromkeys(SUB_REWARDS, passed),
        "reward": 5 * passed,
    }
