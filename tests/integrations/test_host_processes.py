"""Adapters in a host's process: forked workers, and errors of the host's own functions."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ships import SYSTEM, conversation

from plimsoll.archive import CompactionEvent
from plimsoll.integrations import ChatCodec, HistoryCompactor

HERE = Path(__file__).parent
WORKER = """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # threads exist when the process forks, as in a real server
from ships import SYSTEM, conversation
from plimsoll.integrations import ChatCodec, HistoryCompactor

history = HistoryCompactor(window=6_000, protect_last_n=4, archive=sys.argv[1])
log = conversation(24)
before = history.view(ChatCodec(), log, system=[SYSTEM])
worker = os.fork()
again = history.view(ChatCodec(), log, system=[SYSTEM])
assert again.changed and again.canonical == before.canonical
if worker == 0:
    history.close()
    os._exit(0)
_, status = os.waitpid(worker, 0)
history.close()
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_an_adapter_works_in_the_workers_that_a_server_forks(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WORKER, str(tmp_path / "archive.db")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_an_error_of_on_compaction_is_logged_and_costs_no_request(caplog: pytest.LogCaptureFixture) -> None:
    def fails(_event: CompactionEvent) -> None:
        raise ValueError("no connection to the metrics server")

    history = HistoryCompactor(window=6_000, protect_last_n=4, on_compaction=fails)
    with history, caplog.at_level(logging.ERROR, "plimsoll"):
        view = history.view(ChatCodec(), conversation(24), system=[SYSTEM])
    assert view.compacted
    assert "no connection to the metrics server" in caplog.text
