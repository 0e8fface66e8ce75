"""verl on a machine without an accelerator: a platform, a rollout back end, and attention for training.

`VERL_USE_EXTERNAL_MODULES=planner_r1.training.cpu` has verl import this module in each of its processes. It sets

- the platform `cpu` (`platform.py`),
- the rollout back end `hf_cpu` (`rollout.py`, on `engine.py`),
- the attention `verl_cpu_causal` for training (`attention.py`),
- the patches of `patches.py`.

Modules that only some of the processes need are imported there, for the sake of the start-up time.
"""

import os

from verl.plugin.platform import set_platform

from planner_r1.training.cpu import patches
from planner_r1.training.cpu.platform import CpuPlatform

# Before any module of verl asks for the device's name and keeps it.
set_platform(CpuPlatform())
# The FSDP engines are registered for CUDA and NPU devices only; they run on the platform's device all the same.
os.environ.setdefault("VERL_ENGINE_DEVICE", "cuda")
patches.apply()

from planner_r1.training.cpu import attention  # noqa: E402

attention.register()
