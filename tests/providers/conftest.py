"""Both dialects, whole replies and streams, and a sleep that takes no time."""

import pytest
from client_runs import Mode, Waits, completed, streamed


@pytest.fixture(params=["openai", "anthropic"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[completed, streamed])
def mode(request: pytest.FixtureRequest) -> Mode:
    found: Mode = request.param
    return found


@pytest.fixture
def waits() -> Waits:
    return Waits()
