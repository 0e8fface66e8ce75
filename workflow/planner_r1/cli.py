"""The commands a person types. Each says what it takes in --help; the work is done by the library."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from planner_r1.console import few, say
from planner_r1.databases import check_places, open_database
from planner_r1.errors import InputError
from planner_r1.extras import how_to_install
from planner_r1.ood.commands import suite_score
from planner_r1.plan_files import add_lenient, check_output, read_lines, score_lines, write_lines
from planner_r1.plan_summary import print_scores
from planner_r1.queries import load_queries
from planner_r1.sandbox.synthetic import WorldSpec, write_world
from planner_r1.sandbox.tools import TOOL_SCHEMAS, Toolbox
from planner_r1.study import Study
from planner_r1.submission import submission as make_submission
from planner_r1.versioning.commands import dvc

app = typer.Typer(
    help="TravelPlanner's sandbox and evaluator from the command line.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.add_typer(suite_score, name="suite-score")
app.add_typer(dvc, name="dvc")

TEST_QUERIES = 1_000  # the official test split, which the leaderboard scores


def _tools_help() -> str:
    """Every tool with its arguments and what it does, from the schemas that the agent is given."""
    tools = [schema["function"] for schema in TOOL_SCHEMAS]
    calls = (f"{t['name']}({', '.join(t['parameters']['properties'])})" for t in tools)
    lines = (f"{call}\n    {tool['description']}" for call, tool in zip(calls, tools, strict=True))
    return "\b\nTools:\n" + "\n".join(lines)


class Profile(StrEnum):
    official = "official"
    strict = "strict"
    both = "both"


Queries = Annotated[
    Path, typer.Option(help="The queries: JSON lines or the hub's CSV; numbered from 1 in their order.")
]
Database = Annotated[
    Path,
    typer.Option(
        "--database",
        "--store",
        help="The official database folder (its store is built once and kept in ~/.cache/planner-r1), or a store.",
    ),
]


@app.command()
def score(
    plans: Annotated[Path, typer.Option(help="JSON lines with idx and plan, or idx and answer.")],
    queries: Queries,
    database: Database,
    out: Annotated[Path, typer.Option(help="Where the verdicts go, one JSON line a plan, in the order of --plans.")],
    profile: Annotated[Profile, typer.Option(help="official, strict (its holes closed), or both.")] = Profile.official,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Show beside the rates what a lenient reading of answers would give.")
    ] = False,
):
    """Score plans, or an agent's answers, and print the rates.

    \b
    planner-r1 score --plans plans.jsonl --queries validation.jsonl \\
        --database database --profile both --out verdicts.jsonl

    Each line of --plans has `idx`, the number of its query from 1, and either `plan`, in the official format or null,
    or `answer`, the text of the agent's last turn with its <answer> block (trajectories.jsonl of a run is such a
    file). The same idx may come more than once.

    Each line of --out has idx, delivered, commonsense and hard (true or false by constraint, null where it is not
    asked or not judged; hard is null as a whole where the plan is too incomplete for it), total_cost, final_pass,
    reason, and reasons by constraint. With --profile both these are the official answers; the strict ones stand in the
    same form under strict, and holes names what lets the plan pass the official rules only.

    An <answer> block must hold JSON and nothing else: an answer in a Markdown code fence or amid text counts as no
    plan, and reason says so. With --lenient the line of every answer without a plan has lenient, the verdict on the one
    JSON array of days that stands in the answer, whatever is around it; the rates of that reading stand beside the
    others and are not the benchmark's.
    """
    check_output(out, plans, queries)
    asked = load_queries(queries)
    store = open_database(database)
    check_places(asked, store)
    scores = score_lines(lines := read_lines(plans, asked, store), asked, store, profile.value)
    if lenient:
        add_lenient(scores, lines, asked, store, profile.value)
    write_lines(out, scores.records)
    print_scores(scores)
    if missing := len(asked) - len({line.idx for line in lines}):
        print(f"{missing} of {len(asked)} queries have no plan in {plans}: the rates are over the plans given")


@app.command(epilog=_tools_help())
def tool(
    name: Annotated[str, typer.Argument(help="Name of the tool.")],
    arguments: Annotated[str, typer.Argument(help="Its arguments, a JSON object.")],
    database: Database,
):
    """Call one of the agent's tools by hand, and print what the agent would see.

    \b
    planner-r1 tool search_flights --database database \\
        '{"origin": "Baton Rouge", "destination": "Houston", "date": "2022-03-01"}'

    Ends with status 1 where the tool answers with an error.
    """
    answer = Toolbox(open_database(database)).call(name, arguments)
    print(json.dumps(answer, indent=2, ensure_ascii=False))
    if "error" in answer:
        raise typer.Exit(1)


@app.command()
def submission(
    trajectories: Annotated[Path, typer.Option(help="JSON lines with idx and answer (or an official plan).")],
    queries: Queries,
    database: Database,
    out: Annotated[Path, typer.Option(help="Where the leaderboard's file goes.")],
):
    """Make the leaderboard's file, one line {idx, query, plan} for every query, in order.

    \b
    planner-r1 submission --trajectories trajectories.jsonl --queries test.jsonl \\
        --database database --out submission.jsonl

    Every query needs one line, and every plan must be a list of objects, or null: otherwise the faults are named, and
    nothing is written. An answer without a valid plan counts as not delivered. So does a plan on which the official
    evaluator raises, since it would end the scoring of the whole file; such plans are named. So are days that lack a
    key or hold null or the like instead of text: the leaderboard scores them as they are.
    """
    check_output(out, trajectories, queries)
    asked = load_queries(queries)
    store = open_database(database)
    check_places(asked, store)
    made = make_submission(read_lines(trajectories, asked, store), asked, store)
    write_lines(out, made.records)
    for note in made.notes():
        print(note, file=sys.stderr)
    delivered = sum(record["plan"] is not None for record in made.records)
    print(f"{out}: {len(made.records)} lines, {delivered} with a plan")
    if len(made.records) != TEST_QUERIES:
        print(f"the leaderboard takes the {TEST_QUERIES:,} queries of the test split, these are {len(made.records)}")


_WORLD = WorldSpec()


@app.command()
def world(
    out: Annotated[Path, typer.Option(help="The folder to write; it gets the official folders and file names.")],
    seed: Annotated[int, typer.Option(help="The same seed and sizes give the same files.")] = _WORLD.seed,
    cities: Annotated[int, typer.Option(help="Number of cities.")] = _WORLD.cities,
    states: Annotated[int, typer.Option(help="Number of states they lie in.")] = _WORLD.states,
    restaurants: Annotated[int, typer.Option(help="Restaurants in each city.")] = _WORLD.restaurants,
    accommodations: Annotated[int, typer.Option(help="Places to stay in each city.")] = _WORLD.accommodations,
    attractions: Annotated[int, typer.Option(help="Attractions in each city.")] = _WORLD.attractions,
    flights: Annotated[int, typer.Option(help="Flights a day from each city to each other one.")] = _WORLD.flights,
    first_day: Annotated[str, typer.Option(help="First day with flights, YYYY-MM-DD.")] = _WORLD.first_day,
    n_days: Annotated[int, typer.Option(help="Number of days with flights.")] = _WORLD.n_days,
):
    """Make a synthetic world: a database in the official file format.

    \b
    planner-r1 world --out world --cities 20 --states 4 --flights 3
    planner-r1 tool get_cities '{"state": "..."}' --database world
    """
    spec = WorldSpec(seed, cities, states, restaurants, accommodations, attractions, flights, first_day, n_days)
    write_world(spec, out)
    print(f"{out}: {cities} cities, {flights} flights a day each way between any two, {n_days} days from {first_day}")


StudyFile = Annotated[str, typer.Option(help="The study: a file, or its keys as JSON.")]


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"


@app.command()
def cost(
    study: StudyFile = "config/quick.yaml",
    results: Annotated[Path, typer.Option(help="The folder that holds results/<study>.")] = Path("results"),
    format: Annotated[
        Format, typer.Option(help="table, or json or csv with the source of each number.")
    ] = Format.table,
):
    """Print what a study costs: GPU and node hours, price, disk, tokens, FLOPs, by model and regime.

    \b
    planner-r1 cost --study config/paper.yaml

    What has run says what it took. What has not is reckoned from whole runs of the same model (marked ≈), and where
    there are none from the assumptions in the study's `cost` (marked ~).
    """
    from planner_r1.paper.cost import Bill, as_json, total, write_csv

    bill = Bill(Study.load(study), results)
    rows = bill.rows()
    rows.append(total(rows))
    if format is Format.json:
        print(json.dumps(as_json(rows), indent=2))
    elif format is Format.csv:
        write_csv(rows, sys.stdout)
    else:
        _print_bill(bill, rows)


@app.command()
def draw(
    names: Annotated[list[str] | None, typer.Argument(help="Tables and figures; all of the study if none.")] = None,
    study: StudyFile = "config/quick.yaml",
    results: Annotated[Path | None, typer.Option(help="The study's results; results/<study> if not given.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where they go; draft/<study> if not given.")] = None,
):
    """Draw tables and figures of what is there, also of a study that still runs.

    \b
    planner-r1 draw --study config/paper.yaml
    planner-r1 draw table1 figure3_left --study config/laptop.yaml --out /tmp/look

    Each says what is missing. They go into a folder of their own, so that those of a finished study, which
    `snakemake NAME` makes, stay as they are. A wrong name tells which there are.
    """
    from planner_r1.paper.artefacts import artefacts_of, with_tables
    from planner_r1.paper.make import draft

    asked = Study.load(study)
    known = {artefact.name: artefact for artefact in artefacts_of(asked)}
    if not known:
        raise InputError(f"{asked.name} has no tables or figures: it trains and evaluates nothing")
    if unknown := [name for name in names or () if name not in known]:
        raise InputError(f"'{unknown[0]}' is not a table or figure of {asked.name}; there are {', '.join(known)}")
    results = results or Path("results") / asked.name
    if not results.is_dir():
        raise InputError(f"{results}: no such folder with results of {asked.name}; run it, or name it by --results")
    out = out or Path("draft") / asked.name
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise InputError(f"{out}: cannot be made a folder ({fault.strerror}); name another by --out") from None
    failed = False
    for artefact in with_tables([known[name] for name in names or known], asked):
        files = [file for file in artefact.inputs(asked) if not file.startswith("tables/")]
        try:
            shown = draft(artefact, asked, results, out)
        except InputError as mistake:
            print(f"{artefact.name}: {mistake}", file=sys.stderr)
            failed = True
            continue
        missing = [file for file in files if not (results / file).is_file()]
        told = f"; missing: {few(missing)}" if missing else ""
        made_of = f"{len(files) - len(missing)} of {len(files)} files{told}" if files else "tables of this study"
        say(f"{shown}: made of {made_of}")
    if failed:
        raise typer.Exit(1)


@app.command()
def preflight(
    study: StudyFile = "config/quick.yaml",
    profile: Annotated[str | None, typer.Option(help="The profile that Snakemake is to be started with.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="Look at this model alone; may be given again.")] = None,
):
    """Check that a study can run before anything long is started: one line a check, all faults at once.

    \b
    planner-r1 preflight --study config/paper.yaml --profile slurm

    Data files, weights and tokenizers; the versions where verl runs; nodes, GPUs, memory and time limits of the
    profile's jobs on the cluster; free disk; endpoints and keys. Ends with status 1 where a check says FAIL; what is
    marked warn may still come right. The study runs it by itself before its first job on GPUs.
    """
    from planner_r1.preflight.checks import preflight as results
    from planner_r1.preflight.profile import load_profile
    from planner_r1.preflight.result import Status, Subject
    from planner_r1.training.early_checks import check_training

    asked = Study.load(study)
    check_training(asked)
    if unknown := [name for name in model or () if name not in asked.models]:
        raise InputError(f"--model: '{unknown[0]}' is not in {study} ({', '.join(asked.models)})")
    subject = Subject(asked, model or asked.models, load_profile(profile) if profile else None)
    failed = False
    for result in results(subject):
        print(result, flush=True)
        failed |= result.status is Status.FAIL
    if failed:
        raise typer.Exit(1)


def _print_bill(bill, rows) -> None:
    from planner_r1.paper.cost import AMOUNTS

    marks = {"measured": "", "extrapolated": "≈", "assumed": "~"}
    units = {"disk": 1e9, "generated_tokens": 1e6, "trained_tokens": 1e6}
    names = {"disk": "disk GB", "generated_tokens": "generated M tokens", "trained_tokens": "trained M tokens"}

    def shown(name, amount):
        if amount.value is None:
            return "?"
        value = amount.value / units.get(name, 1)
        if value == 0:
            return ""
        return marks[amount.source.name] + (
            f"{value:.1e}" if name == "flops" else f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
        )

    used = [name for name in AMOUNTS if any(getattr(row, name).value != 0 for row in rows)]
    table = Table("model", "regime", "jobs", "steps")
    for name in used:
        table.add_column(names.get(name, name.replace("_", " ")), justify="right")
    for row in rows:
        if row is rows[-1]:
            table.add_section()
        amounts = (shown(name, getattr(row, name)) for name in used)
        table.add_row(row.model, row.what, f"{row.jobs:,}", f"{row.steps:,}" if row.steps else "", *amounts)
    Console(highlight=False, width=max(Console().width, 150)).print(table)
    print("unmarked: measured; ≈ reckoned from measured runs of the model; ~ from assumptions (`cost` in the study)")
    print("hours: one job after the other; disk: what stays; trained tokens and FLOPs: the updates of the policy alone")
    for model, size in bill.peak_disk().items():
        print(f"a run of {model} takes up to {size / 1e9:,.1f} GB of disk while it trains")
    if endpoints := [model for model in bill.study.models if bill.study.endpoint(model)]:
        print(f"not in the table: {', '.join(endpoints)}, whose evaluations write their price to costs.json")


@app.command()
def download(
    names: Annotated[list[str] | None, typer.Argument(help="Sources, as --list names them.")] = None,
    show: Annotated[bool, typer.Option("--list", help="Show what can be downloaded, and what of it is here.")] = False,
):
    """Download benchmark data and model weights into data/, as far as they are not there.

    \b
    planner-r1 download --list
    planner-r1 download travelplanner_database travelplanner_queries qwen3-8b

    A study fetches by itself what it lacks; this is for a machine that has the internet where the others have none. An
    interrupted download goes on where it was. What is fetched, and how it is checked, stands in config/sources.yaml.
    PLANNER_R1_MIRROR names a folder or URL with a filled data/ to take files from first; HF_ENDPOINT and HF_TOKEN are
    the hub's.
    """
    from planner_r1.downloads.obtain import obtain_source
    from planner_r1.downloads.sources import load_catalogue

    catalogue = load_catalogue()
    if show or not names:
        _print_sources(catalogue)
        return
    for source in [catalogue.source(name) for name in names]:
        obtain_source(catalogue, source)


def _print_sources(catalogue) -> None:
    from planner_r1.downloads.progress import amount

    width = max(map(len, catalogue.sources))
    for source in catalogue.sources.values():
        here = sum(path.exists() for path in source.wanted)
        about = amount(source.bytes) if all(file.bytes is not None for file in source.files) else "size unknown"
        print(f"{source.name:{width}}  {here} of {len(source.wanted)} files here, {about}; {source.licence}")
        print(f"    {source.description}")


def main() -> None:
    """Run the command line; a person's mistake, or a package that is missing, is one message and exit status 2."""
    try:
        app()
    except InputError as mistake:
        message = str(mistake)
    except ModuleNotFoundError as missing:
        how = how_to_install(missing.name or "")
        if how is None:
            raise
        message = f"{missing.name} is not installed, and this command needs it; {how}"
    else:
        return
    print(f"planner-r1: {message}", file=sys.stderr)
    sys.exit(2)
