"""What verl is given on GPUs, as far as a machine without one can tell."""

import subprocess
import sys

from planner_r1.training.kernel_caches import CACHES, cache_variables
from planner_r1.training.process import _variables
from planner_r1.training.process_group import SECONDS_TO_WAIT

# A rank starts its process group as verl's training workers do, and tells how long it would wait for the others.
RANK = """
import os
os.environ |= {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
import torch
import torch.distributed as dist
from verl.workers import engine_workers
engine_workers.initialize_global_process_group_ray(timeout_second=None, backend="cpu:gloo")
from verl.utils.checkpoint.fsdp_checkpoint_manager import FSDPCheckpointManager
print("exports", FSDPCheckpointManager.save_checkpoint.at_export_steps)
group = dist.distributed_c10d._get_default_group()
print("limit", group._get_backend(torch.device("cpu")).options._timeout.total_seconds())
"""


def variables(tmp_path, backend):
    return _variables(tmp_path, backend, tmp_path / "store", tmp_path / "metrics", tmp_path)


def test_ranks_wait_for_one_that_writes_for_hours(tmp_path):
    environment = variables(tmp_path, "gpu")
    done = subprocess.run([sys.executable, "-c", RANK], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"limit {float(SECONDS_TO_WAIT)}" in done.stdout
    assert "exports True" in done.stdout  # its checkpoints hold weights for others where they are exported
    # 131 GB, the 32B in fp32, over the slowest disk that anybody would train on
    assert SECONDS_TO_WAIT > 131e9 / 10e6


def test_kernels_are_compiled_on_the_nodes_own_disk(tmp_path, monkeypatch):
    for name in CACHES:  # torch names one of them where it is imported
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRITON_CACHE_DIR", "/scratch/triton")
    found = variables(tmp_path, "gpu")
    assert found["TRITON_CACHE_DIR"] == "/scratch/triton"  # the site's own
    for name in set(CACHES) - {"TRITON_CACHE_DIR"}:
        assert found[name] == cache_variables()[name]
    assert not set(CACHES) - {"TRITON_CACHE_DIR"} & set(variables(tmp_path, "cpu"))
