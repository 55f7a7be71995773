"""Every resource that a test opens is closed when the test ends; otherwise the test fails, on every Python version.

Python warns about unclosed files, sockets, transports, event loops, running subprocesses and coroutines that nobody
awaited, and the suite makes every warning an error. This plugin adds what that leaves out:

    reference cycles     collected after each test, so the test that leaked fails and not a later one
    SQLite connections   Python warns only from 3.13 on
    asyncio tasks        one that was destroyed while it was pending is only logged
"""

import gc
import logging
import sqlite3
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

_connect = sqlite3.connect
_left: list[str] = []  # what the plugin found since the last test


class TrackedConnection(sqlite3.Connection):
    """Warns as the connections of Python 3.13 do when nobody closed it."""

    _is_open = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._is_open = True

    def close(self) -> None:
        """Close it, and remember that."""
        super().close()
        self._is_open = False

    def __del__(self) -> None:
        if self._is_open:
            warnings.warn(f"unclosed database in {self!r}", ResourceWarning, source=self, stacklevel=1)


class AsyncioErrors(logging.Handler):
    """Keeps what asyncio can only log: tasks destroyed while pending, exceptions that nobody retrieved."""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the message."""
        _left.append(record.getMessage())


def _tracked(*arguments: Any, **options: Any) -> sqlite3.Connection:
    return _connect(*arguments, **{"factory": TrackedConnection, **options})


def pytest_configure(config: pytest.Config) -> None:
    """Watch from before the first test is collected."""
    if sys.version_info < (3, 13):
        sqlite3.connect = _tracked  # type: ignore[assignment]
    logging.getLogger("asyncio").addHandler(AsyncioErrors(logging.ERROR))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what is imported by now out of the collections, so that each is short."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def later_imports_are_left_out_too() -> Iterator[None]:
    """What a module's tests imported or cached lives to the end; without this, each collection takes longer."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def every_shared_resource_is_closed() -> Iterator[None]:
    """The same check after the fixtures that outlive a test; pytest reports it with the last one."""
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def every_resource_is_closed(every_shared_resource_is_closed: None) -> Iterator[None]:
    """Fail the test that left something open; what only warned, pytest reports by itself."""
    yield
    gc.collect()
    left, _left[:] = list(_left), []
    assert not left, "left behind:\n" + "\n".join(left)
