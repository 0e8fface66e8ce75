"""What is installed where verl runs, against the pins."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from planner_r1.checkout import ROOT
from planner_r1.errors import InputError
from planner_r1.preflight.result import Result, Subject, fail, ok, warn
from planner_r1.training.manifest import PACKAGES, versions

PINS = ROOT / "envs" / "pins.yaml"


def check_installed(subject: Subject) -> Iterator[Result]:
    """The packages that determine a run have the versions of envs/pins.yaml, in the environment of the study."""
    environment, check = subject.study.environment, "environment"
    if not set(subject.models) & set(subject.study.trainable):
        return  # services only: verl is not needed
    try:
        found = {_normal(name): version for name, version in versions(environment).items()}
    except InputError as error:
        yield fail(check, str(error))
        return
    kind = subject.study.backend
    pins = yaml.safe_load(PINS.read_text(encoding="utf-8"))[kind]
    looked_at = {_normal(name) for name in PACKAGES}
    wanted = {name: version for name, version in pins["packages"].items() if name in looked_at}
    wrong = [
        f"{name} {found.get(name, 'missing')} (pinned: {version})"
        for name, version in wanted.items()
        # a local part (2.11.0+cu130) names a build of the same release
        if found.get(name, "").partition("+")[0] != version
    ]
    if found["python"].rpartition(".")[0] != pins["python"]:
        yield warn(check, f"Python {found['python']}, the lock was made for {pins['python']}")
    if wrong:
        how = f"envs/README.md says how to make the {kind} environment and name it"
        yield fail(check, f"'{environment}' has {', '.join(wrong)}; {how}")
    else:
        yield ok(check, f"'{environment}' has {', '.join(f'{name} {found[name]}' for name in wanted)}")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
