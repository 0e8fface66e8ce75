"""The plug-in as verl loads it: what it registers, and that the pinned verl needs and fits each patch."""

import asyncio
import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import verl.utils.distributed as distributed
import verl.utils.fsdp_utils as fsdp_utils
import verl.utils.torch_functional as torch_functional
from verl.plugin.platform import PlatformBase, get_platform
from verl.utils.device import get_device_name, get_torch_device
from verl.utils.import_utils import load_extern_object
from verl.workers.rollout import base, replica
from verl.workers.rollout.base import get_rollout_class
from verl.workers.rollout.llm_server import LLMServerClient
from verl.workers.rollout.replica import RolloutReplica, get_rollout_replica_class
from verl.workers.rollout.router import GlobalRequestLoadBalancer

import planner_r1.training.cpu  # noqa: F401  registers everything
from planner_r1.training.cpu import replay_buffer, rollout
from planner_r1.training.cpu.replay_buffer import FastReplayBuffer


def source_of(module) -> str:
    """The module as it is on disk, whatever was replaced in the process."""
    return Path(module.__file__).read_text()


def test_a_process_of_verl_is_on_the_cpu_without_a_warning():
    program = "import verl, verl.utils.device as d; print(d.get_device_name(), d.get_nccl_backend())"
    environment = os.environ | {"VERL_USE_EXTERNAL_MODULES": "planner_r1.training.cpu"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "cpu gloo"
    assert "No supported accelerator" not in done.stderr
    assert "already-initialised" not in done.stderr


def test_the_platform_answers_everything_that_verl_asks():
    platform = get_platform()
    assert platform.device_name == get_device_name() == "cpu"
    assert not getattr(type(platform), "__abstractmethods__", None)
    for name in PlatformBase.__abstractmethods__:
        getattr(platform, name)
    device = get_torch_device()
    # The kernel keeps the two counts apart, and neither to the page.
    assert 0 < device.memory_allocated() < 1.1 * device.max_memory_allocated()
    free, total = device.mem_get_info()
    assert 0 < free <= total
    assert torch.zeros(2, device=platform.current_device()).device.type == "cpu"
    with platform.nvtx_range("nothing"):
        pass


def test_verl_finds_the_rollout_back_end():
    assert get_rollout_replica_class("hf_cpu") is rollout.CpuReplica
    assert get_rollout_class("hf_cpu", "async") is rollout.ServerAdapter


def test_the_server_answers_every_call_of_a_replica():
    called = {
        "wake_up",
        "sleep",
        "abort_all_requests",
        "resume_generation",
        "clear_kv_cache",
        "release_kv_cache",
        "resume_kv_cache",
        "start_profile",
        "stop_profile",
    }
    for name in called:
        # verl still calls it on each server; should it call others, they are seen by the next line.
        assert f"server.{name}.remote(" in inspect.getsource(RolloutReplica)
        assert inspect.iscoroutinefunction(getattr(rollout.RolloutServer, name))
    assert inspect.getsource(RolloutReplica).count("in self.servers") == len(called)


def test_torch_refuses_the_backend_that_verl_would_ask_for(monkeypatch):
    assert 'backend or f"cpu:gloo,{get_device_name()}:{get_nccl_backend()}"' in source_of(distributed)
    with pytest.raises(ValueError, match="Duplicate device type"):
        torch.distributed.BackendConfig(torch.distributed.Backend("cpu:gloo,cpu:gloo"))
    asked = []
    monkeypatch.setattr(torch.distributed, "init_process_group", lambda **settings: asked.append(settings["backend"]))
    distributed.initialize_global_process_group_ray()
    assert asked == ["cpu:gloo"]


def test_verl_would_pin_memory_which_needs_an_accelerator():
    import verl.workers.engine.fsdp.transformer_impl as transformer_impl

    assert "CPUOffloadPolicy(pin_memory=True)" in source_of(transformer_impl)
    with pytest.raises(RuntimeError):
        torch.zeros(1).pin_memory()
    policy = transformer_impl.CPUOffloadPolicy(pin_memory=True)
    assert isinstance(policy, fsdp_utils.CPUOffloadPolicy)
    assert policy.pin_memory is False


def test_verls_log_probs_loop_over_tokens_and_ours_are_the_same():
    on_disk = source_of(torch_functional)
    assert "torch.stack([torch.logsumexp(logit, dim=-1) for logit in logits])" in on_disk
    generator = torch.Generator().manual_seed(0)
    for shape in [(50, 30), (4, 9, 30)]:
        logits = (torch.randn(shape, generator=generator) * 3).requires_grad_()
        labels = torch.randint(30, shape[:-1], generator=generator)
        weights = torch.randn(shape[:-1], generator=generator)
        # The function that verl's engine calls takes the replaced one where no CUDA kernel is installed.
        found = torch_functional.logprobs_from_logits(logits, labels)
        expected = logits.log_softmax(-1).gather(-1, labels[..., None])[..., 0]
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)
        (gradient,) = torch.autograd.grad((found * weights).sum(), logits, retain_graph=True)
        (expected_gradient,) = torch.autograd.grad((expected * weights).sum(), logits)
        torch.testing.assert_close(gradient, expected_gradient, atol=1e-6, rtol=1e-5)


