"""`plimsoll chat` with plugins: an engine of another project, its tools, commands and hooks, a broken one."""

import asyncio
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from plimsoll.archive import OPERATOR
from plimsoll.archive.open_archive import open_archive
from plimsoll.messages import text_of
from plimsoll.testing.scripted_server import ScriptedServer, call, say

HERE = Path(__file__).parent
HARBOUR = """\
context:
  engine: harbour
plugins:
  enabled: [harbour-log]
compression:
  background: false
"""
LONG = "The harbour master counts the ships again. " * 40


def configured(server, more=""):
    return f"model:\n  name: gpt-5\n  base_url: {server.openai_url}\n  context_length: 12000\n{more}"


def compactions(home):
    async def read():
        async with await open_archive(None, home) as store:
            archive = store.for_owner(OPERATOR)
            (session,) = await archive.sessions()
            return await archive.compactions(session.id)

    return asyncio.run(read())


def answer(request):
    """Every request is answered at length; one for the log is a call of the plugin's tool."""
    last = dict(request.messages[-1])
    if last["role"] == "user" and "search" in text_of(last):
        return call("harbour_grep", text="berth 3 ")
    if last["role"] == "tool":
        return say(f"Found: {text_of(last)}")
    return say(f"{text_of(last)[:20]} {LONG}")


@pytest.mark.slow
@pytest.mark.rewrites_history("the plugin's compactions have no marker of ours")
def test_a_hermes_plugin_serves_a_long_chat_through_ten_compactions_and_a_restart(place):
    shutil.copytree(HERE / "harbour_log", place.home / "plugins" / "harbour-log")
    said = "".join(f"Look at berth {number} now. {LONG}\n" for number in range(40))
    with ScriptedServer(answer) as server, ScriptedServer(lambda _request: say("All is well.")) as writer:
        auxiliary = f"auxiliary:\n  compression:\n    model: gpt-5-mini\n    base_url: {writer.openai_url}\n"
        place.config(configured(server, f"{auxiliary}{HARBOUR}"))
        first = place.run("chat", said=said)
        assert first.returncode == 0, first.stderr
        again = place.run("chat", "--continue", said="Now search the log.\n/harbour\n")
        assert again.returncode == 0, again.stderr
        offered = {tool["function"]["name"] for tool in server.requests[-1].body["tools"]}
        assert writer.requests
    assert len([name for name in offered if name.startswith("harbour_")]) == 6
    done = [event for event in compactions(place.home) if event.outcome == "compacted"]
    assert len(done) >= 10
    assert {event.engine for event in done} == {"harbour"}
    assert "look at berth 3 now" in again.stdout
    assert " messages" in again.stdout.splitlines()[-1]
    log = sqlite3.connect(place.home / "harbour.db")
    words = [row[0] for row in log.execute("select words from summaries")]
    log.close()
    assert len(words) >= 10
    assert set(words) == {"All is well."}


def test_a_broken_engine_is_reported_and_the_built_in_serves(place):
    place.engine("broken", code="import nowhere\n")
    with ScriptedServer([say("Hello.")]) as server:
        place.config(configured(server, "context:\n  engine: broken\n"))
        done = place.run("chat", "-q", "Hi.")
    assert done.returncode == 0
    assert done.stdout == "Hello.\n"
    assert (
        "context.engine is 'broken', but plugin 'broken' cannot be loaded: ModuleNotFoundError" in done.stderr
    )
    assert "The built-in compressor is used" in done.stderr
    assert "Traceback" not in done.stderr


NOTES = """\
import json
from plimsoll.tools import Definition, FunctionTool

SEEN = {trace!r}

async def weather(arguments, context):
    return "windy"

def before(messages, trigger, focus):
    open_trace({{"before": trigger, "messages": len(messages)}})
    return {{"veto": "not in this weather"}} if {veto} else None

def after(event):
    open_trace({{"after": event.outcome}})

def open_trace(entry):
    with open(SEEN, "a") as file:
        file.write(json.dumps(entry) + "\\n")

def fails(text):
    raise ValueError("no " + text)

def register(ctx):
    nothing = {{"type": "object", "properties": {{}}}}
    for name in ("weather", "terminal"):
        ctx.register_tool(FunctionTool(Definition(name, "The weather.", nothing), weather))
    ctx.register_hook("pre_compact", before)
    ctx.register_hook("post_compact", after)
    ctx.register_command("tide", "high or low", lambda text: "high tide " + text)
    ctx.register_command("fails", "always", fails)
    ctx.register_command("quit", "never ours", lambda text: "nobody leaves")
"""


def test_tools_commands_and_hooks_of_a_plugin_work_in_the_chat(place, tmp_path):
    trace = tmp_path / "trace"
    place.general("notes", NOTES.format(trace=str(trace), veto=False))
    with ScriptedServer([call("weather"), say("It is windy."), *[say(LONG)] * 30]) as server:
        place.config(configured(server, "plugins:\n  enabled: [notes]\n"))
        long = "".join(f"{number} {LONG}\n" for number in range(14))
        done = place.run("chat", said=f"How is it?\n/tide now\n/fails here\n/help\n{long}/quit\n")
    assert "It is windy." in done.stdout
    assert "high tide now" in done.stdout
    assert "/fails failed: ValueError: no here" in done.stderr
    assert "/tide" in done.stdout
    assert "nobody leaves" not in done.stdout
    assert "The plugin tool terminal was skipped" in done.stderr
    seen = [json.loads(line) for line in trace.read_text().splitlines()]
    assert {"after": "compacted"} in seen
    assert any(entry.get("before") == "threshold" for entry in seen)


def test_a_hook_may_put_a_compaction_off(place, tmp_path):
    place.general("notes", NOTES.format(trace=str(tmp_path / "trace"), veto=True))
    with ScriptedServer([say(LONG)] * 16) as server:
        place.config(configured(server, "plugins:\n  enabled: [notes]\n"))
        done = place.run("chat", said="".join(f"{number} {LONG}\n" for number in range(10)))
    assert "not in this weather" in done.stderr
    assert all(event.outcome != "compacted" for event in compactions(place.home))
