"""Attacks run against real gateways and archives, with the servers and clients of their tests."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

for folder in ("gateway", "archive", "lcm", "tools"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))


@pytest.fixture(scope="session", autouse=True)
def databases() -> Iterator[None]:
    """A PostgreSQL server that was started is stopped."""
    yield
    import postgres_server

    postgres_server.stop()
