"""The small results that this repository keeps of its studies against their records: files and keys as they were."""

import hashlib
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
LOCKS = sorted(REPOSITORY.glob("results/*/dvc.lock"))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.parent.name)
def test_kept_results_are_those_recorded_and_of_the_study_as_it_stands(lock):
    recorded = yaml.safe_load(lock.read_text(encoding="utf-8"))["stages"]["all"]
    for out in recorded["outs"]:
        found = hashlib.md5((REPOSITORY / out["path"]).read_bytes()).hexdigest()
        assert found == out["md5"], f"{out['path']}: not what was recorded"
    for study, keys in recorded["params"].items():
        assert yaml.safe_load((REPOSITORY / study).read_text(encoding="utf-8")) == keys, f"{study}: changed since"
