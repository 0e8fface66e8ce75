"""A few training steps at one setting, to see what they take of the GPUs. Running out of memory is a result.

verl reports the peaks of its trainer; the rollout engine lives in processes of its own and reports none. What a GPU
holds in all is therefore read from `nvidia-smi` while the probe runs, where there is one.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from planner_r1.console import say
from planner_r1.training import checkpoints, manifest
from planner_r1.training.launch import TrainSpec, log_path, logged_metrics, segments, train
from planner_r1.training.process import TrainingError

READ_EVERY = 1.0  # seconds between two readings of nvidia-smi
MIB_PER_GIB = 1024
LONGEST_EVIDENCE = 300  # characters

# What the log of a process that ran out of memory says, by what ran out. Not Ray's list of common causes of a lost
# worker, which names the kernel's OOM killer whatever happened.
OUT_OF_MEMORY = {
    "GPU": re.compile(
        r"CUDA out of memory|torch\.(cuda\.)?OutOfMemoryError|CUDA error: out of memory|cudaErrorMemoryAllocation"
        r"|CUresult error: 2 \(out of memory\)|Cuda failure 2 'out of memory'"
    ),
    "KV cache": re.compile(
        r"Not enough memory\. Please try to increase --mem-fraction-static|(Prefill|Decode) out of memory\."
        r"|alloc_req_slots runs out of memory"
    ),
    "host": re.compile(
        r"ray\.exceptions\.OutOfMemoryError|due to the node running low on memory|killed due to memory pressure \(OOM\)"
        r"|Detected \d+ oom[_-]kill event|DefaultCPUAllocator: (can't allocate|not enough) memory"
    ),
}


@dataclass(frozen=True)
class OutOfMemory:
    """What ran out ("GPU", "KV cache" or "host"), and the first line of the log that says so."""

    kind: str
    evidence: str


def out_of_memory(log: str) -> OutOfMemory | None:
    """The first thing that ran out of memory, by the log of verl; None if nothing did.

    What follows the first is often its consequence: the driver repeats it, other ranks fail in their turn.
    """
    for line in log.splitlines():
        for kind, pattern in OUT_OF_MEMORY.items():
            if pattern.search(line):
                return OutOfMemory(kind, line.strip()[:LONGEST_EVIDENCE])
    return None


def probe(spec: TrainSpec, result: Path, facts: Mapping[str, Any], report: Callable[[str], None] = say) -> Path:
    """Train as `spec` says and write what was seen to `result`; of the run itself only the logs stay, in `spec.work`.

    `result` is JSON: `facts` with `outcome` ("ran" or "out of memory"), `kind` and `evidence` of the latter,
    `device_peak_gib` (the largest of the GPUs of this machine, GiB in all; null where there is no nvidia-smi), and
    `steps`, verl's metrics of each step that was logged.

    Raises:
        InputError: the specification is wrong.
        TrainingError: verl failed for another reason than memory.
    """
    failure = None
    with DevicePeak() as device:
        try:
            train(spec, report)
        except TrainingError:
            failure = out_of_memory(_newest_log(spec.work))
            if failure is None:
                raise
    record = {
        **facts,
        "outcome": "out of memory" if failure else "ran",
        "kind": failure.kind if failure else None,
        "evidence": failure.evidence if failure else None,
        "device_peak_gib": device.peak_gib,
        "steps": [{"step": step, **metrics} for step, metrics in sorted(logged_metrics(spec.work).items()) if step],
        "asked_steps": spec.last_step,
        "git_commit": manifest.git_commit(),
        "versions": manifest.versions(spec.environment),
    }
    result.parent.mkdir(parents=True, exist_ok=True)
    checkpoints.write_atomically(result, json.dumps(record, indent=1) + "\n")
    _keep_only_logs(spec.work)
    report(f"{spec.name}: {record['outcome']}{f' ({failure.kind})' if failure else ''}; {result}")
    return result


def _newest_log(work: Path) -> str:
    return log_path(work, len(segments(work))).read_text(encoding="utf-8", errors="replace")


def _keep_only_logs(work: Path) -> None:
    for path in work.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.suffix != ".log":
            path.unlink()


class DevicePeak:
    """Reads the memory in use on this machine's GPUs as long as it is entered.

    peak_gib: the largest that one GPU held at a reading; None where nvidia-smi is absent or never answered
    """

    def __init__(self):
        self.peak_gib: float | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read_until_ended, daemon=True)

    def __enter__(self) -> DevicePeak:
        if shutil.which("nvidia-smi"):
            self._thread.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _read_until_ended(self) -> None:
        while True:
            if used := used_mib():
                self.peak_gib = max(self.peak_gib or 0.0, max(used) / MIB_PER_GIB)
            if self._ended.wait(READ_EVERY):
                return


def used_mib() -> list[int]:
    """MiB in use on each GPU of this machine; none where nvidia-smi does not answer."""
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    try:
        printed = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout
        return [int(line) for line in printed.split()]
    except (OSError, ValueError, subprocess.SubprocessError):
        return []
