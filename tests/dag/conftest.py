"""Snakemake in a copy of the repository, with scripts that only write their outputs."""

import pytest

from helpers.checkout import Copy, copy_repository


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Copy:
    """A fresh copy in which nothing has run."""
    return copy_repository(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Copy:
    """A copy whose quick study has been run to its end by stubs. Tests put back what they edit."""
    copy = copy_repository(tmp_path_factory.mktemp("finished"))
    copy.finish_by_stubs()
    return copy
