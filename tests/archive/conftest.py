"""An archive for each test, in each kind of store."""

from collections.abc import Iterator
from pathlib import Path

import postgres_server
import pytest
from archive_driver import STORES, Driver


@pytest.fixture(params=STORES)
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Driver]:
    driver = Driver(tmp_path, request.param)
    yield driver
    assert driver.check() == []
    driver.close()


@pytest.fixture(scope="session", autouse=True)
def servers() -> Iterator[None]:
    """Whatever was started is stopped."""
    yield
    postgres_server.stop()
