"""Built-in engines in worker processes: the same results, whatever becomes of a process."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from plimsoll.agent import Workers
from plimsoll.agent.compaction_record import CompactionResult
from plimsoll.agent.engine_host import EngineHost
from plimsoll.agent.workers import ENGINES, NotReady, WorkerDied
from plimsoll.context import ContextCompressor
from plimsoll.context.lcm import LcmEngine
from plimsoll.gateway.dropin.body_reader import MODULE
from plimsoll.messages import Message

WINDOW = 8_000


def conversation(turns: int = 220) -> list[Message]:
    messages: list[Message] = [{"role": "system", "content": "You are a harbour pilot."}]
    for number in range(turns):
        messages += [
            {
                "role": "user",
                "content": f"Look at berth {number} in docs/berth_{number}.md and tell its depth.",
            },
            {
                "role": "assistant",
                "content": f"Berth {number} is {number * 7} feet deep. " + "It is calm. " * 40,
            },
        ]
    return messages


@pytest.fixture
def workers() -> Iterator[Workers]:
    pool = Workers(1)
    yield pool
    pool.close()


class Writer:
    """A summary model of this process; `before` happens each time that it is asked."""

    context_length = 100_000

    def __init__(self, before=lambda: None) -> None:
        self.before, self.processes = before, []

    def summarize(self, prompt: str, max_tokens: int) -> str:
        self.processes.append(os.getpid())
        self.before()
        return "## Goal\nTell the depth of every berth.\n"


def compressed(engine: ContextCompressor, workers: Workers | None, view: list[Message]) -> list[Message]:
    host = EngineHost(engine)
    host.workers = workers
    lighter, report = asyncio.run(host.compress(engine, view, 60, current_tokens=None))
    assert report is not None
    assert report.outcome == "compacted"
    found = asyncio.run(host.assessed(CompactionResult(lighter, report, 0.0), view, "openai", 60))
    judged = found.assessment
    assert judged is not None
    assert judged.refused == ""
    assert judged.after < judged.before
    return lighter


@pytest.mark.parametrize("kind", [ContextCompressor, LcmEngine])
def test_an_engine_gives_the_same_in_a_worker_as_in_a_thread_twice_in_a_row(workers: Workers, kind) -> None:
    # Enough for a worker in the second round too: smaller ones stay in a thread.
    here, there = (kind(context_length=WINDOW, summarizer=Writer()) for _ in range(2))
    view, seen = conversation(), conversation()
    for _ in range(2):
        view, seen = compressed(here, None, view), compressed(there, workers, seen)
        assert seen == view
        more = conversation(400)[-360:]
        view, seen = [*view, *more], [*seen, *more]
    assert set(there.summarizer.processes) == {os.getpid()}  # what has connections stays here


@pytest.mark.parametrize("kind", [ContextCompressor, LcmEngine])
def test_a_preview_in_a_worker_shows_the_same_as_in_a_thread_and_stores_nothing(
    workers: Workers, kind
) -> None:
    here, there = (EngineHost(kind(context_length=WINDOW)) for _ in range(2))
    there.workers = workers
    previews = [host.draft(host.engine, conversation(), ask=False, keep=False)[0] for host in (here, there)]
    assert workers.processes
    assert previews[0] == previews[1] != conversation()
    if isinstance(there.engine, LcmEngine):
        assert there.engine.store.nodes() == []


def test_messages_that_stay_are_the_same_objects(workers: Workers) -> None:
    view = conversation()
    lighter = compressed(ContextCompressor(context_length=WINDOW), workers, view)
    assert lighter[-1] is view[-1]
    assert sum(any(one is old for old in view) for one in lighter) >= len(lighter) - 2


def test_nothing_is_started_before_it_is_needed_and_nothing_is_left_at_the_end() -> None:
    pool = Workers(2)
    assert pool.processes == []
    compressed(ContextCompressor(context_length=WINDOW), pool, conversation())
    (pid,) = pool.processes
    assert psutil.pid_exists(pid)
    pool.close()
    assert not psutil.pid_exists(pid)


def test_a_job_whose_process_is_killed_is_run_again_in_another(workers: Workers) -> None:
    killed: list[int] = []

    def kill() -> None:
        if not killed:
            killed.extend(workers.processes)
            os.kill(killed[0], signal.SIGKILL)

    lighter = compressed(
        ContextCompressor(context_length=WINDOW, summarizer=Writer(kill)), workers, conversation()
    )
    here = ContextCompressor(context_length=WINDOW, summarizer=Writer())
    assert lighter == compressed(here, None, conversation())
    assert workers.processes != killed
    assert not psutil.pid_exists(killed[0])  # nor is it left as a zombie


def test_a_job_that_no_process_survives_is_given_up_and_the_next_one_runs(workers: Workers) -> None:
    def kill() -> None:
        os.kill(workers.processes[0], signal.SIGKILL)

    engine = ContextCompressor(context_length=WINDOW, summarizer=Writer(kill))
    host = EngineHost(engine)
    host.workers = workers
    with pytest.raises(WorkerDied, match="2 worker processes died"):
        asyncio.run(host.compress(engine, conversation(), 60))
    assert compressed(ContextCompressor(context_length=WINDOW), workers, conversation())


def test_a_process_that_was_killed_while_idle_is_replaced(workers: Workers) -> None:
    assert workers.run(os.getppid) == os.getpid()
    (pid,) = workers.processes
    os.kill(pid, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=20)
    assert workers.run(os.getpid) != pid
    assert not psutil.pid_exists(pid)


def test_a_job_that_takes_too_long_is_ended() -> None:
    pool = Workers(1, job_seconds=0.5)
    with pytest.raises(WorkerDied, match=r"took more than 0\.5 s"):
        pool.run(signal.pause)
    pool.close()


def test_what_a_job_raises_is_raised_here(workers: Workers) -> None:
    with pytest.raises(ZeroDivisionError):
        workers.run(divmod, 1, 0)
    assert workers.run(divmod, 7, 2) == (3, 1)


def test_what_is_printed_in_a_worker_does_not_disturb_it(workers: Workers, capfd) -> None:
    workers.run(print, "ahoy")
    assert workers.run(divmod, 7, 2) == (3, 1)


def test_a_worker_needs_no_http_client() -> None:
    modules = f"plimsoll.agent.worker, {ENGINES}, {MODULE}"
    code = f"import {modules}, sys; print([name for name in ('httpx', 'plimsoll.providers') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_worker_ends_when_its_parent_is_killed() -> None:
    program = (
        "import os, signal\n"
        "from plimsoll.agent import Workers\n"
        "pool = Workers(1)\n"
        "print(pool.run(os.getpid), flush=True)\n"
        "signal.pause()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    gone, _ = psutil.wait_procs([worker], timeout=30)
    assert gone == [worker]


def test_a_compaction_runs_while_another_one_waits_for_its_summary(workers: Workers) -> None:
    asked, goes_on = threading.Event(), threading.Event()
    went_on: list[bool] = []

    def wait() -> None:
        asked.set()
        went_on.append(goes_on.wait(60))

    with ThreadPoolExecutor(1) as other:
        waits = ContextCompressor(context_length=WINDOW, summarizer=Writer(wait))
        first = other.submit(compressed, waits, workers, conversation())
        assert asked.wait(60)
        second = compressed(ContextCompressor(context_length=WINDOW), workers, conversation())
        assert went_on == []  # the first one still waits
        goes_on.set()
        here = ContextCompressor(context_length=WINDOW, summarizer=Writer())
        assert first.result() == compressed(here, None, conversation())
    assert second == compressed(ContextCompressor(context_length=WINDOW), None, conversation())
    assert len(workers.processes) == 1


def test_a_short_job_does_not_wait_for_a_long_one() -> None:
    pool = Workers(1)
    assert pool.wait_until_ready(60)
    with ThreadPoolExecutor(1) as other:
        long = other.submit(pool.run, signal.pause)
        assert pool.run_short(iter, data=b"ab") == [97, 98]
        assert not long.done()
        pool.close()
        with pytest.raises(WorkerDied):
            long.result()


def test_short_jobs_are_refused_until_a_process_has_started() -> None:
    pool = Workers(1)
    with pytest.raises(NotReady):
        pool.run_short(iter, data=b"ab")
    assert pool.wait_until_ready(60)
    assert pool.run_short(iter, data=b"ab") == [97, 98]
    pool.close()


def test_a_result_that_cannot_be_read_here_is_no_reason_to_wait_for_ever(workers: Workers) -> None:
    unreadable = "type('T', (), {'__reduce__': lambda self: (int, ('x',))})()"
    with pytest.raises(WorkerDied):
        workers.run(eval, unreadable)
    assert workers.run(divmod, 7, 2) == (3, 1)


def test_an_engine_of_a_plugin_stays_in_a_thread(workers: Workers) -> None:
    class Foreign(ContextCompressor):
        def draft(self, *arguments, **named):
            self.ran_in = os.getpid()
            return super().draft(*arguments, **named)

    engine = Foreign(context_length=WINDOW)
    host = EngineHost(engine)
    host.workers = workers
    asyncio.run(host.compress(engine, conversation(), 60))
    assert engine.ran_in == os.getpid()
    assert workers.processes == []


def test_a_worker_whose_starter_is_gone_ends_without_a_word():
    command = [sys.executable, "-P", "-c", "from plimsoll.agent.worker import main; main()"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as worker:
        worker.stdout.close()
        worker.stdin.close()
        assert (worker.wait(60), worker.stderr.read()) == (0, b"")
