"""What the tests share: where the real data lies, and small worlds."""

from pathlib import Path

import pytest

from helpers.small_world import write_small_world
from planner_r1.sandbox.builder import build
from planner_r1.sandbox.store import Store

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real benchmark data beside the checkout; a test that needs it is skipped without it."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the real benchmark data in {folder}")
    return folder


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


def _store(database: Path, tmp_path_factory) -> Store:
    folder = tmp_path_factory.mktemp("store") / "store"
    build(database, folder)
    return Store.open(folder)