class LoadBalancer:
    """Stands in for verl's actor; counts the calls that would go to another process."""

    def __init__(self, servers):
        self.balancer = GlobalRequestLoadBalancer(servers)
        self.calls = []

    def __getattr__(self, name):
        def call(*arguments, **named):
            self.calls.append(name)
            answer = getattr(self.balancer, name)(*arguments, **named)
            done = asyncio.get_running_loop().create_future()
            done.set_result(answer)
            return done

        return SimpleNamespace(remote=call)


@pytest.mark.parametrize("servers", [1, 2])
def test_the_only_server_is_asked_for_once_and_several_are_balanced(servers):
    async def turns():
        balancer = LoadBalancer({f"server{i}": object() for i in range(servers)})
        client = LLMServerClient(config=None, load_balancer_handle=balancer)
        used = []
        for turn in range(10):
            server, handle = await client._acquire_server(f"request{turn}", prompt_ids=[1])
            assert handle is balancer.balancer._servers[server]
            used.append(server)
            client._release_server(server, request_id=f"request{turn}")
        assert set(used) == set(balancer.balancer._servers)
        return balancer

    balancer = asyncio.run(turns())
    assert balancer.calls.count("acquire_server") == (1 if servers == 1 else 10)
    assert balancer.balancer.get_total_inflight() == 0


def make_buffer(buffer_class=FastReplayBuffer):
    return buffer_class(
        trainer_mode="sync",
        trainer_config={},
        max_off_policy_threshold=None,
        max_off_policy_strategy="drop",
        sampler_kwargs={},
        refill_fn=None,
    )


def keys_in_queue(status):
    prompt = {"is_prompt": True, "global_steps": 3, "status": status}
    return {"train": {"a": prompt, "a_0_0": {"status": "success", "seq_len": 5}}}


def test_verl_loads_the_replay_buffer_by_its_path(monkeypatch):
    loaded = load_extern_object(replay_buffer.__file__, "FastReplayBuffer")
    assert loaded.__name__ == "FastReplayBuffer"
    assert make_buffer(loaded).poll_interval < 0.2
    assert "poll_interval: float = 2.0" in source_of(sys.modules["verl.trainer.ppo.v1.replay_buffer"])


def test_the_replay_buffer_gives_finished_episodes_and_stops_at_failed_ones(monkeypatch):
    import transfer_queue

    queue = keys_in_queue("finished")
    monkeypatch.setattr(transfer_queue, "kv_list", lambda: queue)
    monkeypatch.setattr(transfer_queue, "kv_clear", lambda **_: None)
    batch, _ = make_buffer().sample(global_steps=3, partition_id="train", batch_size=1)
    assert batch.keys == ["a_0_0"]
    queue = keys_in_queue("failure")
    with pytest.raises(RuntimeError, match=r"\b1 .*\braised\b"):
        make_buffer().sample(global_steps=3, partition_id="train", batch_size=1)


def test_verls_own_rollout_by_sglang_takes_a_gpu_for_granted():
    """It takes away what tells sglang that there is none."""
    assert 'del os.environ["SGLANG_USE_CPU_ENGINE"]' in source_of(replica)
    assert replica.RolloutReplicaRegistry._registry["sglang"] is not replica._load_sglang
    assert base._ROLLOUT_REGISTRY["sglang", "async"].startswith("planner_r1.")
