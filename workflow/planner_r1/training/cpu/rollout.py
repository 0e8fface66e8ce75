"""The rollout back end `hf_cpu` of verl: a transformers model generating on the CPU.

Three roles, as verl has them for every back end:

- `RolloutServer`, a Ray actor: tokens in, tokens out, on the engine of `engine.py`;
- `CpuReplica`, which launches the server, and which verl's server manager talks to;
- `ServerAdapter`, in each training worker: hands the trainer's weights to the server.
"""

import asyncio
import os
import sys
import threading
import traceback
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np
import ray
import torch
from verl.utils.config import omega_conf_to_dataclass
from verl.workers.config import HFModelConfig, RolloutConfig
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, TokenOutput

from planner_r1.training.cpu.engine import Engine, Request
from planner_r1.training.cpu.sampling import SamplingParameters

# The engine's thread gives up the interpreter lock around every torch call. By default it would then wait up to 5 ms
# for it whenever the event loop is busy with requests, which is as long as generating a token for every row.
SWITCH_INTERVAL_SECONDS = 0.0005


class EngineFailed(RuntimeError):
    """The engine's thread ended with an exception; the message holds its traceback."""


class RolloutServer:
    """Serves one model. All methods but the engine's thread run in the actor's event loop.

    Args:
        config: verl's rollout configuration. `max_num_seqs` is the number of conversations kept, `seed` the seed.
        model_config: verl's model configuration (path, tokenizer, configuration of the model).
        replica_rank: number of this replica; replicas draw different random numbers.
    """

    def __init__(self, config: RolloutConfig, model_config: Any, replica_rank: int):
        from transformers import AutoModelForCausalLM

        # Decoding a small model is many small products, for which a second thread costs more than it brings.
        torch.set_num_threads(1)
        sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
        model_config = omega_conf_to_dataclass(model_config, dataclass_type=HFModelConfig)
        self._response_length = config.response_length
        self._max_length = config.max_model_len or config.prompt_length + config.response_length
        self._model = AutoModelForCausalLM.from_pretrained(
            model_config.local_path,
            dtype=getattr(torch, config.dtype),
            trust_remote_code=model_config.trust_remote_code,
        )
        self._engine = Engine(
            self._model,
            _end_tokens(model_config),
            slots=config.max_num_seqs,
            max_length=self._max_length,
            seed=(config.seed or 0) + replica_rank,
        )
        self._global_steps: int | None = None
        self._names_received: set[str] = set()
        self._failure: str | None = None
        self._arrived: deque[Request] = deque()  # appending and popping are atomic: no lock needed
        self._wake = threading.Event()
        self._unfinished: dict[Request, asyncio.Future] = {}
        self._idle, self._admitting = asyncio.Event(), asyncio.Event()
        self._idle.set()
        self._admitting.set()
        self._rejecting = False

    async def ready(self) -> str:
        """Start the engine's thread; returns a name for the server."""
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._generate_forever, name="engine", daemon=True).start()
        return f"hf_cpu-{os.getpid()}"

    # ---- generation -----------------------------------------------------------------------------------------------

    async def generate(
        self, prompt_ids: list[int], sampling_params: dict[str, Any], request_id: str, **extra
    ) -> TokenOutput:
        """Continue a list of tokens.

        Args:
            prompt_ids: the whole conversation so far.
            sampling_params: see `SamplingParameters.from_dict`. Without `max_tokens` the output may be as long as the
                rollout's response length, and in any case only as long as the model's length leaves room for.
            request_id: unused: conversations are recognised by their tokens.
            extra: other back ends' inputs (images, ...); must be None.

        Raises:
            ValueError: for sampling parameters or inputs that the engine does not honour, or a prompt that is too long.
            EngineFailed: the engine has failed, in this request or an earlier one.
        """
        given = sorted(key for key, value in extra.items() if value is not None)
        if given:
            raise ValueError(f"the CPU rollout engine generates from text only; it was given {given}")
        parameters = SamplingParameters.from_dict(sampling_params)
        room = self._max_length - len(prompt_ids)
        if not prompt_ids or room < 1:
            raise ValueError(f"a prompt of {len(prompt_ids)} tokens does not fit a model length of {self._max_length}")
        while not self._admitting.is_set():
            if self._rejecting:
                return self._output([], [] if parameters.logprobs else None, "aborted", 0)
            await self._admitting.wait()
        self._raise_if_failed()
        request = Request(
            prompt=np.asarray(prompt_ids, dtype=np.int64),
            parameters=parameters,
            max_tokens=min(parameters.max_tokens or self._response_length, room),
            done=self._finish_from_engine,
        )
        self._unfinished[request] = self._loop.create_future()
        self._idle.clear()
        self._arrived.append(request)
        self._wake.set()
        await self._unfinished[request]
        reason = "aborted" if request.aborted else "completed"
        return self._output(request.tokens, request.log_probs if parameters.logprobs else None, reason, request.cached)

    def _output(self, tokens: list[int], log_probs: list[float] | None, reason: str, cached: int) -> TokenOutput:
        return TokenOutput(
            token_ids=tokens,
            log_probs=log_probs,
            stop_reason=reason,
            num_preempted=0,
            extra_fields={"global_steps": self._global_steps, "num_cached_tokens": cached},
        )

    def _finish(self, requests: Iterable[Request], failure: str | None = None) -> None:
        """In the event loop: answer these requests."""
        for request in requests:
            future = self._unfinished.pop(request)
            if future.done():  # its caller has gone
                continue
            if failure:
                future.set_exception(EngineFailed(failure))
            else:
                future.set_result(None)
        if not self._unfinished:
            self._idle.set()

    # ---- the engine's thread --------------------------------------------------------------------------------------

    def _finish_from_engine(self, request: Request) -> None:
        self._finished.append(request)

    def _generate_forever(self) -> None:
        self._finished: list[Request] = []
        waiting: deque[Request] = deque()
        try:
            while True:
                if not waiting and not self._engine.active:
                    self._wake.wait()
                self._wake.clear()
                while self._arrived:
                    waiting.append(self._arrived.popleft())
                self._engine.step(waiting)
                if self._finished:  # one hop to the event loop a step, not one a request
                    self._loop.call_soon_threadsafe(self._finish, self._finished)
                    self._finished = []
        except BaseException:
            failure = traceback.format_exc()
            print(f"rollout engine failed\n{failure}", file=sys.stderr, flush=True)
            self._loop.call_soon_threadsafe(self._fail, failure)

    def _fail(self, failure: str) -> None:
        """In the event loop: answer everybody who waits, and everybody who comes later, with the failure."""
        self._failure = failure
        self._finish(list(self._unfinished), failure)
        self._rejecting = False
        self._admitting.set()

    def _raise_if_failed(self) -> None:
        if self._failure:
            raise EngineFailed(f"the rollout engine failed:\n{self._failure}")

    # ---- weights --------------------------------------------------------------------------------------------------

    async def load_weights(self, weights: dict[str, torch.Tensor], global_steps: int | None, last: bool) -> None:
        """Take one bucket of weights, by the names of the model's state. Requests in progress are finished first, new
        ones wait from the first bucket to the last.

        Raises:
            KeyError: for a name that the model does not have.
            ValueError: for another shape, or when the last bucket has come and a weight of the model is missing.
            EngineFailed: the engine has failed before.
        """
        self._admitting.clear()
        await self._idle.wait()
        self._raise_if_failed()
        state = self._model.state_dict()
        for name, value in weights.items():
            if name not in state:
                raise KeyError(f"the trainer sent the weight {name}, which the rollout's model does not have")
            if state[name].shape != value.shape:
                raise ValueError(f"the trainer's {name} is {tuple(value.shape)}, not {tuple(state[name].shape)}")
            state[name].copy_(value)
        self._names_received.update(weights)
        if not last:
            return
        # Tied weights come under one of their names.
        received = {state[name].data_ptr() for name in self._names_received}
        missing = sorted(name for name, value in state.items() if value.data_ptr() not in received)
        if missing:
            raise ValueError(f"the weight update lacked {missing}")
        self._names_received.clear()
        if global_steps is not None:
            self._global_steps = global_steps
        self._engine.weights_changed(self._global_steps or 0)
        self._admitting.set()

    # ---- control --------------------------------------------------------------------------------------------------

    async def wait_for_requests_to_drain(self) -> None:
        """Return when no request is in progress."""
        await self._idle.wait()

    async def abort_all_requests(self, reject_request: bool = False) -> dict[str, Any]:
        """End all requests with what they have; hold back, or refuse, new ones until `resume_generation`."""
        self._admitting.clear()
        self._rejecting = reject_request
        aborted = list(self._unfinished)
        for request in aborted:
            request.aborted = True  # seen by the engine's thread at its next step
        self._wake.set()
        await self._idle.wait()
        return {"aborted_count": len(aborted), "request_ids": []}

    async def resume_generation(self) -> None:
        """Take requests again."""
        self._raise_if_failed()
        self._rejecting = False
        self._admitting.set()

    async def sleep(self) -> None:
        """verl frees accelerator memory here; on the CPU there is none to free."""
        await self._idle.wait()
        self._raise_if_failed()

    async def wake_up(self, tags: list[str] | None = None) -> None:
        self._raise_if_failed()

    async def clear_kv_cache(self) -> None:
        """Forget all keys and values."""
        await self._idle.wait()
        self._engine.weights_changed(self._global_steps or 0)

    async def release_kv_cache(self) -> None:
        """Nothing to release: the memory is the host's."""

    async def resume_kv_cache(self) -> None:
        """Nothing was released."""

    async def start_profile(self, **_options) -> None:
        """No profiler."""

    async def stop_profile(self) -> None:
        """No profiler."""

    async def statistics(self) -> dict[str, int]:
        """The engine's counters, see `engine.Statistics`."""
        return vars(self._engine.statistics).copy()


