"""An open session: take turns, compact, undo, pin, switch the model.

    open ─► view from the archive ─► agent ─► every message stored ─► close

Opening reads only the view, so a session of a million messages opens as fast as a short one. Another process may have
the same session open: each turn starts with the messages added since.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from plimsoll.agent import (
    Agent,
    CompactionRules,
    Compactor,
    Emit,
    Hooks,
    ModelConnection,
    SummaryAccount,
    TextReceived,
    TurnLimits,
    largest_result,
)
from plimsoll.agent.engine_tools import engine_tools
from plimsoll.archive import OPERATOR, Action, Archive, CompactionEvent, PersonEdits, Session
from plimsoll.caching import CostHistory, Pricing, pricing_of
from plimsoll.context import ContextCompressor, ContextEngine, SummaryWriter
from plimsoll.context.markers import as_stored
from plimsoll.messages import SYSTEM_ROLES, Message, extends, match_messages
from plimsoll.models import card_for
from plimsoll.sessions.actions import SessionActions
from plimsoll.sessions.compaction_detail import CompactionDetail, previewed_detail
from plimsoll.sessions.exchange import Exchange, exchange_at
from plimsoll.sessions.hygiene import Hygiene, clean
from plimsoll.sessions.journal import ArchiveJournal
from plimsoll.sessions.pins import with_pins
from plimsoll.sessions.recall import recall_tool
from plimsoll.sessions.turn_lock import LEASE_SECONDS, turn_lock
from plimsoll.settings.context import CompressionSettings
from plimsoll.tools import Approve, ToolBox, ToolContext


@dataclass(frozen=True, slots=True)
class ConversationParts:
    """The parts of a conversation."""

    connection: ModelConnection
    engine: ContextEngine
    rules: CompactionRules
    toolbox: ToolBox
    tool_context: ToolContext
    clock: Callable[[], float]
    limits: TurnLimits = field(default_factory=TurnLimits)
    summary_model: str = ""
    offers_recall: bool = (
        True  # false for a model that cannot call tools; it does not get the engine's tools either
    )
    hooks: Hooks = field(default_factory=Hooks)
    fallback: ContextCompressor | None = None  # used if another engine fails
    patience: float = 30.0  # seconds to wait while another process answers in the same session
    lease: float = LEASE_SECONDS  # seconds for which the session stays locked after this process is killed
    hygiene: Hygiene | None = None  # None if only the agent compacts the session
    account: SummaryAccount = field(default_factory=SummaryAccount)  # records the usage of its summaries


class Conversation:
    """One open session; one turn at a time."""

    def __init__(
        self,
        archive: Archive,
        session: Session,
        agent: Agent,
        journal: ArchiveJournal,
        parts: ConversationParts,
    ) -> None:
        self.archive = archive
        self.session = session
        self.agent = agent
        self._journal = journal
        self._patience, self._lease, self._hygiene = parts.patience, parts.lease, parts.hygiene
        self._view = -1  # number of the view that was read
        self._pins: list[int] = []
        self._edits = PersonEdits()  # known to the engine
        self._turn = asyncio.Lock()

    @classmethod
    async def open(cls, archive: Archive, id: str, holder: str, parts: ConversationParts) -> "Conversation":
        """Open the session where it was left; `holder` identifies this process in leases."""
        session = await archive.session(id)
        journal = ArchiveJournal(archive, session.id, holder, session.messages)
        connection = parts.connection
        compactor = Compactor(
            parts.engine,
            parts.rules,
            parts.clock,
            parts.summary_model,
            hooks=parts.hooks,
            fallback=parts.fallback,
            wire=connection.client.endpoint.wire.validation,
            hide=connection.hide,
            account=parts.account,
        )
        agent = Agent(connection, compactor, parts.toolbox, parts.tool_context, journal, parts.limits)
        conversation = cls(archive, session, agent, journal, parts)
        await conversation._begin_engine()
        if parts.offers_recall:
            await conversation._offer_tools()
        agent.connection = replace(
            connection, tools=tuple(agent.toolbox.schemas()), reads_handles=parts.offers_recall
        )
        await conversation._reload()
        conversation._edits = await archive.edits(session.id)
        tokens = agent.connection.tokens(agent.view)
        agent.measure_fixed_part()
        compactor.remember(await archive.compactions(session.id, limit=1), tokens)
        if parts.rules.policy == "cost":
            compactor.pricing = _pricing(connection, parts.summary_model)
            compactor.cost_history = await _cost_history(archive, session, tokens)
        return conversation

    async def say(self, message: Message, emit: Emit, approve: Approve | None = None) -> Message:
        """Run one turn and return its last message. Raises `Conflict` if another process answers for too long."""
        return (await self.exchange(message, emit, approve)).answer

    async def answer_without_model(self, message: Message, answer: str, emit: Emit) -> None:
        """Run one turn with a known answer, without asking the model."""
        async with self._exclusive():
            await self.agent.end_unfinished_turn()
            await self.agent.store_user_message(message, emit)
            emit(TextReceived(answer))
            await self.agent.add([{"role": "assistant", "content": answer}])

    async def exchange(
        self,
        message: Message,
        emit: Emit,
        approve: Approve | None = None,
        *,
        key: str = "",
        on_stored: Callable[[int], None] = lambda _number: None,
    ) -> Exchange:
        """Run one turn and return its position in the log. `on_stored` gets the message's number once it is stored.

        A message with a key runs once, even if it is sent again to another process: then the stored answer is
        returned, or a turn that a process left unfinished is continued.
        """
        async with self._exclusive():
            first = await self._journal.place_of(key) if key else None
            if first is None:
                await self.agent.end_unfinished_turn()
                self._journal.key = key
                await self.agent.store_user_message(message, emit)
                first = self._journal.last
            else:
                known = await exchange_at(self.archive, self.session.id, first, message)
                if known.ending != "unfinished":
                    on_stored(first)
                    return known
            on_stored(first)
            answer = await self.agent.answer(emit, approve, lambda: self._run_hygiene(emit, first))
            return Exchange(self.session.id, first, self._journal.last, answer)

    async def exchange_all(
        self,
        messages: Sequence[tuple[str, Message]],
        emit: Emit,
        approve: Approve | None = None,
        *,
        on_stored: Callable[[int], None] = lambda _count: None,
    ) -> tuple[Exchange, int]:
        """Run one turn for several messages, each with its key. Also returns how many of them it answers, in order.

        All are answered together, unless a process that ended had begun to answer some of them: then only those are.
        `on_stored` gets the number of messages once they are stored.
        """
        async with self._exclusive():
            numbers = [await self._journal.place_of(key) for key, _ in messages]
            known = [number for number in numbers if number is not None]
            count = len(known)
            if known:
                before = await exchange_at(self.archive, self.session.id, known[-1], messages[count - 1][1])
                if before.ending != "unfinished":
                    on_stored(count)
                    return before, count
            else:
                await self.agent.end_unfinished_turn()
            if not known or known[-1] == self._journal.last:  # the answer has not begun: include the others
                for key, message in messages[count:]:
                    self._journal.key = key
                    await self.agent.store_user_message(message, emit)
                    known.append(self._journal.last)
            on_stored(len(known))
            answer = await self.agent.answer(emit, approve, lambda: self._run_hygiene(emit, known[-1]))
            return Exchange(self.session.id, known[0], self._journal.last, answer), len(known)

    async def begin(self, system_prompt: str) -> None:
        """Store the system prompt of a new session; an existing session keeps its own."""
        if not self.agent.view and not self._journal.last:
            system: Message = {"role": "system", "content": system_prompt}
            await self._journal.add([system])
            self.agent.view.append(system)

    async def compress(self, emit: Emit, focus: str | None = None, actor: str = OPERATOR) -> CompactionEvent:
        """Compact because a user asks."""
        async with self._exclusive():
            self._journal.action = Action("compact", actor, {"focus": focus} if focus else {})
            try:
                return await self.agent.compact_by_hand(emit, focus)
            finally:
                self._journal.action = None

    async def preview(self, focus: str | None = None) -> CompactionDetail:
        """What `compress` would do, with an extracted summary. Changes nothing."""
        async with self._exclusive():
            report, compacted = await self.agent.previewed(focus)
            items, name = await self.archive.items(self.session.id), self.agent.compactor.engine.name
            view = list(self.agent.view)
        return await asyncio.to_thread(
            previewed_detail, self.session.id, name, items, view, compacted, report
        )

    @asynccontextmanager
    async def open_actions(self, actor: str = OPERATOR) -> AsyncIterator[SessionActions]:
        """A user's actions on the session; the open session takes over the result at once."""
        async with self._exclusive():
            yield SessionActions(self.archive, self.session.id, actor, self._journal.lease)
            await self._sync()

    async def pin(self, sequence: int) -> None:
        """Pin a message, so that every compaction keeps it verbatim."""
        await SessionActions(self.archive, self.session.id, OPERATOR).pin(sequence)
        await self._reload_pins()

    async def unpin(self, sequence: int) -> None:
        """Unpin a message, so that compactions may summarise it."""
        await SessionActions(self.archive, self.session.id, OPERATOR).unpin(sequence)
        await self._reload_pins()

    async def undo(self) -> None:
        """Return to the view before the last compaction; later messages stay."""
        async with self.open_actions() as actions:
            await actions.undo()

    async def switch_model(
        self,
        connection: ModelConnection,
        emit: Emit,
        writer: tuple[SummaryWriter | None, str] | None = None,
        settings: CompressionSettings | None = None,
    ) -> None:
        """Continue with another model; compact at once if its window is smaller.

        `writer` is the new summary writer and the name of its model, `settings` say when to compact its conversations
        and to what size; None keeps the current ones.
        """
        async with self._exclusive():
            agent, compactor = self.agent, self.agent.compactor
            # The prepared view is meant for the old model's window and may be written by it.
            await compactor.close()
            await agent.store_summary_usage()
            old = agent.connection
            agent.connection = replace(connection, tools=old.tools)
            compactor.host.hide, compactor.wire = connection.hide, connection.client.endpoint.wire.validation
            await old.aclose()
            if writer is not None:
                compactor.set_summary_model(*writer)
            await compactor.host.ask("update_model", None, **connection.facts(connection.card.prompt_limit))
            if settings is not None and isinstance(compactor.engine, ContextCompressor):
                compactor.engine.update_settings(
                    settings.threshold, settings.target_ratio, settings.target_tokens
                )
            if compactor.pricing is not None:
                compactor.pricing, compactor.cost_history = (
                    _pricing(connection, compactor.model),
                    compactor.cost_history.moved(),
                )
            self.session = await self.archive.update_session(self.session.id, model=connection.card.name)
            agent.emit_notices(emit)
            agent.measure_fixed_part()
            if compactor.is_due(agent.connection.tokens(agent.view)):
                await agent.compact(emit, "smaller window")

    async def end(self, *, reset: bool = False) -> None:
        """End the conversation for good and notify the engine; `reset`: a new one begins."""
        host = self.agent.compactor.host
        await host.ask("on_session_end", None, self.session.id, list(self.agent.view))
        if reset:
            await host.ask("on_session_reset", None)

    async def close(self) -> None:
        """Close the session; it can be opened again."""
        await self.agent.compactor.close()
        await self.agent.store_summary_usage()
        await self.agent.connection.aclose()

    @asynccontextmanager
    async def _exclusive(self) -> AsyncIterator[None]:
        """Hold the session for one turn, in this process and all others, and bring it up to date."""
        async with self._turn, turn_lock(self._journal, self._patience, self._lease):
            now = await self.archive.session(self.session.id)
            if (now.messages, now.view) != (self._journal.last, self._view):
                self._journal.last = now.messages
                await self._sync()
            elif await self.archive.pins(self.session.id) != self._pins:
                await self._reload_pins()
            yield
            self._view = (await self.archive.session(self.session.id)).view

    async def _sync(self) -> None:
        """Take over changes by other processes and users."""
        before = self._view
        await self._reload()
        if self._view == before:
            return
        compactor, tokens = self.agent.compactor, self.agent.connection.tokens(self.agent.view)
        compactor.remember(await self.archive.compactions(self.session.id, limit=1), tokens)
        edits = await self.archive.edits(self.session.id)
        if edits != self._edits:
            self._edits = edits
            compactor.host.forget_summaries()

    async def _run_hygiene(self, emit: Emit, incoming: int) -> None:
        if self._hygiene is not None:
            await clean(self.archive, self.session.id, self.agent, emit, incoming, self._hygiene)

    async def _begin_engine(self) -> None:
        host, connection = self.agent.compactor.host, self.agent.connection
        window = host.engine.context_length or connection.card.prompt_limit
        if not host.is_built_in:
            await host.ask("update_model", None, **connection.facts(window))
        await host.ask(
            "on_session_start", None, self.session.id, context_length=window, model=connection.card.name
        )

    async def _offer_tools(self) -> None:
        """Offer the tools of the conversation and of the engine, after the agent's own."""
        agent = self.agent
        recall = recall_tool(self._journal, lambda: largest_result(agent.compactor.engine.context_length))
        box = agent.toolbox.with_tools([recall])
        names = [tool.name for tool in box]
        agent.toolbox = box.with_tools(await engine_tools(agent.compactor.host, names, lambda: agent.view))

    async def _reload(self) -> None:
        view = await self.archive.view(self.session.id)
        items = await self.archive.items(self.session.id, view)
        self._view = view.number
        self.agent.view = as_stored(items)
        await self._reload_pins()

    async def _reload_pins(self) -> None:
        """Find the pinned messages in the view; those that left it before they were pinned are only in the log."""
        self._pins = await self.archive.pins(self.session.id)
        numbers, view = set(self._pins), list(self.agent.view)
        items = await self.archive.items(self.session.id) if numbers else []
        places = match_messages([item.message for item in items], view) if numbers else []
        # Compared by identity: another message may have the same text.
        pinned = [
            message
            for message, place in zip(view, places, strict=False)
            if place is not None and items[place].sequence in numbers
        ]

        def finish(before: list[Message], after: list[Message]) -> list[Message]:
            return with_pins(
                before, after, [n for n, message in enumerate(before) if _is_one_of(message, pinned)]
            )

        self.agent.finish = finish


def _is_one_of(message: Message, pinned: Sequence[Message]) -> bool:
    """Whether this is a pinned message; also the system prompt with a note appended."""
    is_system = message.get("role") in SYSTEM_ROLES
    return any(message is item or (is_system and extends(item, message)) for item in pinned)


def _pricing(connection: ModelConnection, summary_model: str) -> Pricing:
    """The prices for `compression.policy: cost`."""
    return pricing_of(connection.card, connection.policy, card_for(summary_model) if summary_model else None)


async def _cost_history(archive: Archive, session: Session, tokens: int) -> CostHistory:
    """The cost history from before the session was opened: its cache is as old as its last message."""
    newest = await archive.messages(session.id, max(1, session.messages))
    # There are at least two messages between two requests.
    return CostHistory(session.messages // 2, tokens=tokens, last=newest[-1].time if newest else None)
