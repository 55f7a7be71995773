"""Serves the requests of an adapter, on the adapter's own event loop.

recognise ─► decided before? ─► the same view
                 └─► due, requested, or forced ─► compact ─► a new view
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll.agent import CompactionRules, Compactor
from plimsoll.archive import CompactionEvent
from plimsoll.archive.titles import title_of
from plimsoll.context import CompactionReport
from plimsoll.dialects import drop_bound_thinking
from plimsoll.dialects.rewriting import KeptMessage
from plimsoll.integrations.archived_items import LazyArchive
from plimsoll.integrations.context_tools import asked_focus, tool_answer
from plimsoll.integrations.conversations import TrackedConversations
from plimsoll.integrations.options import AdapterOptions
from plimsoll.integrations.tracked import LogView, TrackedConversation
from plimsoll.messages import Message, answered_through
from plimsoll.models import card_for, estimate_messages_tokens_rough
from plimsoll.sessions import ArchiveJournal

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """A host's request in canonical form."""

    lead: tuple[Message, ...]  # the system prompt
    log: list[Message]
    chain: list[bytes]
    model: str
    window: int
    tools: int  # estimated tokens of the tool schemas
    reported: int | None = None
    force: bool = False
    focus: str | None = None
    limit: int | None = None  # the window that the provider stated
    compact: str | None = None  # the agent called `compact_context` with this focus

    @property
    def frame(self) -> int:
        """The estimated size of system prompt and tools."""
        return estimate_messages_tokens_rough(self.lead) + self.tools


@dataclass(frozen=True, slots=True)
class ServedView:
    """The view for a request."""

    conversation: TrackedConversation
    view: LogView | None
    kept: list[KeptMessage]
    tokens: int
    estimated: int
    event: CompactionEvent | None = None
    report: CompactionReport | None = None