def _end_tokens(model_config: HFModelConfig) -> set[int]:
    """Token ids that end a turn, by the model's configuration and its generation configuration."""
    found: set[int] = set()
    for config in (model_config.hf_config, model_config.generation_config):
        ids = getattr(config, "eos_token_id", None)
        found.update(ids if isinstance(ids, list) else [] if ids is None else [ids])
    return found


def _server_name(replica_rank: int, prefix: str = "", suffix: str = "") -> str:
    return f"hf_cpu_server_{prefix}{replica_rank}{suffix}"


class CpuReplica(RolloutReplica):
    """One rollout server, as verl's server manager sees it."""

    async def launch_servers(self) -> None:
        """Start the server's process and wait until it has loaded the model."""
        prefix = "reward_" if self.is_reward_model else "teacher_" if self.is_teacher_model else ""
        server = (
            ray.remote(RolloutServer)
            .options(
                name=_server_name(self.replica_rank, prefix, self.name_suffix),
                num_cpus=0,  # the trainer waits while the rollout computes: no core of its own
                max_concurrency=self.max_concurrency,
            )
            .remote(self.config, self.model_config, self.replica_rank)
        )
        self.servers = [server]
        self._server_handle = server
        self._server_address = await server.ready.remote()

    def rollout_worker_use_gpu(self) -> bool:
        return False


