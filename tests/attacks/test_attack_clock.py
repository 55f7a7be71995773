"""A clock that is set back must not grant a minute's requests twice."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from archive_driver import STORES, Driver

from plimsoll.archive.keys import KeyLimits

LIMIT = 6


@pytest.fixture(params=STORES)
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Driver]:
    driver = Driver(tmp_path, request.param)
    limits = KeyLimits(requests_per_minute=LIMIT)
    driver.run_store(lambda store: store.keys.add("4f9c2a71", "laptop", b"x" * 32, limits))
    yield driver
    driver.close()


def granted(archive: Driver) -> int:
    """All that this minute still grants."""
    shares = iter(
        lambda: archive.run_store(lambda store: store.keys.reserve_requests("4f9c2a71", LIMIT, 2)).requests, 0
    )
    return sum(shares)


@pytest.mark.parametrize("seconds", [60, 180, 3_600])
def test_a_clock_that_is_set_back_grants_nothing_more_in_the_same_minute(
    archive: Driver, seconds: int
) -> None:
    assert granted(archive) == LIMIT
    archive.clock.now -= seconds
    assert granted(archive) == 0


def test_after_the_clock_was_set_back_the_next_minute_is_granted_as_usual(archive: Driver) -> None:
    assert granted(archive) == LIMIT
    archive.clock.now -= 3_600
    assert granted(archive) == 0
    archive.clock.now += 60
    assert granted(archive) == LIMIT
