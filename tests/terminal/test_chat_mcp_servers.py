"""`plimsoll chat` with MCP servers in its configuration: real servers, offered, called, missed and ended."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from chatting import chat, configured, environment, talked

from plimsoll.testing.scripted_server import ScriptedServer, call, say
from preloaded import PLIMSOLL, run_plimsoll

SCRIPT = Path(__file__).parents[1] / "tools" / "mcp_server_script.py"
WORKING = f"  demo: {{command: {sys.executable}, args: [{SCRIPT}]}}\n"
ENDS = '  ends: {command: sh, args: [-c, "echo no licence hunter2 >&2; exit 1"], env: {WORD: hunter2}}\n'
ABSENT = "  absent: {command: no-such-program-anywhere}\n"


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def calling(tool, **arguments):
    """A model that calls one tool and repeats what came back."""

    def answer(request):
        last = request.messages[-1]
        return say(f"It gave {last['content']}.") if last["role"] == "tool" else call(tool, **arguments)

    return answer


def offered(server):
    return [tool["function"]["name"] for tool in server.requests[0].body["tools"]]


def servers(server, *entries):
    return configured(server, "mcp_servers:\n" + "".join(entries))


def notes(done):
    return [line for line in done.stderr.splitlines() if line.startswith("note: ")]


def test_the_model_calls_a_tool_of_a_server_and_gets_its_result(home):
    with ScriptedServer(calling("mcp_demo_add", a=20, b=22)) as server:
        done = talked(home, "-q", "Add.", config=servers(server, WORKING))
        assert {"terminal", "mcp_demo_add", "mcp_demo_picture"} <= set(offered(server))
    assert done.stdout == "It gave 42.\n"
    assert "mcp_demo_add(a=20, b=22)" in done.stderr
    assert notes(done) == []


def test_a_server_ends_with_the_chat(home):
    with ScriptedServer(calling("mcp_demo_pid")) as server:
        done = talked(home, "-q", "Which process?", config=servers(server, WORKING))
    number = int(done.stdout.removeprefix("It gave ").removesuffix(".\n"))
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_servers_that_do_not_start_are_reported_with_what_to_change_and_the_others_serve(home):
    with ScriptedServer(calling("mcp_demo_add", a=1, b=2)) as server:
        done = talked(home, "-q", "Add.", config=servers(server, ENDS, WORKING, ABSENT))
    absent, ends = notes(done)
    assert done.stdout == "It gave 3.\n"
    assert "the MCP server 'absent' does not start (FileNotFoundError" in absent
    assert "without the tools of absent; correct mcp_servers.absent in config.yaml" in absent
    assert absent.endswith("or disable it with `plimsoll config set mcp_servers.absent.enabled false`.")
    assert "it says: no licence [key]. The chat continues without the tools of ends" in ends
    assert "hunter2" not in done.stderr


def test_a_chat_whose_only_server_is_broken_answers(home):
    with ScriptedServer(lambda request: say("Here I am.")) as server:
        done = talked(home, "-q", "Hello?", config=servers(server, ABSENT))
        assert "terminal" in offered(server)
        assert not any(name.startswith("mcp_") for name in offered(server))
    assert done.stdout == "Here I am.\n"
    assert len(notes(done)) == 1


def test_a_variable_that_is_not_set_is_named(home):
    entry = '  docs: {command: cat, env: {WORD: "${SOME_WORD}"}}\n'
    with ScriptedServer() as server:
        (note,) = notes(talked(home, "-q", "Hello?", config=servers(server, entry)))
    assert "mcp_servers.docs.env.WORD names ${SOME_WORD}, which is not set in the environment" in note


def test_without_the_package_one_note_says_what_to_install(home, tmp_path):
    # What Python finds when the extra is not installed.
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['mcp'] = None\n")
    with ScriptedServer() as server:
        config = servers(server, WORKING, ABSENT)
        done = talked(home, "-q", "Hello?", config=config, PYTHONPATH=str(tmp_path))
    assert notes(done) == [
        "note: MCP servers need another package: pip install '.[mcp]'. "
        "The chat continues without the tools of absent, demo."
    ]


def test_a_mistake_in_a_server_is_reported_before_anything_is_started(home):
    with ScriptedServer() as server:
        done = chat(home, "-q", "Hello?", config=servers(server, "  docs: {comand: x}\n"))
        assert server.requests == []
    assert done.returncode == 2
    assert "mcp_servers.docs.comand is not a setting. Did you mean mcp_servers.docs.command?" in done.stderr


def test_cancelling_the_start_of_a_server_leaves_no_process_and_no_session(home):
    home.mkdir()
    started = home / "started"
    entry = f'  silent: {{command: sh, args: [-c, "echo $$ > {started}; exec sleep 600"]}}\n'
    with ScriptedServer() as server:
        (home / "config.yaml").write_text(servers(server, entry))
        process = subprocess.Popen([PLIMSOLL, "chat", "-q", "Hello?"], env=environment(home))
        while not (started.exists() and started.read_text().strip()):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
    listed = run_plimsoll("sessions", "list", env=environment(home))
    assert listed.returncode == 0
    assert "There are no sessions yet" in listed.stdout
