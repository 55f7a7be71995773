"""MCP servers as sources of tools, against a real server over its pipes and over HTTP."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolkit import call, place, until, yes

from plimsoll.settings.tools import McpServerSettings
from plimsoll.tools import ApprovalAnswer, ToolBox
from plimsoll.tools.mcp import McpServers
from plimsoll.tools.mcp.naming import tool_names
from plimsoll.tools.process import descendants
from ports import free_port

SCRIPT = str(Path(__file__).with_name("mcp_server_script.py"))


def stdio(**more):
    return McpServerSettings(command=sys.executable, args=[SCRIPT], **more)


def conversation(tmp_path, settings, talk, environ=None, gone=True, here=None):
    """Talk with servers, then make sure that those are gone that were started for it."""
    before = descendants(os.getpid())

    async def main():
        context = here or place(tmp_path)
        async with McpServers(settings, environ if environ is not None else os.environ) as servers:
            box = ToolBox(await servers.tools())

            async def ask(name, approve=None, **arguments):
                return (await box.run_all([call(name, **arguments)], approve, context)).outcomes[0].result

            return await talk(ask, servers, box)

    found = asyncio.run(main())
    if gone:
        until(lambda: descendants(os.getpid()) <= before)
    return found


def test_tools_of_a_program_are_listed_called_and_mapped(tmp_path):
    async def talk(ask, servers, box):
        assert servers.problems == {}
        names = [tool.name for tool in box]
        assert names == sorted(names)
        assert "mcp_demo_add" in names
        assert "mcp_demo_odd_name_with_spaces" in names
        assert box.get("mcp_demo_add").definition.description == "Add two numbers."
        assert (await ask("mcp_demo_add", a=1, b=2)).text == "3"
        assert "'a' is a required property" in (await ask("mcp_demo_add", b=2)).text
        assert (await ask("mcp_demo_fail")).text == "Error: no such thing"
        assert (await ask("mcp_demo_fail")).is_error
        picture = await ask("mcp_demo_picture")
        assert picture.parts[0]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
        assert (await ask("mcp_demo_mixed")).text == "one\n[file:///a.txt]\ntwo\n[three, file:///b.txt]"
        assert (await ask("mcp_demo_structured")).text == '{"a": [2], "b": 1}'
        assert (await ask("mcp_demo_odd_name_with_spaces")).text == "value-from-outside"

    settings = {"demo": stdio(env={"SOME_TOKEN": "${OUTER_TOKEN}"})}
    conversation(tmp_path, settings, talk, {**os.environ, "OUTER_TOKEN": "value-from-outside"})


def test_a_server_inherits_no_keys_and_destructive_tools_ask(tmp_path):
    async def talk(ask, servers, box):
        assert (await ask("mcp_demo_odd_name_with_spaces", token="OPENAI_API_KEY")).text == "unset"
        assert "was not run because it is marked as destructive" in (await ask("mcp_demo_wipe")).text
        assert (await ask("mcp_demo_wipe", approve=yes)).text == "wiped"

    os.environ["OPENAI_API_KEY"] = "sk-not-for-servers"
    try:
        conversation(tmp_path, {"demo": stdio()}, talk)
    finally:
        del os.environ["OPENAI_API_KEY"]


def test_a_plan_runs_a_tool_of_a_server_only_if_the_server_calls_it_read_only_and_the_user_allows_it(
    tmp_path,
):
    marker = tmp_path / "marker"
    marker.touch()
    asked = []

    async def allow(question):
        asked.append(question.reason)
        return ApprovalAnswer(True)

    async def talk(ask, servers, box):
        here.edits.mode = "plan"
        unasked = await ask("mcp_demo_die_once", marker=str(marker))
        assert "was not run because it is read-only only according to the MCP server 'demo'" in unasked.text
        assert (await ask("mcp_demo_die_once", approve=allow, marker=str(marker))).text == "alive"
        for name, arguments in (("mcp_demo_add", {"a": 1, "b": 2}), ("mcp_demo_wipe", {})):
            assert "the user wants a plan first" in (await ask(name, approve=allow, **arguments)).text
        assert asked == ["is read-only only according to the MCP server 'demo'"]

    here = place(tmp_path)
    conversation(tmp_path, {"demo": stdio()}, talk, here=here)


def test_a_server_that_dies_in_a_call_is_an_error_and_the_next_call_starts_it_again(tmp_path):
    async def talk(ask, servers, box):
        died = await ask("mcp_demo_die")
        assert died.is_error
        assert "the MCP server 'demo' ended during the call" in died.text
        assert "The effect of the call is unknown" in died.text
        assert "goodbye with [key]" in died.text
        assert (await ask("mcp_demo_add", a=1, b=1)).text == "2"
        # Killed while nobody looks: the next call does not even notice.
        first = int((await ask("mcp_demo_pid")).text)
        os.kill(first, signal.SIGKILL)
        while box.get("mcp_demo_pid")._connection.is_open:
            await asyncio.sleep(0.01)
        assert int((await ask("mcp_demo_pid")).text) != first
        # A tool that only reads is called again by itself.
        assert (await ask("mcp_demo_die_once", marker=str(tmp_path / "marker"))).text == "alive"

    conversation(tmp_path, {"demo": stdio(env={"X": "secret-value-123"})}, talk)


@pytest.mark.slow
def test_a_call_that_takes_too_long_is_an_error_and_a_cancelled_one_an_answer(tmp_path, monkeypatch):
    async def talk(ask, servers, box):
        with monkeypatch.context() as patch:  # the start of the server may take longer
            patch.setattr(box.get("mcp_demo_slow")._connection, "_settings", stdio(timeout=0.5))
            assert (
                await ask("mcp_demo_slow")
            ).text == "Error: the MCP server 'demo' did not answer within 0.5 s"
        task = asyncio.ensure_future(box.run_all([call("mcp_demo_slow")], None, place(tmp_path)))
        await asyncio.sleep(0.1)
        task.cancel()
        assert (await task).outcomes[0].result.text == "[cancelled by the user]"
        assert (await ask("mcp_demo_add", a=2, b=2)).text == "4"

    conversation(tmp_path, {"demo": stdio()}, talk)


def test_servers_that_cannot_be_reached_are_problems_and_cost_nobody_else_their_tools(tmp_path):
    port = free_port()
    settings = {
        "absent": McpServerSettings(command="no-such-program-anywhere"),
        "babbling": McpServerSettings(command="sh", args=["-c", "echo hello; cat > /dev/null"], timeout=2.0),
        "closed": McpServerSettings(url=f"http://127.0.0.1:{port}/mcp"),
        "ends": McpServerSettings(command="sh", args=["-c", "echo no licence >&2; exit 1"]),
        "off": McpServerSettings(command="no-such-program-anywhere", enabled=False),
        "unset": McpServerSettings(command="cat", env={"A": "${NOT_SET_ANYWHERE}"}),
        "working": stdio(),
    }

    async def talk(ask, servers, box):
        assert (await ask("mcp_working_add", a=1, b=2)).text == "3"
        return servers.problems, [tool.name for tool in box]

    problems, names = conversation(tmp_path, settings, talk)
    assert {name.split("_")[1] for name in names} == {"working"}
    assert sorted(problems) == ["absent", "babbling", "closed", "ends", "unset"]
    assert "does not start (FileNotFoundError" in problems["absent"]
    assert "did not answer within 2 s" in problems["babbling"]
    assert "ConnectError" in problems["closed"]
    assert "no licence" in problems["ends"]
    assert "mcp_servers.unset.env.A names ${NOT_SET_ANYWHERE}, which is not set" in problems["unset"]


@pytest.fixture
def http_server():
    """A server over HTTP; called with nothing it starts (again) on the same port."""
    port = free_port()
    started = []

    def start():
        process = subprocess.Popen(
            [sys.executable, SCRIPT, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        started.append(process)

        def answers():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        until(answers)
        return process

    yield start, f"http://127.0.0.1:{port}/mcp"
    for process in started:
        process.kill()
        process.wait()


def test_a_server_over_http_is_called_and_reached_again_after_it_was_started_anew(tmp_path, http_server):
    start, url = http_server
    process = start()

    async def talk(ask, servers, box):
        assert servers.problems == {}
        assert (await ask("mcp_web_add", a=1, b=2)).text == "3"
        process.kill()
        process.wait()
        down = await ask("mcp_web_add", a=1, b=2)
        assert down.is_error
        assert "the MCP server 'web'" in down.text
        assert "Bearer" not in down.text
        start()
        assert (await ask("mcp_web_add", a=2, b=2)).text == "4"
        assert "ended during the call" in (await ask("mcp_web_die")).text

    conversation(
        tmp_path,
        {"web": McpServerSettings(url=url, headers={"Authorization": "Bearer abcdef"})},
        talk,
        gone=False,
    )


NAMES = st.text(min_size=1, max_size=80)


@given(st.lists(st.tuples(NAMES, NAMES), unique=True, max_size=8), st.randoms())
def test_names_are_legal_different_and_the_same_in_any_order(originals, random):
    names = tool_names(originals)
    assert len(set(names.values())) == len(originals)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names.values())
    shuffled = list(originals)
    random.shuffle(shuffled)
    assert tool_names(shuffled) == names


def test_names_that_would_be_alike_are_distinguished():
    names = tool_names([("a b", "c"), ("a.b", "c"), ("a", "x")])
    assert names["a", "x"] == "mcp_a_x"
    assert len(set(names.values())) == 3
