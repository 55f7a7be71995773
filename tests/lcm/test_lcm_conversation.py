"""The lossless engine in a real conversation: agent, archive, a scripted model, a restart."""

import asyncio
import json
import time
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
from conversing import MODEL, connection_to, extends, toolbox, wish

from plimsoll.agent import CompactionRules, TurnLimits
from plimsoll.agent.events import Compacted
from plimsoll.archive import OPERATOR
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.config import Settings
from plimsoll.context.lcm.tree import KINDS, tree_of
from plimsoll.messages import text_of
from plimsoll.plugins import EngineContext, PluginLocations, resolve_plugins
from plimsoll.sessions import Conversation, ConversationParts
from plimsoll.testing.scripted_server import ScriptedServer, call, say
from plimsoll.tools import ToolContext, Workspace

WINDOW = 16_000


@asynccontextmanager
async def conversing(server, path, session=None):
    """A conversation whose configuration names the engine `lcm`."""
    async with await SqliteStore.open(path / "archive.db") as store:
        archive = store.for_owner(OPERATOR)
        id = session or (await archive.create_session(model=MODEL, engine="lcm")).id
        context = EngineContext(Settings(), WINDOW, path, MODEL, None, archive, id)
        resolved = resolve_plugins("lcm", PluginLocations(path, path, {}, ()), context)
        assert resolved.problems == ()
        equipment = ConversationParts(
            connection=connection_to(server),
            engine=resolved.engine,
            rules=CompactionRules(background=True),
            toolbox=toolbox(),
            tool_context=ToolContext(Workspace(path)),
            clock=time.monotonic,
            limits=TurnLimits(),
        )
        conversation = await Conversation.open(archive, id, "test", equipment)
        await conversation.begin("You look things up.")
        try:
            yield conversation
        finally:
            await conversation.close()


def answering(request):
    """Look up what is asked; what is asked to be remembered is searched for."""
    last = request.messages[-1]
    text = text_of(last)
    if last["role"] == "user" and "remember" in text:
        return call("lcm_grep", pattern=text.split("remember ")[1].strip("?"), limit=1)
    if last["role"] == "user":
        return call("look_up", n=int(text.split("#")[1].split()[0]))
    return say("Found: " + text[:300])


@pytest.fixture
def server():
    with ScriptedServer(answering) as server:
        yield server


def test_a_conversation_is_compacted_searched_and_opened_again(server, tmp_path):
    events = []

    async def first():
        async with conversing(server, tmp_path) as conversation:
            for n in range(40):
                await conversation.say({"role": "user", "content": wish(n)}, events.append)
            found = await conversation.say(
                {"role": "user", "content": "Do you remember value-3 shelf?"}, events.append
            )
            return conversation.session.id, text_of(found), list(conversation.agent.view)

    async def again(id):
        async with conversing(server, tmp_path, id) as conversation:
            view = list(conversation.agent.view)
            found = await conversation.say(
                {"role": "user", "content": "Do you remember value-5 shelf?"}, events.append
            )
            nodes = await conversation.archive.nodes(id, inherited=True)
            return view, text_of(found), nodes, await conversation.archive.messages(id)

    id, found, view = asyncio.run(first())
    compacted = [one.event for one in events if isinstance(one, Compacted)]
    assert len(compacted) >= 2
    assert {one.outcome for one in compacted} == {"compacted"}
    assert {one.engine for one in compacted} == {"lcm"}
    assert "value-3 is stored on shelf 3" in found
    seen, found, nodes, log = asyncio.run(again(id))
    assert seen == view
    assert "value-5 is stored on shelf 5" in found
    tree = tree_of(node for node in nodes if node.kind in KINDS)
    assert tree.leaves
    assert [one.sequence for one in log] == list(range(1, len(log) + 1))
    offered = {tool["name"] for tool in server.requests[0].body["tools"]}
    assert {"lcm_grep", "lcm_describe", "lcm_expand", "lcm_expand_query", "lcm_status"} <= offered


def test_between_two_publications_every_request_extends_the_one_before(server, tmp_path):
    events = []

    async def work():
        async with conversing(server, tmp_path) as conversation:
            for n in range(40):
                await conversation.say({"role": "user", "content": wish(n)}, events.append)

    asyncio.run(work())
    bodies = [json.loads(json.dumps(seen.body)) for seen in server.requests]
    broken = sum(not extends(before, after) for before, after in pairwise(bodies))
    assert broken == sum(isinstance(event, Compacted) for event in events)
