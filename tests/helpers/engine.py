"""The environment of `make engine`, for tests of the real sglang without a GPU."""

import pytest
import yaml

from helpers.checkout import REPOSITORY

FOLDER = REPOSITORY / ".venv-engine"
PYTHON = FOLDER / "bin" / "python"
ENVIRONMENT = f"venv:{FOLDER}"
needs_engine = pytest.mark.skipif(not (FOLDER / "installed").is_file(), reason="needs sglang: make engine")

# The command of the suites' server as config/studies/engine.yaml has it.
SERVER = yaml.safe_load((REPOSITORY / "config/studies/engine.yaml").read_text(encoding="utf-8"))["suites"]["server"][
    "command"
]