class ViewServer:
    """The conversations of one adapter. Everything runs on one loop."""

    def __init__(self, options: AdapterOptions, clock: Callable[[], float]) -> None:
        self._options, self._clock = options, clock
        self._known = TrackedConversations(options.max_conversations)
        self._rules = CompactionRules(background=False, deadline=options.deadline)
        self._archive = LazyArchive(options.archive) if options.archive else None

    async def serve(self, request: ViewRequest) -> ServedView:
        """The view of a request, after a compaction if due."""
        while True:
            conversation = self._recognised(request)
            length = len(conversation.chain)
            async with conversation.lock:
                if len(conversation.chain) != length:
                    continue  # another request continued it meanwhile
                conversation.extend(request.log, request.chain)
                self._known.keep(conversation)
                if request.reported:
                    conversation.report(request.reported)
                return await self._decided(conversation, request)

    async def observe(self, conversation: TrackedConversation, estimated: int, reported: int) -> None:
        """Record that the provider counted `reported` tokens where the estimate was `estimated`."""
        conversation.anchor, conversation.sent = conversation.anchor.observe(reported, estimated), (0, 0)

    async def replace(
        self, conversation: TrackedConversation, view: LogView | None, request: ViewRequest
    ) -> None:
        """Record that the host's history is this view from now on."""
        async with conversation.lock:
            self._known.keep(conversation.replaced(view, request.log, request.chain))

    async def answer(
        self,
        name: str,
        arguments: Mapping[str, Any],
        log: Sequence[Message] | None,
        conversation: TrackedConversation | None,
    ) -> str:
        """The result of a context tool."""
        known = [*conversation.removed, *conversation.log] if conversation is not None else []
        journal = conversation.journal if conversation is not None else None
        stored = (journal.archive, journal.session) if journal is not None else None
        return await tool_answer(name, arguments, known if log is None else log, stored)

    async def close(self) -> None:
        """Close the archive."""
        if self._archive is not None:
            await self._archive.close()

    def _recognised(self, request: ViewRequest) -> TrackedConversation:
        found = self._known.find(request.chain)
        if found is None:
            return TrackedConversation(request.lead)
        conversation, place = found
        if place == len(conversation.chain) and not _is_another(conversation, request):
            return conversation
        return conversation.fork(place, request.lead)

    async def _decided(self, conversation: TrackedConversation, request: ViewRequest) -> ServedView:
        """The view for a request with these messages; a repeated request gets the same view."""
        event, report = None, None
        conversation.learn_limit(request.limit)
        window = conversation.window(request.window)
        key = (request.chain[-1] if request.chain else b"", window, request.frame)
        is_known = key in conversation.decisions and not request.force
        view = conversation.decisions[key] if is_known else conversation.current
        estimated = request.frame + conversation.view_tokens(view)
        tokens = conversation.anchor.predict(estimated)
        if not is_known and request.log:
            compactor = self._compactor(conversation, view, request, window)
            trigger, focus = self._trigger(compactor, request, tokens)
            if trigger:
                attempt = await compactor.compact(conversation.messages(view), tokens, trigger, focus)
                event = attempt.event
                if attempt.messages is not None:
                    report = getattr(compactor.engine, "last_report", None)
                    view = await self._adopted(conversation, view, attempt.messages, request)
                    estimated = request.frame + conversation.view_tokens(view)
                    tokens = conversation.anchor.predict(estimated)
                self._notify(event)
            conversation.decide(key, view)
        conversation.sent = (len(conversation.log), estimated)
        kept = conversation.kept(view)
        return ServedView(conversation, view, kept, tokens, estimated, event, report)

    def _notify(self, event: CompactionEvent) -> None:
        """Call the user's function; an error in it never costs a request."""
        if self._options.on_compaction is not None:
            try:
                self._options.on_compaction(event)
            except Exception:
                log.exception("on_compaction failed")

    def _trigger(self, compactor: Compactor, request: ViewRequest, tokens: int) -> tuple[str, str | None]:
        """Why the view is compacted now (empty if it is not), and the focus topic."""
        if request.force:
            return "overflow" if request.focus is None else "manual", request.focus
        focus = asked_focus(request.log) if request.compact is None else request.compact
        if focus is not None:
            return "manual", focus or None
        return ("threshold", None) if compactor.is_due(tokens) else ("", None)

    async def _adopted(
        self,
        conversation: TrackedConversation,
        before: LogView | None,
        compacted: list[Message],
        request: ViewRequest,
    ) -> LogView:
        if card_for(request.model).preserved_thinking:
            # The provider rejects thinking blocks whose preceding messages have changed.
            compacted = drop_bound_thinking(compacted, 0)
        await self._archived(conversation, request)
        return conversation.show(before, compacted)

    def _compactor(
        self, conversation: TrackedConversation, view: LogView | None, request: ViewRequest, window: int
    ) -> Compactor:
        compactor = conversation.compactor
        if compactor is None:
            engine = self._options.make_engine(request.model, window)
            compactor = Compactor(engine, self._rules, self._clock, branches=conversation.branches)
            conversation.use(compactor)
        elif compactor.engine.context_length != window:
            compactor.engine.update_model(request.model, window)
        overhead = conversation.anchor.predict(request.tools)
        compactor.trigger.measure_fixed_part(conversation.messages(view), overhead)
        return compactor

    async def _archived(self, conversation: TrackedConversation, request: ViewRequest) -> None:
        """Store the messages of a conversation that the archive does not have yet."""
        if self._archive is None:
            return
        known = [*conversation.lead, *conversation.removed, *conversation.log]
        if conversation.journal is None:
            archive = (await self._archive.store()).for_owner(self._options.owner)
            session = await archive.create_session(title=title_of(conversation.log), model=request.model)
            conversation.journal = ArchiveJournal(archive, session.id, f"adapter-{os.getpid()}", 0)
        missing = known[conversation.journal.last :]
        if missing:
            await conversation.journal.add(missing)


def _is_another(conversation: TrackedConversation, request: ViewRequest) -> bool:
    """Whether an unanswered request only has the same words as another: its system prompt differs.

    Later, a host may change the system prompt of a conversation.
    """
    return request.lead != conversation.lead and not answered_through(conversation.log)
