"""Which tools a session of the gateway has is the operator's word, and nobody waits for an approval."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from session_client import Sessions, serving

from plimsoll.testing.scripted_server import ScriptedServer, call, say

SCRIPT = Path(__file__).parents[1] / "tools" / "mcp_server_script.py"
MACHINE = ["terminal", "read_file", "write_file", "patch", "search_files"]


def offered(server: ScriptedServer) -> list[str]:
    """The tools that the model was told of, without the conversation's own."""
    body = server.requests[-1].body
    assert body is not None
    names = [tool["function"]["name"] for tool in body.get("tools") or []]
    return [name for name in names if name != "recall"]


def result_of(sessions: Sessions, id: str) -> str:
    (found,) = [message["content"] for message in sessions.log(id) if message["role"] == "tool"]
    return str(found)


def test_by_default_no_tool_works_on_the_machine(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("the harbour's own")
    script = [call("read_file", path=str(tmp_path / "secret.txt")), say("I cannot read it.")]
    with ScriptedServer(script) as server, serving(server, tmp_path) as sessions:
        id = sessions.begin()
        assert sessions.say(id, "What does it say?").json()["text"] == "I cannot read it."
        assert offered(server) == []
        assert "read_file" in result_of(sessions, id)
        assert "harbour" not in result_of(sessions, id)


@pytest.mark.parametrize(
    "tools", [["read_file"], ["search_files", "read_file"], MACHINE], ids=["one", "two", "all"]
)
def test_sessions_have_the_tools_that_are_named_in_the_usual_order(tools: list[str], tmp_path: Path) -> None:
    with (
        ScriptedServer([say("Hello.")]) as server,
        serving(server, tmp_path, gateway={"sessions": {"tools": tools}}) as sessions,
    ):
        sessions.say(sessions.begin(), "Hello?")
        assert offered(server) == [name for name in MACHINE if name in tools]


@pytest.mark.parametrize(("tools", "has_it"), [(["mcp", "plugins"], True), (["plugins"], False)])
def test_tools_of_servers_can_be_left_out(tools: list[str], has_it: bool, tmp_path: Path) -> None:
    servers = {"demo": {"command": sys.executable, "args": [str(SCRIPT)]}}
    with (
        ScriptedServer([say("Hello.")]) as server,
        serving(server, tmp_path, gateway={"sessions": {"tools": tools}}, mcp_servers=servers) as sessions,
    ):
        sessions.say(sessions.begin(), "Hello?")
        assert any(name.startswith("mcp_demo") for name in offered(server)) == has_it


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_command_that_changes_something_is_refused_at_once_with_the_setting(
    stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / "build").mkdir(parents=True)
    monkeypatch.chdir(project)
    (tmp_path / "approvals.json").write_text(
        json.dumps({str(project): ["rm"]}), "utf-8"
    )  # of somebody's chat
    on: dict[str, Any] = {"sessions": {"tools": ["terminal"]}}
    script = [call("terminal", command="rm -r build"), say("I left it alone.")]
    with ScriptedServer(script) as server, serving(server, tmp_path, gateway=on) as sessions:
        id = sessions.begin()
        if stream:
            assert sessions.stream(id, "Tidy up.")[-1][0] == "done"
        else:
            assert sessions.say(id, "Tidy up.").json()["text"] == "I left it alone."
        told = result_of(sessions, id)
    assert (project / "build").is_dir()
    assert "runs `rm`, which is not known to be read-only" in told
    assert "tools.terminal.allow" in told


def test_an_ordinary_command_runs_where_the_terminal_is_switched_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = [call("terminal", command="echo seven"), say("Seven.")]
    with (
        ScriptedServer(script) as server,
        serving(server, tmp_path, gateway={"sessions": {"tools": ["terminal"]}}) as sessions,
    ):
        id = sessions.begin()
        sessions.say(id, "How many?")
        assert "seven" in result_of(sessions, id)
