"""The pool of processes: ordered results, bounded reading ahead, dead workers."""

import multiprocessing
import os
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from plimsoll.bulk.pool import AHEAD, in_order
from plimsoll.errors import UserError


@dataclass(frozen=True)
class Deadly:
    """A job that ends its worker until it was retried often enough."""

    number: int
    deaths_left: int = 0

    def run(self) -> int:
        if self.deaths_left:
            os._exit(9)
        return self.number


def run(job: Deadly) -> int:
    return job.run()


def refuse(path: str) -> str:
    return Path(path).read_text("utf-8")


def after_death(job: Deadly) -> Deadly:
    return replace(job, deaths_left=job.deaths_left - 1)


def test_a_dead_worker_is_replaced_and_the_results_keep_their_order():
    jobs = [Deadly(number, deaths_left=2 if number == 5 else 0) for number in range(20)]
    assert list(in_order(run, jobs, 2, after_death)) == list(range(20))
    assert multiprocessing.active_children() == []


def test_a_dead_worker_without_a_way_to_retry_is_a_sentence():
    with pytest.raises(UserError, match="exit code 9, probably because memory ran out"):
        list(in_order(run, [Deadly(0), Deadly(1, deaths_left=1)], 2))


def test_an_error_of_the_function_reaches_the_caller(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        list(in_order(refuse, [str(tmp_path / "missing")] * 3, 2))


def test_only_a_few_jobs_are_read_ahead_and_closing_ends_the_workers():
    taken: list[int] = []

    def jobs():
        for number in range(1_000):
            taken.append(number)
            yield Deadly(number)

    results = in_order(run, jobs(), 2)
    assert [next(results) for _ in range(10)] == list(range(10))
    assert len(taken) <= 10 + AHEAD * 2 + 1
    workers = multiprocessing.active_children()
    assert len(workers) == 2
    results.close()
    assert not any(worker.is_alive() for worker in workers)
