"""verl's own rollout by sglang without an accelerator: verl's classes, less what those take for granted.

sglang is that of `make engine` (docs/engine.md), and config/verl/cpu_sglang.yaml gives it the keys for processors.
"""

import os

import ray
import torch.multiprocessing
from sglang.srt.utils import patch_torch
from verl.workers.rollout.sglang_rollout import async_sglang_server, sglang_rollout


class ServerAdapter(sglang_rollout.ServerAdapter):
    """The training worker's side: hands the weights to the server."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        pass_tensors_by_name()


class Server(async_sglang_server.SGLangHttpServer):
    """The actor that starts sglang's processes."""

    async def launch_server(self, *arguments, **keywords):
        os.environ["SGLANG_CPU_OMP_THREADS_BIND"] = binding(self.config.tensor_model_parallel_size)
        await super().launch_server(*arguments, **keywords)


class Replica(async_sglang_server.SGLangReplica):
    """The servers of one copy of the model."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.server_class = ray.remote(Server)


def pass_tensors_by_name() -> None:
    """Hand tensors to another process as files in shared memory, which any process of this user opens by their name.

    sglang writes the UUID of a CUDA device into each handle, where a tensor of the CPU has none; and torch by itself
    would pass a file descriptor, which the receiver, no child of the sender, cannot ask for once the sender is busy.
    """
    patch_torch.monkey_patch_torch_reductions = lambda: None
    torch.multiprocessing.set_sharing_strategy("file_system")


def binding(ranks: int) -> str:
    """Which processors each rank of one copy of the model runs on, as sglang wants to read it.

    It asks for an entry a rank; unless there are as many memory nodes, it does not go on without. Only its kernels for
    the CPU, which are not installed, would bind their threads by it.
    """
    available = sorted(os.sched_getaffinity(0))
    return "|".join(str(available[rank % len(available)]) for rank in range(ranks))
