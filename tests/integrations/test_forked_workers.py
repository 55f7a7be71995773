"""An adapter that was created before a server forked its workers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
