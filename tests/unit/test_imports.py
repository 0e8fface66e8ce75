"""The environment can be used from any trainer: it brings in none itself."""

import subprocess
import sys

from planner_r1.paper.artefacts import ARTEFACTS

HEAVY = ("torch", "ray", "verl", "transformers", "snakemake", "pandas")
LIGHT = ("sandbox.tools", "sandbox.builder", "sandbox.synthetic", "plan", "evaluator", "reward", "queries", "scoring")
LIGHT += ("agent.oracle", "agent.prompt", "agent.query_generator", "agent.trajectories", "study", "cli")
LIGHT += (
    "ood.suites",
    "ood.answers",
    "ood.scores",
    "paper.make",
    *(known.import_name.removeprefix("planner_r1.") for known in ARTEFACTS),
)


def test_the_environment_imports_no_trainer():
    program = "import sys\n" + "".join(f"import planner_r1.{module}\n" for module in LIGHT)
    program += f"print(*(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
