"""Plant faults in the modules that everything rests on, and tell which ones the fast tests do not notice.

    python tests/long/mutants.py                     # all parts; about an hour on two cores (make mutants)
    python tests/long/mutants.py statistics reward   # these alone; minutes
    python tests/long/mutants.py hard --texts        # and the faults in messages that nobody noticed

mutmut plants the faults (envs/mutants.txt), one at a time, inside functions: another operator, number or constant, an
argument left out, a condition that always holds. It leaves alone what is decorated (properties) or stands outside
functions. Messages are left alone, too; where a fault changes the words of one all the same it is counted apart. Each
fault meets the tests of its part that call the changed function, in a copy of the package under build/mutants and
without the real benchmark data.

Ends with status 1 where less than LEAST of a part's faults are noticed. Some faults change nothing that could be
noticed (`<` for `<=` where both cannot be equal), so not every one that is left asks for a test.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / "build" / "mutants"
TOOL = REPOSITORY / "build" / "mutmut"  # where `make mutants` installs envs/mutants.txt, apart from what is locked
LEAST = 0.9
SHOWN = 60  # characters on either side of a change

EVALUATOR = (
    "unit/test_evaluator_commonsense.py",
    "unit/test_evaluator_hard.py",
    "unit/test_evaluator_strict.py",
    "unit/test_evaluator_verdict.py",
    "unit/test_evaluator_failures.py",
    "parity/test_against_reference.py",
)
# Part: (its modules under planner_r1, the files under tests that are about them).
PARTS = {
    "statistics": (["paper/statistics.py"], ["unit/test_paper_statistics.py"]),
    "advantages": (
        ["training/advantage_rules.py", "training/advantages/*.py"],
        ["unit/test_advantage_rules.py", "unit/test_algorithms.py", "unit/test_planpo.py"],
    ),
    "checkpoints": (["training/checkpoints.py"], ["unit/test_verl_checkpoints.py"]),
    "reward": (["reward.py"], ["unit/test_reward.py"]),
    "scoring": (["scoring.py"], ["unit/test_scoring.py", "unit/test_score_validations.py"]),
    "reading": (["evaluator/reading.py", "evaluator/case.py"], ["unit/test_evaluator_reading.py", *EVALUATOR]),
    "commonsense": (["evaluator/commonsense.py"], EVALUATOR),
    "hard": (["evaluator/hard.py"], EVALUATOR),
    "strict": (["evaluator/strict.py"], EVALUATOR),
    "verdict": ([f"evaluator/{name}.py" for name in ("judge", "rates", "verdict", "holes", "failures")], EVALUATOR),
}
# Lines that hold a message and no more.
MESSAGES = [r'return f".*"$', r'return "\w+ .*"$', r"raise \w+\("]

# A test that fails has said all it can: hypothesis need not look for a smaller example, and draws the same ones always.
CONFTEST = """
settings.register_profile("mutants", deadline=None, derandomize=True, database=None, phases=("explicit", "generate"))
settings.load_profile("mutants")
"""


@dataclass(frozen=True)
class Fault:
    module: str
    function: str
    change: str  # the line, with what goes and what comes
    text: bool  # changes nothing but the words of a message
    status: str  # "noticed", "not noticed", or "not tried"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=f"one of {', '.join(PARTS)}; all, if none is named")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--texts", action="store_true", help="show the faults in messages, too")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown part: {', '.join(sorted(unknown))}; known are {', '.join(PARTS)}")
    enough = [tell(part, plant(part, options.processes), options.texts) for part in options.parts or PARTS]
    sys.exit(0 if all(enough) else 1)


def plant(part: str, processes: int) -> list[Fault]:
    """Try all faults of a part."""
    modules, tests = PARTS[part]
    folder = BUILD / part
    shutil.rmtree(folder, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(REPOSITORY / "workflow", folder / "src", ignore=ignored)
    shutil.copytree(REPOSITORY / "tests", folder / "tests", ignore=ignored)
    shutil.copytree(REPOSITORY / "config", folder / "config")  # the algorithms' files
    with open(folder / "tests" / "conftest.py", "a", encoding="utf-8") as file:
        file.write(CONFTEST)
    settings = {
        "source_paths": ["src"],
        "only_mutate": [f"src/planner_r1/{module}" for module in modules],
        "do_not_mutate_patterns": MESSAGES,
        "also_copy": ["config"],
        "pytest_add_cli_args": ["-p", "no:cacheprovider"],
        "pytest_add_cli_args_test_selection": [f"tests/{test}" for test in tests],
        "timeout_multiplier": 2.0,  # a fault that makes the tests take four times their time is noticed
        "timeout_constant": 5.0,
    }
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    (folder / "pyproject.toml").write_text(f"{project}\n[tool.mutmut]\n{lines}", encoding="utf-8")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(TOOL)}
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(processes)]
    with open(folder / "mutmut.log", "wb") as log:
        done = subprocess.run(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"{folder / 'mutmut.log'}: mutmut failed on part {part}; its last lines say why")
    return faults(folder / "mutants" / "src" / "planner_r1")


def faults(package: Path) -> list[Fault]:
    """The faults of a package, from what mutmut noted beside its modules."""
    return [fault for meta in sorted(package.rglob("*.py.meta")) for fault in _of_module(meta, package)]


def _of_module(meta: Path, package: Path) -> Iterator[Fault]:
    path = meta.with_suffix("")  # the module with all its faults in, each in a copy of the function it is in
    codes = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for key, code in codes.items():
        name = key.rpartition(".")[2]
        plain = name.partition("__mutmut_")[0]
        before, after = functions[f"{plain}__mutmut_orig"], functions[name]
        shown = plain.removeprefix("x_").removeprefix("xǁ")
        before.name = after.name = shown.rpartition("ǁ")[2]
        status = {0: "not noticed", 33: "not noticed", None: "not tried"}.get(code, "noticed")
        yield Fault(
            str(path.relative_to(package)),
            shown.replace("ǁ", "."),
            _change(ast.unparse(before), ast.unparse(after)),
            _wordless(before) == _wordless(after),
            status,
        )


def _change(before: str, after: str) -> str:
    """The line that changes, with what goes and what comes between brackets."""
    start = _alike(before, after)
    end = _alike(before[:start:-1], after[:start:-1])
    line, rest = before[:start].rpartition("\n")[2].lstrip(), before[len(before) - end :].partition("\n")[0]
    return f"{line[-SHOWN:]}[{before[start : len(before) - end]} -> {after[start : len(after) - end]}]{rest[:SHOWN]}"


def _alike(first: str, second: str) -> int:
    """How many characters they have in common from the start on."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(first), len(second)))


