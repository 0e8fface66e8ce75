"""What the tests share: where the real data lies, and small worlds."""

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real benchmark data beside the checkout; a test that needs it is skipped without it."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the real benchmark data in {folder}")
    return folder
