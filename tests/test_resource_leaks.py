"""The suite fails where a test leaves a resource open: each kind is leaked on purpose, in a suite of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
INI = "[pytest]\naddopts = -q -p no:cacheprovider -p resource_leaks\nfilterwarnings = error\n"
OPENED = """
import asyncio, gc, socket, sqlite3, subprocess, sys, threading
from pathlib import Path

class Cycle:
    def __init__(self, held):
        self.held, self.itself = held, self

async def forever():
    await asyncio.Event().wait()

def server():
    loop = asyncio.new_event_loop()
    return loop.run_until_complete(asyncio.start_server(lambda *_: None, "127.0.0.1", 0)), loop.close()

def destroy_a_task():
    loop = asyncio.new_event_loop()
    loop.create_task(forever())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()

"""
LEAKS = {
    "connection": "sqlite3.connect(':memory:')",
    "connection in a cycle": "Cycle(sqlite3.connect(':memory:'))",
    "file": "Path(__file__).open()",
    "file in a cycle": "Cycle(Path(__file__).open())",
    "socket": "socket.socket()",
    "server": "server()",
    "event loop": "asyncio.new_event_loop()",
    "process": "subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE).stdin.close()",
    "coroutine": "forever()",
    "task": "destroy_a_task()",
    "thread that fails": "t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()",
}
CLOSED = """
def test_everything_is_closed():
    sqlite3.connect(':memory:').close()
    Path(__file__).open().close()
    socket.socket().close()
    asyncio.run(asyncio.sleep(0))
    subprocess.run([sys.executable, '-c', ''])
"""


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest says about one test for each leak, and one that leaks nothing."""
    folder = tmp_path_factory.mktemp("leaking")
    (folder / "pytest.ini").write_text(INI, "utf-8")
    leaking = (
        f"def test_{name.replace(' ', '_')}():\n    {leak}\n\ndef test_behind_{name.replace(' ', '_')}(): pass\n"
        for name, leak in LEAKS.items()
    )
    (folder / "test_leaks.py").write_text(OPENED + "\n".join(leaking) + CLOSED, "utf-8")
    command = [sys.executable, "-m", "pytest", "-rpfE", "--tb=no", str(folder)]
    done = subprocess.run(command, cwd=folder, env={"PYTHONPATH": str(TESTS)}, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", LEAKS)
def test_a_test_that_leaves_something_open_fails_and_the_next_one_does_not(output: str, name: str) -> None:
    def told(test: str) -> set[str]:
        ends = (line.partition(" - ")[0].split(maxsplit=1) for line in output.splitlines())
        return {end[0] for end in ends if len(end) == 2 and end[1].endswith(f"::{test}")}

    assert told(f"test_{name.replace(' ', '_')}") & {"FAILED", "ERROR"}
    assert told(f"test_behind_{name.replace(' ', '_')}") == {"PASSED"}


def test_a_test_that_closes_everything_passes(output: str) -> None:
    assert "PASSED test_leaks.py::test_everything_is_closed" in output