def _wordless(function: ast.FunctionDef) -> str:
    return ast.dump(Wordless().visit(ast.parse(ast.unparse(function))))


class Wordless(ast.NodeTransformer):
    """Takes messages out: texts with a value in them or of three words and more, and what an exception is told. And how
    a file is written: its encoding (UTF-8 by default where the tests run) and its indentation."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return ast.Constant("")

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("") if isinstance(node.value, str) and len(node.value.split()) > 2 else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.keywords = [keyword for keyword in node.keywords if keyword.arg not in ("encoding", "indent")]
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return ast.Raise(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)


def tell(part: str, faults: list[Fault], texts: bool) -> bool:
    """Print what came of a part's faults; whether enough of them were noticed."""
    for fault in faults:
        if fault.status != "noticed" and (texts or not fault.text):
            print(f"{fault.module}: {fault.function} ({fault.status}{', text' if fault.text else ''}): {fault.change}")
    for module in sorted({fault.module for fault in faults}):
        code, text = ([f for f in faults if f.module == module and f.text == text] for text in (False, True))
        print(f"{module}: {_count(code)}; texts: {_count(text)}")
    told = [fault for fault in faults if not fault.text]
    print(f"{part}: {_count(told)}", flush=True)
    return sum(fault.status == "noticed" for fault in told) >= LEAST * len(told)


def _count(faults: list[Fault]) -> str:
    noticed = sum(fault.status == "noticed" for fault in faults)
    return f"{noticed} of {len(faults)} noticed" + (f" ({noticed / len(faults):.1%})" if faults else "")


if __name__ == "__main__":
    main()
