"""The real embedded model for tests: fetched once into `.local`, served by one process at a time.

    embedded_home    the home folder that holds its file
    small_model      a running server with a window of 1,024 tokens, for the tests of one module

Tests that use them are slow. The machine may have two cores, so a lock keeps
servers of parallel suites apart, and one worker runs these tests. A run of the
whole suite downloads the file while other tests run.
"""

import asyncio
import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from plimsoll.errors import LocalModelError
from plimsoll.providers.local import LocalServer, can_serve, fetch_model, model_path

HOME = Path(__file__).parent.parent / ".local"
WINDOW = 1_024
_DOWNLOAD = pytest.StashKey[subprocess.Popen[bytes]]()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin the download with the first of all tests."""
    is_whole_suite = session.config.args_source is pytest.Config.ArgsSource.TESTPATHS
    is_worker = hasattr(session.config, "workerinput")
    if is_whole_suite and not is_worker and can_serve() and not model_path(HOME).is_file():
        session.config.stash[_DOWNLOAD] = subprocess.Popen([sys.executable, __file__])


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave no download behind."""
    if download := session.config.stash.get(_DOWNLOAD, None):
        download.terminate()
        download.wait()


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker runs all of these tests, one after the other: the lock keeps none of the others waiting."""
    for item in items:
        if "embedded_home" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("embedded model"))


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Hold a lock that all workers share."""
    HOME.mkdir(exist_ok=True)
    with (HOME / name).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def embedded_home() -> Path:
    """The folder to use as PLIMSOLL_HOME for the embedded model; its file is there."""
    if not can_serve():
        pytest.skip("the embedded model needs xllamacpp")
    try:
        with alone("fetch.lock"):
            asyncio.run(fetch_model(HOME))
    except LocalModelError as error:
        pytest.skip(f"no embedded model: {error}")
    return HOME


@pytest.fixture(scope="module")
def small_model(embedded_home: Path) -> Iterator[LocalServer]:
    """A running server of the embedded model."""
    with alone("server.lock"):
        server = asyncio.run(LocalServer.start(model_path(embedded_home), context_length=WINDOW))
        try:
            yield server
        finally:
            server.stop()


if __name__ == "__main__":
    with alone("fetch.lock"), suppress(LocalModelError):  # the fixture tries again and says why it failed
        asyncio.run(fetch_model(HOME))
