"""Records of runs: what Snakemake has made becomes DVC's, and what DVC has pulled becomes Snakemake's."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from planner_r1.console import few
from planner_r1.errors import InputError
from planner_r1.training.base_model import link_model
from planner_r1.versioning.stages import FILE, FIRST, Plan, current_plan, write_params


def record() -> Plan:
    """Note the files of a study that Snakemake has finished in dvc.lock and DVC's cache, running nothing.

    Raises:
        InputError: dvc.yaml is not of the study as it stands, there is work left, or a run is not whole.
    """
    plan = current_plan()
    check_finished(plan)
    if lost := [*_not_whole(plan)]:
        raise InputError(f"{few(lost)}: not as MANIFEST.json says; delete that MANIFEST.json and run Snakemake again")
    write_params(plan)
    run_dvc("commit", "--force", str(FILE))
    return plan


def check_finished(plan: Plan) -> None:
    """Raises InputError where Snakemake would still run something of a study."""
    if left := plan.to_do:
        raise InputError(
            f"{plan.study_file}: not finished, {len(left)} jobs are left ({few(left)}); run "
            f"`snakemake -c 2 all --configfile {plan.study_file}` first"
        )


def sync() -> Plan:
    """After `dvc pull`, make Snakemake take the files for what they are: finished.

    A pull leaves files in no order of age, and no records of Snakemake's. Both are made as after a run. What was not
    pulled stays away: Snakemake asks for it only when something that reads it has to be made.

    Raises:
        InputError: files differ from dvc.lock, or Snakemake would still run something.
    """
    plan = current_plan()
    if changed := _changed(plan):
        raise InputError(
            f"not as dvc.lock says: {few(changed)}; see `dvc status`. `git checkout {plan.results}` brings back those "
            "that git keeps, `dvc checkout` those that DVC keeps; or `dvc repro` makes them anew"
        )
    _link_given_models(plan)
    _snakemake("--cores", "1", "--touch", "--forceall", "--configfile", plan.study_file, "--", "all")
    plan = Plan(plan.study_file)
    if left := plan.to_do:
        raise InputError(f"Snakemake would still run {len(left)} jobs ({few(left)}); pull their files: `dvc pull`")
    return plan


def _not_whole(plan: Plan) -> Iterator[str]:
    """Files of runs that are absent or not of the size that their manifest says; DVC hashes what is there itself."""
    for manifest in sorted(Path(plan.results).glob("runs/*/*/*/MANIFEST.json")):
        for name, listed in json.loads(manifest.read_text(encoding="utf-8"))["files"].items():
            path = manifest.parent / name
            if not path.is_file() or path.stat().st_size != listed["bytes"]:
                yield str(path)


def _changed(plan: Plan) -> list[str]:
    """What differs from dvc.lock: stages whose command does, and files with their state. Files that were not pulled do
    not, and of the first stage, which any edit of code touches, what it makes of the edit counts."""
    params = Path(plan.params_file)
    current = params.is_file() and params.read_text(encoding="utf-8") == plan.params()
    found = [] if current else [f"{params} (not what jobs are called with now)"]
    for stage, entries in json.loads(run_dvc("status", "--json", str(FILE))).items():
        for entry in entries:
            if isinstance(entry, str):
                found.append(f"{stage} ({entry})")
                continue
            if stage == FIRST:
                entry.pop("changed deps", None)
            for files in entry.values():
                found += [f"{file} ({state})" for file, state in files.items() if Path(file).exists()]
    return list(dict.fromkeys(found))


def _link_given_models(plan: Plan) -> None:
    """Link the weights of models taken as given anew: of them only the manifest is kept."""
    for model in plan.study.models:
        source, out = plan.study.model_path(model), Path(plan.results) / "models" / model
        given = source and not plan.study.made_here(model)
        if given and Path(source).is_dir() and (out / "MANIFEST.json").is_file():
            link_model(Path(source), out)


def run_dvc(*arguments: str) -> str:
    """What DVC prints; raises InputError where it fails."""
    return _run([sys.executable, "-m", "dvc", *arguments])


def _snakemake(*arguments: str) -> str:
    return _run([sys.executable, "-m", "snakemake", *arguments])


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise InputError(f"{' '.join(command[2:])} failed:\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout
