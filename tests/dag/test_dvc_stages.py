"""dvc.yaml against the DAG: what Snakemake itself says of its jobs, and what git ignores."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from helpers.checkout import REPOSITORY, copy_repository
from helpers.clone import Clone
from helpers.messages import any_names

STUDIES = ("quick", "paper", "real_rows", "studies/memory", "studies/api_models")
DOWNLOADS = {"download", "unpack", "multi_if_english", "tau_bench_tasks", "tau_bench_tools"}
FIRST = "study"


@dataclass
class Job:
    rule: str
    inputs: set[str] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)


@dataclass
class Stage:
    rules: set[str]
    targets: list[str]
    deps: set[str]
    outs: dict[str, bool]  # whether the cache keeps it


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Clone:
    return Clone(copy_repository(tmp_path_factory.mktemp("checkout")).folder)


def announced_jobs(checkout: Clone, study: str) -> list[Job]:
    """The jobs of everything, read from a dry run's text."""
    configuration = ("--configfile", f"config/{study}.yaml")
    printed = checkout.run("snakemake", "--dry-run", "--forceall", *configuration, "--", "all")
    jobs = []
    for line in printed.splitlines():
        if found := re.match(r"(?:local)?rule (\w+):$", line):
            jobs.append(Job(found[1]))
        elif found := re.match(r"    (input|output): (.*)$", line):
            files = {file.strip().removesuffix(" (update)") for file in found[2].split(", ")}
            (jobs[-1].inputs if found[1] == "input" else jobs[-1].outputs).update(files)
    return [job for job in jobs if job.rule != "all"]


