"""An archive for each test, in each kind of store."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from archive_driver import STORES, Driver


@pytest.fixture(params=STORES)
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Driver]:
    driver = Driver(tmp_path, request.param)
    yield driver
    assert driver.check() == []
    driver.close()