class ServerAdapter(BaseRollout):
    """Lives in each training worker. The first worker of a replica passes the weights on to its server."""

    def __init__(self, config, model_config, device_mesh, replica_rank: int = -1):
        super().__init__(config, model_config, device_mesh)
        rank = int(os.environ["RANK"])
        workers_a_replica = (
            self.config.tensor_model_parallel_size
            * self.config.data_parallel_size
            * self.config.pipeline_model_parallel_size
        )
        self._replica_rank = rank // workers_a_replica if replica_rank == -1 else replica_rank
        self._leads = rank % workers_a_replica == 0
        self._handle = None

    @property
    def _server(self):
        if self._handle is None:  # the server starts after the training workers
            self._handle = ray.get_actor(_server_name(self._replica_rank))
        return self._handle

    async def resume(self, tags: list[str]) -> None:
        if self._leads:
            await self._server.wake_up.remote(tags=tags)

    async def release(self) -> None:
        if self._leads:
            await self._server.sleep.remote()

    @torch.no_grad()
    async def update_weights(
        self, weights, wire_format: str = "named_tensors", global_steps: int | None = None, **_unused
    ) -> None:
        """Send the weights, in buckets of at most `checkpoint_engine.update_weights_bucket_megabytes`."""
        if wire_format != "named_tensors":
            raise ValueError(f"the CPU rollout back end takes named tensors, not {wire_format}")
        limit = self.config.checkpoint_engine.update_weights_bucket_megabytes << 20
        bucket: dict[str, torch.Tensor] = {}
        size = 0
        for name, weight in weights:  # every worker goes through all of them: gathering the shards is collective
            if not self._leads:
                continue
            if bucket and size + weight.nbytes > limit:
                await self._server.load_weights.remote(bucket, None, last=False)
                bucket, size = {}, 0
            bucket[name] = weight.detach().cpu().clone()
            size += weight.nbytes
        if self._leads:
            await self._server.load_weights.remote(bucket, global_steps, last=True)
