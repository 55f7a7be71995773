"""A conversation with any engine, any tools and any hooks, on a real archive and a scripted model."""

import time
from contextlib import asynccontextmanager
from dataclasses import replace

from conversing import MODEL, connection_to

from plimsoll.agent import CompactionRules
from plimsoll.archive import OPERATOR
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.context import ContextCompressor, ContextEngine
from plimsoll.sessions import Conversation, ConversationParts
from plimsoll.tools import Definition, FunctionTool, ToolBox, ToolContext, Workspace

NO_ARGUMENTS = {"type": "object", "properties": {}}


def tool(name, function):
    async def run(arguments, _context):
        return function(**arguments)

    return FunctionTool(Definition(name, f"Does {name}.", NO_ARGUMENTS), run, True)


@asynccontextmanager
async def equipped(
    server, path, *, window=32_000, engine=None, tools=(), session=None, holder="test", **more
):
    async with await SqliteStore.open(path / "archive.db") as store:
        archive = store.for_owner(OPERATOR)
        id = session or (await archive.create_session(model=MODEL, engine="any")).id
        equipment = ConversationParts(
            connection=connection_to(server),
            engine=engine or ContextCompressor(MODEL, window),
            rules=CompactionRules(background=False),
            toolbox=ToolBox(tuple(tools)),
            tool_context=ToolContext(Workspace(path)),
            clock=time.monotonic,
        )
        conversation = await Conversation.open(archive, id, holder, replace(equipment, **more))
        await conversation.begin("You look things up.")
        try:
            yield conversation
        finally:
            await conversation.close()


class Plain(ContextEngine):
    """A sound engine of somebody else: keeps the system prompt and the last two requests with what followed."""

    name = "plain"
    context_length, threshold_tokens, protect_last_n = 8_000, 4_000, 2

    def update_from_response(self, usage):
        self.last_prompt_tokens = usage["prompt_tokens"]

    def should_compress(self, prompt_tokens=None):
        return (prompt_tokens or self.last_prompt_tokens) >= self.threshold_tokens

    def compress(self, messages, current_tokens=None, focus_topic=None, **later):
        asked = [place for place, message in enumerate(messages) if message["role"] == "user"]
        return [messages[0], *messages[asked[-2] :]] if len(asked) > 1 else messages
