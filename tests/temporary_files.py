"""Temporary files of the suite are in memory where the machine has room for them.

Archives and configuration files are written with fsync. On a disk each call takes milliseconds, and the suite makes
tens of thousands. No test cuts the power: what a killed process wrote is there afterwards on either kind of file
system. A `TMPDIR` that you set yourself is used as it is.

The folder of a test that passed is emptied and stays: pytest would give the name of a removed one to the next test,
and whatever was remembered of that path (imported modules, a schema of a database) would be found there.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = "/dev/shm"
ROOM = 4 << 30  # bytes; one run leaves up to 0.6 GB behind before its end, most of it in one archive


def _has_room(folder: str) -> bool:
    try:
        facts = os.statvfs(folder)
    except OSError:  # not Linux
        return False
    # Tests run programs that they write, which some containers forbid there.
    return facts.f_bavail * facts.f_frsize >= ROOM and not facts.f_flag & os.ST_NOEXEC


_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the folder before anybody asks for one; worker processes inherit it."""
    if "TMPDIR" not in os.environ and _has_room(MEMORY):
        os.environ["TMPDIR"] = tempfile.tempdir = MEMORY


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Remember whether a test failed."""
    report = yield
    item.stash[_FAILED] = item.stash.get(_FAILED, False) or report.failed
    return report


@pytest.fixture
def tmp_path(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """pytest's own, emptied where the test passed."""
    yield tmp_path
    if not request.node.stash.get(_FAILED, False):
        for one in tmp_path.iterdir():
            if one.is_dir() and not one.is_symlink():
                shutil.rmtree(one, ignore_errors=True)
            else:
                one.unlink(missing_ok=True)
