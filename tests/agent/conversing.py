"""A conversation on a real archive and a scripted model, for tests of the agent."""

import time
from contextlib import asynccontextmanager
from pathlib import Path

from plimsoll.agent import CompactionRules, Limits, Line
from plimsoll.archive.sqlite import SqliteArchive
from plimsoll.caching import caching_policy
from plimsoll.context import ContextCompressor
from plimsoll.models import card_for
from plimsoll.providers import Client, Endpoint
from plimsoll.sessions import Conversation, Equipment
from plimsoll.tools import Definition, FunctionTool, ToolBox, ToolContext, Workplace

MODEL = "claude-sonnet-5"
LOOKUP = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


async def look_up(arguments, _context):
    return (
        f"record {arguments['n']}: "
        + f"value-{arguments['n']} is stored on shelf {arguments['n'] % 7}. " * 30
    )


def toolbox():
    return ToolBox((FunctionTool(Definition("look_up", "Look up a record.", LOOKUP), look_up, True),))


def line_to(server, max_tokens=400, **options):
    headers = {"anthropic-version": "2023-06-01"}
    endpoint = Endpoint(
        "anthropic", server.anthropic_url, "anthropic", key="any", model=MODEL, headers=headers
    )
    policy = caching_policy(MODEL, "anthropic")
    return Line(Client(endpoint, **options), card_for(MODEL), policy, time.monotonic, max_tokens=max_tokens)


@asynccontextmanager
async def conversing(
    server, path: Path, *, window=32_000, summarizer=None, session=None, rules=None, limits=None, line=None
):
    """An open conversation; closed at the end, the archive too."""
    async with await SqliteArchive.open(path / "archive.db") as archive:
        id = session or (await archive.create_session(model=MODEL, engine="compressor")).id
        equipment = Equipment(
            line=line or line_to(server),
            engine=ContextCompressor(MODEL, window, summarizer=summarizer),
            rules=rules or CompactionRules(background=False),
            toolbox=toolbox(),
            tool_context=ToolContext(Workplace(path)),
            clock=time.monotonic,
            limits=limits or Limits(),
        )
        conversation = await Conversation.open(archive, id, "test", equipment)
        await conversation.begin("You look things up.")
        try:
            yield conversation
        finally:
            await conversation.close()
