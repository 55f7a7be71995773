"""Tests of real clients: a skip is a failure here, and the run ends with one line of results."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from peer_results import Result, Results

_RESULT = "peer result"  # the property of a report; it also comes from worker processes


class Collector:
    """Counts outcomes and keeps results where the reports of all tests arrive."""

    def __init__(self) -> None:
        self.results, self.outcomes = Results(), Counter[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One phase of a test has ended."""
        if report.when == "call" or report.failed:
            self.outcomes[report.outcome] += 1
        if report.when == "call" and report.passed:
            for name, value in report.user_properties:
                if name == _RESULT and isinstance(value, dict):
                    self.results.add(Result(**value))


class SkipsFail:
    """Turns a skip into a failure, also outside this folder: machines that run these tests have the programs."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        """The report of one phase of a test."""
        report: pytest.TestReport = yield
        if report.skipped:
            report.outcome = "failed"
            report.longrepr = f"skipped, which counts as a failure here: {report.longrepr}"
        return report


_COLLECTOR = pytest.StashKey[Collector]()


def pytest_configure(config: pytest.Config) -> None:
    """Begin with no results; a worker process sends its own to the process that started it."""
    config.pluginmanager.register(SkipsFail())
    if not hasattr(config, "workerinput"):
        config.stash[_COLLECTOR] = Collector()
        config.pluginmanager.register(config.stash[_COLLECTOR])


@pytest.fixture
def keep_result(record_property: Callable[[str, object], None]) -> Callable[[Result], None]:
    """Keeps what a test measured, if it passes."""
    return lambda result: record_property(_RESULT, result.as_json())


def pytest_unconfigure(config: pytest.Config) -> None:
    """Print a line to copy, after everything that pytest prints."""
    collector = config.stash.get(_COLLECTOR, None)
    if collector and collector.outcomes:
        print(collector.results.line(collector.outcomes))
