"""`planner-r1 suite-score`: the scores of answers that people already have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer

from planner_r1.ood.multi_if import scoring as multi_if_scoring
from planner_r1.ood.natural_plan.scoring import TASKS, load_tasks, read_answers, score
from planner_r1.ood.tau_bench import scoring as tau_bench_scoring
from planner_r1.ood.tau_bench.data import Benchmark
from planner_r1.plan_files import check_output, write_lines

suite_score = typer.Typer(
    help="Score answers to an out-of-domain suite as its authors score them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

NaturalPlanTask = StrEnum("NaturalPlanTask", list(TASKS))


@suite_score.command("natural_plan")
def natural_plan(
    task: Annotated[NaturalPlanTask, typer.Option(help="Which of the three tasks.")],
    data: Annotated[Path, typer.Option(help="The data file, in the official layout.")],
    answers: Annotated[Path, typer.Option(help="JSON lines with id, the key of an example, and answer, text or null.")],
    out: Annotated[Path, typer.Option(help="Where the scores go, one JSON line an answer, in the order of --answers.")],
):
    """Score answers to NaturalPlan, and print how many are right.

    \b
    planner-r1 suite-score natural_plan --task trip --data trip_planning.json \\
        --answers answers.jsonl --out scores.jsonl

    Each line of --out has id; score, the official exact match, 1.0 or 0.0; valid, whether the plan keeps the task's
    constraints, golden or not (null where the prompt does not state them in the suite's wording); and reason, why the
    answer misses either. The official scorer does not take <think> text away, and neither does this one.
    """
    check_output(out, data, answers)
    tasks = load_tasks(data, task.value)
    records = [score(tasks[key], answer) for key, answer in read_answers(answers, tasks)]
    write_lines(out, records)
    exact = sum(record["score"] for record in records) / len(records)
    valid = sum(record["valid"] is True for record in records) / len(records)
    print(f"{out}: {len(records)} answers to {task.value}: {100 * exact:.1f}% exact match, {100 * valid:.1f}% valid")
    if unknown := sum(record["valid"] is None for record in records):
        print(f"validity unknown for {unknown}: their prompts do not state the constraints in the suite's wording")


@suite_score.command("multi_if")
def multi_if(
    answers: Annotated[Path, typer.Option(help="JSON lines with key, turn, instruction_id_list, kwargs and response.")],
    out: Annotated[
        Path, typer.Option(help="Where the verdicts go, one JSON line an answer, in the order of --answers.")
    ],
):
    """Score replies to Multi-IF, and print the accuracies of each turn.

    \b
    planner-r1 suite-score multi_if --answers answers.jsonl --out verdicts.jsonl

    Each line of --answers has key, of the conversation; turn, 1 to 3; instruction_id_list and kwargs, what the reply
    is to follow: as in the data file, or as lists of names and of objects; and response, text or null. The same key
    and turn may come more than once.

    Each line of --out has key, turn, and strict and loose, the official verdicts: a truth value an instruction.
    """
    check_output(out, answers)
    records = [multi_if_scoring.score(answer) for answer in multi_if_scoring.read_answers(answers)]
    write_lines(out, records)
    print(f"{out}: {len(records)} replies to Multi-IF")
    rates = multi_if_scoring.accuracies(records)
    for turn, rate in rates.items():
        named = ", ".join(f"{name.replace('_', ' ')} {100 * value:.1f}%" for name, value in rate.items())
        print(f"turn {turn}: {named}")
    print(f"mean of the turns: {100 * fmean(rate['mean'] for rate in rates.values()):.1f}%")


@suite_score.command("tau_bench")
def tau_bench(
    data: Annotated[Path, typer.Option(help="The folder of tau-bench's retail data.")],
    episodes: Annotated[Path, typer.Option(help="JSON lines with id, responds, actions and end_reason.")],
    out: Annotated[Path, typer.Option(help="Where the rewards go, one JSON line an episode, in the order given.")],
):
    """Score episodes of tau-bench retail by what they did to the shop and said to the user; print how many passed.

    \b
    planner-r1 suite-score tau_bench --data data/tau_bench_retail \\
        --episodes episodes.jsonl --out rewards.jsonl

    Each line of --episodes has id, the split and the number of its task from 0, as in test-3; responds, a list of what
    the agent said to the user (may be left out), which counts as said first; actions, a list of its calls, each with
    name and kwargs, a JSON object; and end_reason (may be left out). The same id may come more than once.

    end_reason tells how an episode ended: done (by itself), turn_limit, bad_call (a call's arguments were not a JSON
    object) or rejected (the model's service would not answer). All but done count 0, whatever was done before, as the
    authors' harness has it. An episode without end_reason is scored as one that is done.

    Each line of --out has id; reward, 1.0 or 0.0; data_hash, of the shop as the agent left it; end_reason, as given or
    null; and returned, what each action returned (null for an action after the transfer to a human, which ends an
    episode).
    """
    check_output(out, episodes, *data.glob("*"))
    benchmark = Benchmark(data)
    played = tau_bench_scoring.read_played(episodes, benchmark)
    records = tau_bench_scoring.score(played, benchmark)
    write_lines(out, records)
    passed = sum(record["reward"] for record in records)
    print(f"{out}: {len(records)} episodes, {passed:.0f} passed ({100 * passed / len(records):.1f}%)")
    if cut_off := sum(episode.cut_off for episode in played):
        print(f"{cut_off} of them did not end by themselves, and count 0")
