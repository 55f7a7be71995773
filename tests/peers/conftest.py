"""Tests of real clients: a skip is a failure here, and the run ends with one line of results."""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from peer_results import Results

_RESULTS = pytest.StashKey[Results]()
_OUTCOMES = pytest.StashKey[Counter[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Begin with no results."""
    config.stash[_RESULTS], config.stash[_OUTCOMES] = Results(), Counter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Turn a skip into a failure: whoever runs these tests wants to know about every client."""
    report: pytest.TestReport = yield
    if report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped, which counts as a failure here: {report.longrepr}"
    if report.when == "call" or report.failed:
        item.config.stash[_OUTCOMES][report.outcome] += 1
    return report


@pytest.fixture
def results(pytestconfig: pytest.Config) -> Results:
    """Where a test leaves what it measured."""
    return pytestconfig.stash[_RESULTS]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Print the line that goes into notes, behind everything that pytest prints."""
    if config.stash.get(_OUTCOMES, None):
        print(config.stash[_RESULTS].line(config.stash[_OUTCOMES]))


@pytest.fixture(autouse=True)
def every_request_extends_the_one_before() -> None:
    """Nothing: clients rewrite their histories as they like, and tell models how full their windows are."""
