"""The CPU as a platform of verl (`verl.plugin.platform`): what verl asks an accelerator, answered for the processor."""

import resource
from contextlib import contextmanager
from types import SimpleNamespace

import psutil
import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry


def _resident_bytes(*_device) -> int:
    return psutil.Process().memory_info().rss


def _peak_resident_bytes(*_device) -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in KiB


def _free_and_total_bytes(*_device) -> tuple[int, int]:
    memory = psutil.virtual_memory()
    return memory.available, memory.total


def _nothing(*_arguments) -> None:
    return None


def _device_module() -> SimpleNamespace:
    """What verl uses of `torch.cuda`. Memory is that of the process, so it includes Python and its libraries."""
    return SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 1,
        current_device=lambda: torch.device("cpu"),
        set_device=_nothing,
        synchronize=_nothing,
        empty_cache=_nothing,
        ipc_collect=_nothing,
        memory_allocated=_resident_bytes,
        memory_reserved=_resident_bytes,
        max_memory_allocated=_peak_resident_bytes,
        max_memory_reserved=_peak_resident_bytes,
        reset_peak_memory_stats=_nothing,
        mem_get_info=_free_and_total_bytes,
        get_device_name=lambda *_: "CPU",
        get_device_properties=lambda *_: SimpleNamespace(name="CPU", total_memory=psutil.virtual_memory().total),
        get_rng_state=torch.get_rng_state,
        set_rng_state=torch.set_rng_state,
        manual_seed=torch.manual_seed,
        manual_seed_all=torch.manual_seed,
        set_per_process_memory_fraction=_nothing,
        Stream=torch.cpu.Stream,
        Event=torch.cpu.Event,
        stream=torch.cpu.stream,
        current_stream=torch.cpu.current_stream,
    )


@PlatformRegistry.register(platform="cpu")
class CpuPlatform(PlatformBase):
    """One logical device: the processor. Each training rank is a process of its own that computes on it."""

    _module = _device_module()
    device_name = "cpu"
    vendor_name = "cpu"

    @property
    def device_module(self):
        return self._module

    def is_available(self) -> bool:
        return True

    def current_device(self) -> torch.device:
        return torch.device("cpu")

    def device_count(self) -> int:
        return 1

    def set_device(self, device_index) -> None:
        pass

    def synchronize(self, device_index=None) -> None:
        pass

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        pass

    def empty_cache(self) -> None:
        pass

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str):
        yield

    def profiler_start(self) -> None:
        pass

    def profiler_stop(self) -> None:
        pass

    def ray_resource_name(self) -> str:
        # verl books one accelerator a training rank with Ray. Ray is started with as many logical GPUs as ranks.
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        return []

    def is_ipc_supported(self) -> bool:
        return False

    def cudart(self) -> None:
        return None