def stages_of(checkout: Clone, study: str) -> dict[str, Stage]:
    checkout.run("planner-r1", "dvc", "stages", "--study", f"config/{study}.yaml")
    written = yaml.safe_load((checkout.folder / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    return {name: stage_of(keys) for name, keys in written.items()}


def stage_of(keys: dict) -> Stage:
    command = keys["cmd"] if isinstance(keys["cmd"], str) else keys["cmd"][-1]
    words = command.split()
    at = words.index("--") if "--" in words else len(words)
    rules = set(words[words.index("--allowed-rules") + 1 : at]) if at < len(words) else set()
    outs = {}
    for entry in (*keys.get("outs", ()), *keys.get("metrics", ())):
        file, options = (entry, {}) if isinstance(entry, str) else next(iter(entry.items()))
        assert "persist" not in options
        outs[file] = options.get("cache", True)
    return Stage(rules, words[at + 1 :], set(keys["deps"]), outs)


def holds(outs, file: str) -> bool:
    return file in outs or any(file.startswith(f"{out}/") for out in outs)


def test_the_committed_file_is_what_the_rules_give(checkout):
    checkout.run("planner-r1", "dvc", "stages", "--study", "config/quick.yaml")
    committed = (REPOSITORY / "dvc.yaml").read_text(encoding="utf-8")
    assert (checkout.folder / "dvc.yaml").read_text(encoding="utf-8") == committed, "run `planner-r1 dvc stages`"


@pytest.mark.parametrize("study", STUDIES)
def test_stages_and_jobs_agree(checkout, study):
    announced = announced_jobs(checkout, study)
    jobs = [job for job in announced if job.rule not in DOWNLOADS]
    stages = stages_of(checkout, study)
    making = {name: stage for name, stage in stages.items() if stage.outs}
    fetched = {file for job in announced if job.rule in DOWNLOADS for file in job.outputs}

    made_by = {}
    for job in jobs:
        for file in job.outputs:
            makers = [name for name, stage in making.items() if holds(stage.outs, file)]
            assert len(makers) == 1, f"{file} is made by the stages {makers}"
            made_by[file] = makers[0]
        assert len({made_by[file] for file in job.outputs}) == 1, f"{job.rule} is torn apart"

    for name, stage in making.items():
        own = [job for job in jobs if made_by[min(job.outputs)] == name]
        assert {job.rule for job in own} == stage.rules - DOWNLOADS, name
        # one target a job, each that job's
        assert sorted(len(job.outputs & {*stage.targets}) for job in own) == [1] * len(stage.targets), name
        if name == FIRST:
            continue
        assert bool(stage.rules & DOWNLOADS) == any(job.inputs & fetched for job in own), name
        read = {file for job in own for file in job.inputs} - fetched - {f for job in own for f in job.outputs}
        for file in read:
            assert file in stage.deps or any(holds([dep], file) for dep in stage.deps), f"{name} lacks {file}"
        for dep in stage.deps:
            weights = "/checkpoints/step" in dep
            script = dep.startswith("workflow/scripts/")
            assert script or weights or dep in read or any(holds([dep], file) for file in read), f"{name}: {dep}"
        assert sum(dep.startswith("workflow/scripts/") for dep in stage.deps) == len(scripts(checkout, stage.rules))

    whole = {out for stage in making.values() for out in stage.outs}
    for name, stage in stages.items():
        for dep in stage.deps:
            assert holds(whole, dep) or (checkout.folder / dep).exists(), f"{name} reads {dep}, which nobody makes"


def scripts(checkout: Clone, rules: set[str]) -> set[str]:
    """The scripts of rules that stand by name in the rules' files; those of rules in loops are known."""
    in_loops = {"ood_data": "ood_data.py", "ood_": "ood_scores.py"}
    found = set()
    text = "\n".join(path.read_text() for path in (checkout.folder / "workflow" / "rules").glob("*.smk"))
    for rule in rules - DOWNLOADS:
        block = re.search(rf"^rule {rule}:\n(.*?)^(?=\S)", text + "\nend", re.MULTILINE | re.DOTALL)
        named = re.search(r'"\.\./scripts/(\w+\.py)"', block[1]) if block else None
        if named:
            found.add(named[1])
        elif rule == "ood_answers_of_service":
            found.add("ood_answers.py")
        elif not block:
            found.add(next((script for start, script in in_loops.items() if rule.startswith(start)), "artefact.py"))
    return found


@pytest.mark.slow
def test_git_takes_what_the_cache_does_not(checkout):
    checkout.run("cp", str(REPOSITORY / ".gitignore"), ".")
    checkout.run("git", "init", "--quiet", ".")
    for study in STUDIES:
        outs = {file: cached for stage in stages_of(checkout, study).values() for file, cached in stage.outs.items()}
        for file in outs:
            # folders end in a slash for git, which cannot see what they will be
            (checkout.folder / file).parent.mkdir(parents=True, exist_ok=True)
        asked = [f"{file}/" if not Path(file).suffix else file for file in outs]
        ignored = subprocess.run(
            ["git", "check-ignore", "--stdin"],
            input="\n".join(asked),
            cwd=checkout.folder,
            capture_output=True,
            text=True,
        ).stdout.split()
        assert {file.rstrip("/") for file in ignored} == {file for file, cached in outs.items() if cached}


@pytest.mark.slow
def test_downloads_that_are_there_change_no_stage(checkout):
    before = stages_of(checkout, "paper")
    text = (checkout.folder / "dvc.yaml").read_text()
    fetched = {file for job in announced_jobs(checkout, "paper") if job.rule in DOWNLOADS for file in job.outputs}
    for file in fetched:
        path = checkout.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert fetched and before == stages_of(checkout, "paper")
    assert text == (checkout.folder / "dvc.yaml").read_text()


def test_stages_of_somebody_else_are_left_alone(checkout):
    (checkout.folder / "dvc.yaml").write_text("stages: {mine: {cmd: make}}\n")
    for command in (("stages", "--study", "config/quick.yaml"), ("params",), ("record",), ("sync",)):
        done = checkout.try_to("planner-r1", "dvc", *command)
        assert done.returncode == 2
        any_names(done.stderr, "dvc.yaml", "`planner-r1 dvc stages`")
    assert (checkout.folder / "dvc.yaml").read_text() == "stages: {mine: {cmd: make}}\n"
