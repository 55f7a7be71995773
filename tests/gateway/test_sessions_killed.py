"""Two gateways on one PostgreSQL, one of them killed again and again: nothing is lost, doubled or stuck."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def bench_is_importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "archive"))
    yield
    server = sys.modules.get("postgres_server")
    if server is not None:
        server.stop()


@pytest.mark.slow
@pytest.mark.rewrites_history("sessions are answered, compacted and taken over by several processes")
def test_nothing_is_lost_doubled_interleaved_or_stuck_when_gateways_are_killed() -> None:
    from gateway_kill import Plan, run

    plan = Plan(seconds=20.0, sessions=5, clients=6)
    report = run(plan)
    assert report.faults(plan.lease) == []
    assert report.kills >= 2
    assert report.answered == report.messages > 0
