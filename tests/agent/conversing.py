"""A conversation on a real archive and a scripted model, for tests of the agent."""

import time
from contextlib import asynccontextmanager
from pathlib import Path

from plimsoll.agent import CompactionRules, ModelConnection, TurnLimits
from plimsoll.archive import OPERATOR
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.caching import caching_policy
from plimsoll.context import ContextCompressor
from plimsoll.messages import text_of
from plimsoll.models import card_for
from plimsoll.providers import Client, Endpoint
from plimsoll.sessions import Conversation, ConversationParts
from plimsoll.testing.prefix import prefix_parts
from plimsoll.testing.scripted_server import call, say
from plimsoll.tools import Definition, FunctionTool, ToolBox, ToolContext, Workspace

MODEL = "claude-sonnet-5"
LOOKUP = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def wish(n):
    return f"Please look up #{n} for me."


def answering(request):
    """Look up what the user asks for, then say it."""
    last = request.messages[-1]
    if last["role"] == "user":
        return call("look_up", n=int(text_of(last).split("#")[1].split()[0]))
    return say("Found: " + text_of(last)[:200])


def extends(before, after):
    """Whether a body on the wire is the one before it and more, markers aside."""
    old, new = prefix_parts(before), prefix_parts(after)
    return len(new) > len(old) and new[: len(old)] == old


def toolbox(sentences=30):
    async def look_up(arguments, _context):
        n = arguments["n"]
        return f"record {n}: " + f"value-{n} is stored on shelf {n % 7}. " * sentences

    return ToolBox((FunctionTool(Definition("look_up", "Look up a record.", LOOKUP), look_up, True),))


def connection_to(server, max_tokens=400, dialect="anthropic", **options):
    if dialect == "anthropic":
        headers = {"anthropic-version": "2023-06-01"}
        endpoint = Endpoint(dialect, server.anthropic_url, dialect, key="any", model=MODEL, headers=headers)
    else:
        endpoint = Endpoint("openrouter", server.openai_url, dialect, key="any", model=MODEL)
    policy = caching_policy(MODEL, endpoint.provider)
    return ModelConnection(
        Client(endpoint, **options), card_for(MODEL), policy, time.monotonic, max_tokens=max_tokens
    )


@asynccontextmanager
async def conversing(
    server,
    path: Path,
    *,
    window=32_000,
    threshold=0.5,
    summarizer=None,
    session=None,
    rules=None,
    limits=None,
    connection=None,
    sentences=30,
    engine=None,
    tools=None,
    clock=time.monotonic,
):
    """An open conversation; closed at the end, the archive too."""
    async with await SqliteStore.open(path / "archive.db") as store:
        archive = store.for_owner(OPERATOR)
        engine = engine or ContextCompressor(MODEL, window, threshold=threshold, summarizer=summarizer)
        id = session or (await archive.create_session(model=MODEL, engine=engine.name)).id
        equipment = ConversationParts(
            connection=connection or connection_to(server),
            engine=engine,
            rules=rules or CompactionRules(background=False),
            toolbox=tools or toolbox(sentences),
            tool_context=ToolContext(Workspace(path)),
            clock=clock,
            limits=limits or TurnLimits(),
        )
        conversation = await Conversation.open(archive, id, "test", equipment)
        await conversation.begin("You look things up.")
        try:
            yield conversation
        finally:
            await conversation.close()


async def talk(server, path, turns, heard=lambda event: None, **options):
    """So many turns; the events, what was stored, the last view, the session. Each event is `heard` at once."""
    events = []

    def emit(event):
        events.append(event)
        heard(event)

    async with conversing(server, path, **options) as conversation:
        for n in range(turns):
            await conversation.say({"role": "user", "content": wish(n)}, emit)
        stored = await conversation.archive.messages(conversation.session.id)
        return events, stored, list(conversation.agent.view), conversation.session.id
