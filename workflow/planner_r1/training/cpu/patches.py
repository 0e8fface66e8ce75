"""The few places where verl 0.9.1 has no hook and would not work, or crawl, on a CPU.

Each function replaces a name in a module of verl in the running process; nothing on disk is changed. All of it is
done while `import verl` runs, so before any other module of verl has taken a copy of the name. The tests check that
the pinned verl still needs each patch and that it still fits.
"""

import asyncio
import os

import torch
import torch.nn.functional as F

from planner_r1.training import saved_weights

ON_PROCESSORS = "SGLANG_USE_CPU_ENGINE"  # read by sglang when it is imported; set by the environment of `make engine`


def register_rollout() -> None:
    """Make `rollout.name=hf_cpu` known."""
    from verl.workers.rollout import base, replica

    def load_replica():
        from planner_r1.training.cpu.rollout import CpuReplica

        return CpuReplica

    replica.RolloutReplicaRegistry.register("hf_cpu", load_replica)
    # verl has a public registry for replicas, but for the worker's side only this dictionary.
    base._ROLLOUT_REGISTRY[("hf_cpu", "async")] = "planner_r1.training.cpu.rollout.ServerAdapter"


def register_sglang() -> None:
    """Have `rollout.name=sglang` mean verl's own rollout, as far as it goes without an accelerator."""
    from verl.workers.rollout import base, replica

    load = replica._load_sglang

    def load_replica():
        load()  # puts stand-ins for parts of vLLM in place, which sglang may import
        os.environ[ON_PROCESSORS] = "1"  # verl takes it away
        from planner_r1.training.cpu.sglang_rollout import Replica

        return Replica

    replica.RolloutReplicaRegistry.register("sglang", load_replica)
    base._ROLLOUT_REGISTRY[("sglang", "async")] = "planner_r1.training.cpu.sglang_rollout.ServerAdapter"


def prepare_training_workers() -> None:
    """Have a process that joins the training's process group use gloo, and know the training engine for the CPU.

    verl asks torch for the backend "cpu:gloo,<device>:<backend>", here "cpu:gloo,cpu:gloo", which torch refuses. The
    engine is registered here and not at import, since importing it takes seconds that the other processes would waste.
    """
    import verl.utils.distributed as distributed

    initialize = distributed.initialize_global_process_group_ray

    def initialize_global_process_group_ray(timeout_second=None, backend=None):
        from planner_r1.training.cpu import training_engine  # noqa: F401

        saved_weights.patch()
        return initialize(timeout_second=timeout_second, backend=backend or "cpu:gloo")

    distributed.initialize_global_process_group_ray = initialize_global_process_group_ray


def do_not_pin_memory() -> None:
    """The reference policy is built with CPUOffloadPolicy(pin_memory=True); pinning needs an accelerator."""
    import verl.utils.fsdp_utils as fsdp_utils

    policy = fsdp_utils.CPUOffloadPolicy

    class UnpinnedOffloadPolicy(policy):
        def __init__(self, pin_memory: bool = False):
            super().__init__(pin_memory=False)

    fsdp_utils.CPUOffloadPolicy = UnpinnedOffloadPolicy


def fuse_log_probs() -> None:
    """Without a CUDA kernel verl takes the log-probabilities of packed rows in a Python loop over the tokens."""
    import verl.utils.torch_functional as torch_functional

    def logprobs_from_logits_v2(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        rows = logits.reshape(-1, logits.shape[-1]).float()
        return -F.cross_entropy(rows, labels.reshape(-1), reduction="none").view(labels.shape)

    torch_functional.logprobs_from_logits_v2 = logprobs_from_logits_v2


def keep_to_the_only_server() -> None:
    """verl asks an actor for a server before each turn and reports back after it; with one server these two calls and
    that actor's share of the processor are a fifth of what the episodes of a step cost beside generation itself.

    The first turns ask. If there is but one server they say at once that they are done with it, and later ones use it.
    """
    from verl.workers.rollout.llm_server import LLMServerClient

    acquire, release = LLMServerClient._acquire_server, LLMServerClient._release_server

    async def _acquire_server(self, request_id, **extra):
        if not hasattr(self, "_only_server"):
            found, servers = await asyncio.gather(
                acquire(self, request_id, **extra), self._load_balancer.get_all_servers.remote()
            )
            if len(servers) > 1:
                return found
            release(self, found[0], request_id=request_id)
            self._only_server = found
        return self._only_server

    def _release_server(self, server_id, request_id=None):
        if not hasattr(self, "_only_server"):
            release(self, server_id, request_id=request_id)

    LLMServerClient._acquire_server, LLMServerClient._release_server = _acquire_server, _release_server


def apply() -> None:
    """Apply all of them to this process."""
    register_rollout()
    register_sglang()
    prepare_training_workers()
    do_not_pin_memory()
    fuse_log_probs()
    keep_to_the_only_server()
