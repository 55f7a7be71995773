"""The session store for the Claude Agent SDK, with the real SDK and its `claude` program."""

from pathlib import Path

import pytest
from cases import DRIVERS, PEERS
from processes import run_client
from recipes import read_recipes
from script import answer

from plimsoll.messages import text_of
from plimsoll.testing.scripted_server import ScriptedServer

PAGE = DRIVERS.parents[2] / "docs" / "integrations.md"
QUESTIONS = [f"ship{number}: where does it lie?" for number in range(4)]


@pytest.fixture(autouse=True)
def every_request_extends_the_one_before() -> None:
    """Instead of the suite's check: the program sends side requests."""
    return


def test_a_session_in_the_archive_has_every_line_and_is_resumed_from_there(tmp_path: Path) -> None:
    peer = PEERS["adapter-claude-agent"]
    assert peer.is_installed, f"{peer.name} is not installed; run `make peers`"
    with ScriptedServer(answer, model="claude-opus-5", window=200_000) as server:
        task = {
            "url": server.url,
            "model": "claude-opus-5",
            "questions": QUESTIONS,
            "code": read_recipes(page=PAGE)["Claude Agent SDK"].code,
        }
        command = [str(peer.python), str(DRIVERS / "adapter_claude_agent.py")]
        done = run_client(command, task, tmp_path / "client", {})
    assert done["answers"] == [f"ship{number} lies at pier {number + 3}." for number in range(4)]
    assert [question for question in QUESTIONS if question not in done["stored"]] == []
    last = [one.request for one in server.requests if one.request and one.request.tools][-1]
    said = "\n".join(map(text_of, last.messages))
    assert [question for question in QUESTIONS if question not in said] == []
