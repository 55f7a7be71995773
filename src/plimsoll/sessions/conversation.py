"""A session that is open: take turns, compact, undo, pin, go on with another model.

    open ─► view from the archive ─► agent ─► every word stored ─► close

Opening reads the view and nothing else, so a session of a million messages opens as
fast as a short one.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from plimsoll.agent import Agent, CompactionRules, Compactor, Emit, Limits, Line
from plimsoll.archive import Archive, CompactionEvent, Session
from plimsoll.context import ContextEngine
from plimsoll.messages import Message
from plimsoll.sessions.journal import ArchiveJournal
from plimsoll.sessions.pins import with_pins
from plimsoll.sessions.recall import recall_tool
from plimsoll.tools import Approve, ToolBox, ToolContext


@dataclass(frozen=True, slots=True)
class Equipment:
    """What a conversation works with."""

    line: Line
    engine: ContextEngine
    rules: CompactionRules
    toolbox: ToolBox
    tool_context: ToolContext
    clock: Callable[[], float]
    limits: Limits = field(default_factory=Limits)
    summary_model: str = ""
    offers_recall: bool = True  # false for a model that cannot call tools


class Conversation:
    """One open session; one turn at a time."""

    def __init__(self, archive: Archive, session: Session, agent: Agent, journal: ArchiveJournal) -> None:
        self.archive = archive
        self.session = session
        self.agent = agent
        self._journal = journal
        self._turn = asyncio.Lock()

    @classmethod
    async def open(cls, archive: Archive, id: str, holder: str, equipment: Equipment) -> "Conversation":
        """The session as it was left; `holder` names this process in leases."""
        session = await archive.session(id)
        journal = ArchiveJournal(archive, session.id, holder, session.messages)
        toolbox = equipment.toolbox.with_tools([recall_tool(journal)] if equipment.offers_recall else [])
        line = replace(equipment.line, tools=tuple(toolbox.schemas()))
        compactor = Compactor(equipment.engine, equipment.rules, equipment.clock, equipment.summary_model)
        agent = Agent(line, compactor, toolbox, equipment.tool_context, journal, equipment.limits)
        conversation = cls(archive, session, agent, journal)
        await conversation._reload()
        compactor.remember(await archive.compactions(session.id, limit=1), line.tokens(agent.view))
        equipment.engine.on_session_start(session.id, context_length=equipment.engine.context_length)
        return conversation

    async def say(self, message: Message, emit: Emit, approve: Approve | None = None) -> Message:
        """One turn; its last message."""
        async with self._turn:
            return await self.agent.turn(message, emit, approve)

    async def begin(self, system_prompt: str) -> None:
        """The system prompt of a new session; a session that has begun keeps its own."""
        if not self.agent.view and not self._journal.last:
            system: Message = {"role": "system", "content": system_prompt}
            await self._journal.add([system])
            self.agent.view.append(system)

    async def compress(self, emit: Emit, focus: str | None = None) -> CompactionEvent:
        """Compact by hand."""
        async with self._turn:
            return await self.agent.compact(emit, "by hand", focus)

    async def undo(self) -> None:
        """The view before the last compaction; what was said since stays."""
        async with self._turn:
            await self.archive.undo(self.session.id)
            await self._reload()
            self.agent.compactor.undone(self.agent.line.tokens(self.agent.view))

    async def pin(self, sequence: int) -> None:
        """Keep a message word for word through all compactions."""
        await self.archive.pin(self.session.id, sequence)
        await self._reload_pins()

    async def unpin(self, sequence: int) -> None:
        """Let a message go its way again."""
        await self.archive.unpin(self.session.id, sequence)
        await self._reload_pins()

    async def switch_model(self, line: Line, emit: Emit) -> None:
        """Go on with another model; where its window is smaller, compact at once."""
        async with self._turn:
            old = self.agent.line
            self.agent.line = replace(line, tools=old.tools)
            await old.client.aclose()
            self.agent.compactor.engine.update_model(line.card.name, line.card.prompt_limit)
            self.session = await self.archive.update_session(self.session.id, model=line.card.name)
            if self.agent.compactor.is_due(self.agent.line.tokens(self.agent.view)):
                await self.agent.compact(emit, "smaller window")

    async def close(self) -> None:
        """Leave the session; it can be opened again."""
        await self.agent.compactor.close()
        await self.agent.line.client.aclose()

    async def _reload(self) -> None:
        items = await self.archive.items(self.session.id)
        self.agent.view = [item.message for item in items]
        await self._reload_pins()

    async def _reload_pins(self) -> None:
        """Find the pinned messages in the view; those that left it before they were pinned stay in the log."""
        pinned = set(await self.archive.pins(self.session.id))
        items = await self.archive.items(self.session.id) if pinned else []
        words = [item.message for item in items if item.sequence in pinned and not item.shortened]

        def finish(before: list[Message], after: list[Message]) -> list[Message]:
            return with_pins(
                before, after, [place for place, message in enumerate(before) if message in words]
            )

        self.agent.finish = finish
