"""Temporary files of the suite are in memory where the machine has room for them.

Archives and configuration files are written with fsync. On a disk each call takes milliseconds, and the suite makes
tens of thousands. No test cuts the power: what a killed process wrote is there afterwards on either kind of file
system. A `TMPDIR` that you set yourself is used as it is.
"""

import os
import tempfile

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


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the folder before anybody asks for one; worker processes inherit it."""
    if "TMPDIR" not in os.environ and _has_room(MEMORY):
        os.environ["TMPDIR"] = tempfile.tempdir = MEMORY
