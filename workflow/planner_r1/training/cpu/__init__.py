"""verl on a machine without an accelerator: a platform, a rollout back end, and attention for training.

`VERL_USE_EXTERNAL_MODULES=planner_r1.training.cpu` has verl import this module in each of its processes. It sets

- the platform `cpu` (`platform.py`),
- the rollout back end `hf_cpu` (`rollout.py`, on `engine.py`),
- the training engine `fsdp2` for the CPU (`training_engine.py`), and its attention `verl_cpu_causal` (`attention.py`),
- the patches of `patches.py`.

Modules that only some of the processes need are imported there, for the sake of the start-up time.
"""

from verl.plugin.platform import set_platform

from planner_r1.training.cpu import patches
from planner_r1.training.cpu.platform import CpuPlatform

# Before any module of verl asks for the device's name and keeps it.
set_platform(CpuPlatform())
patches.apply()

from planner_r1.training.cpu import attention  # noqa: E402

attention.register()
