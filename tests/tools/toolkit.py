"""What the tests of the tools share: a place to work in, calls, and running them."""

import asyncio
import json
import os
import time

from plimsoll.settings.tools import TerminalSettings
from plimsoll.tools import ApprovalAnswer, ToolContext, Workspace, standard_tools

ASKING = standard_tools()
UNASKED = standard_tools(terminal=TerminalSettings(allow=["*"]))  # any command, for tests of something else


def place(root, **environment):
    return ToolContext(Workspace(root, environment={**os.environ, "HOME": str(root.parent), **environment}))


def call(name, call_id="call_1", /, **arguments):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def run(context, *calls, box=None, approve=None, on_finished=None):
    """The outcomes of calls."""
    work = (box or UNASKED).run_all(calls, approve, context, on_finished)
    return asyncio.run(work).outcomes


def text(context, name, box=None, approve=None, **arguments):
    """The text of one call's result."""
    return run(context, call(name, **arguments), box=box, approve=approve)[0].result.text


async def yes(question):
    return ApprovalAnswer(True)


def until(condition, seconds=120.0):
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)
