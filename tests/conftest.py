"""What the tests share: where the real data lies, and small worlds."""

import base64
import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from helpers.small_world import write_small_world
from planner_r1 import cli
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store

REPOSITORY = Path(__file__).resolve().parents[1]

# Machines differ in speed and may be busy; and a change is judged by its own faults, not by what chance draws today.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


SHARED_DATA = REPOSITORY.parent / "shared" / "data"
NO_SHARED_DATA = "needs the real benchmark data in ../shared/data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real benchmark data beside the checkout; a test that needs it is skipped without it."""
    if not SHARED_DATA.is_dir():
        pytest.skip(NO_SHARED_DATA)
    return SHARED_DATA


def pytest_terminal_summary(terminalreporter):
    """Say in one line how much a run without the real benchmark data left out."""
    skipped = [report for report in terminalreporter.stats.get("skipped", ()) if NO_SHARED_DATA in str(report.longrepr)]
    if skipped:
        terminalreporter.write_line(f"{len(skipped)} tests skipped: they need ../shared/data (the real benchmark data)")


@pytest.fixture(scope="session")
def small_database(tmp_path_factory) -> Path:
    """The hand-made world of five cities, as a database folder."""
    return write_small_world(tmp_path_factory.mktemp("small") / "database")


@pytest.fixture(scope="session")
def small_store(small_database, tmp_path_factory) -> Store:
    """The hand-made world of five cities, as a store."""
    return _store(small_database, tmp_path_factory)


@pytest.fixture(scope="session")
def real_store(shared_data, tmp_path_factory) -> Store:
    """The real tables, with their subset of flights, as a store."""
    return _store(shared_data / "travelplanner" / "database", tmp_path_factory)


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Runs a command line and returns (exit status, standard output, standard error)."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["planner-r1", *map(str, arguments)])
        status = 0
        try:
            cli.main()
        except SystemExit as end:
            status = end.code or 0
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture(scope="session")
def qwen():
    """Qwen's own byte-pair ranks, as the package dashscope carries them."""
    tiktoken = pytest.importorskip("tiktoken")
    package = importlib.util.find_spec("dashscope")
    if package is None:
        pytest.skip("needs the package dashscope, which carries Qwen's tokenizer")
    (ranks_file,) = Path(package.origin).parent.rglob("qwen.tiktoken")
    lines = ranks_file.read_bytes().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}
    pattern = r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"""
    pattern += r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    return tiktoken.Encoding("qwen", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def _store(database: Path, tmp_path_factory) -> Store:
    folder = tmp_path_factory.mktemp("store") / "store"
    build(database, folder)
    return Store.open(folder)
