"""Tests of the gateway use the stores under test of the archive, a PostgreSQL server among them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "archive"))


@pytest.fixture(scope="session", autouse=True)
def servers() -> Iterator[None]:
    """The PostgreSQL server is started once, and stopped at the end if it was."""
    yield
    from postgres_server import stop

    stop()
