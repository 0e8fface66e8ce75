"""Where kernels go that are compiled at their first use."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

CACHES = ("FLASHINFER_WORKSPACE_BASE", "TVM_FFI_CACHE_DIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")


def cache_variables() -> dict[str, str]:
    """Environment variables that keep compiled kernels on each node's own disk, from run to run.

    By default they go to the home folder, where the nodes of a run would write the same files at once: a guess, no run
    has shown it. A site's own values win.
    """
    folder = Path(tempfile.gettempdir()) / f"planner-r1-kernels-{os.getuid()}"
    return {name: str(folder / name.lower()) for name in CACHES}
