"""Compacts clients' conversations with the same rules and the same gate as the agent's own.

below 85 % of the threshold   nothing
above it                      the next view is prepared in the background, after a reply
at the threshold              swapped in before the request goes out
before it                     with `policy: cost`, as soon as a summary or clearing old results pays off
after an overflow             at once; the window that the upstream stated applies from now on
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from plimsoll.agent import CompactionRules, CompactionTerms, Compactor, SummaryAccount, Workers, on_this_loop
from plimsoll.archive import CompactionEvent, Owner, UsageRecord
from plimsoll.caching import pricing_of
from plimsoll.context import ContextCompressor
from plimsoll.context.media_budget import ENGINE as MEDIA
from plimsoll.dialects import drop_bound_thinking
from plimsoll.errors import PlimsollError
from plimsoll.gateway.dropin.client_conversation import ClientConversation
from plimsoll.gateway.dropin.conversation_store import ConversationStore
from plimsoll.gateway.dropin.windows import ModelFacts
from plimsoll.gateway.telemetry.request_facts import note_compaction
from plimsoll.messages import Message
from plimsoll.models import card_for

log = logging.getLogger(__name__)


class ConversationCompactor:
    """Compacts conversations.

    `engine_for` returns an engine for a window and a model and reports its summaries to the account.
    `summary_model_for` names the summary model for a conversation's model, or is empty. `charge` bills a summary's
    usage to the owner of its conversation.
    """

    def __init__(
        self,
        store: ConversationStore,
        engine_for: Callable[..., ContextCompressor],
        charge: Callable[[Owner, UsageRecord], None],
        rules: CompactionRules,
        clock: Callable[[], float],
        summary_model_for: Callable[[str], str],
        workers: Workers | None = None,
    ) -> None:
        self._store, self._engine_for, self._rules = store, engine_for, rules
        self._charge, self._storing = charge, set[asyncio.Task[None]]()
        self._clock, self._summary_model_for, self._workers = clock, summary_model_for, workers

    @property
    def is_enabled(self) -> bool:
        """Whether conversations are compacted automatically."""
        return self._rules.enabled

    def has_writer(self, model: str) -> bool:
        """Whether conversations with this model have a summary model."""
        return self.is_enabled and bool(self._summary_model_for(model))

    async def compact_if_due(
        self,
        conversation: ClientConversation,
        tokens: int,
        facts: ModelFacts,
        system_and_tools_tokens: int,
        model: str,
    ) -> None:
        """Compact the conversation before a request of `tokens` tokens, if due.

        `system_and_tools_tokens` is an estimate.
        """
        reason = self.reason(conversation, tokens, facts, system_and_tools_tokens)
        if reason:
            await self.compact(conversation, tokens, facts, reason, model)

    def reason(
        self,
        conversation: ClientConversation,
        tokens: int,
        facts: ModelFacts,
        system_and_tools_tokens: int = 0,
    ) -> str:
        """Why the conversation must be compacted before a request of `tokens` tokens; empty if it need not be.

        `system_and_tools_tokens` is an estimate.
        """
        if tokens < facts.tracking_threshold:
            return ""
        compactor = self._compactor(conversation, facts, tokens)
        if compactor.is_due(tokens):
            return "threshold"
        if compactor.pricing is not None:
            self._catch_up(conversation, compactor, system_and_tools_tokens)
        return compactor.pays(conversation.view(), tokens)

    def record_request(
        self, conversation: ClientConversation, tokens: int, facts: ModelFacts, messages: int, at: float
    ) -> None:
        """Record an answered request with the first `messages` of the log, `tokens` in all, sent at `at`."""
        if tokens >= facts.tracking_threshold:
            self._compactor(conversation, facts, tokens).record_request(tokens, at)
            conversation.count_requests(messages + 1)  # the client sends its reply back as the next message

    async def compact(
        self, conversation: ClientConversation, tokens: int, facts: ModelFacts, trigger: str, model: str
    ) -> bool:
        """Compact the conversation now. Returns False, with nothing changed, if the archive cannot store the view."""
        compactor, view = self._compactor(conversation, facts, tokens), conversation.view()
        attempt = await compactor.compact(view, tokens, trigger)
        note_compaction(attempt.event, attempt.spent)
        for notice in compactor.host.take_notices():  # the client could not show them
            log.warning("%s", notice)
        try:
            if attempt.messages is None:
                if conversation.journal is not None:
                    await conversation.journal.refused(attempt.event)
                return False
            # Messages that the client has sent meanwhile follow the compacted ones.
            compacted = [*attempt.messages, *conversation.view()[len(view) :]]
            await self._commit(conversation, compacted, attempt.event, facts, model)
            await self._store.summarised(conversation)
        except PlimsollError as error:
            log.warning("a conversation was not compacted: %s", error)
            return False
        return True

    async def replace_media(
        self,
        conversation: ClientConversation,
        reduced: list[Message],
        event: CompactionEvent,
        facts: ModelFacts,
        model: str,
    ) -> bool:
        """Show the model this view, without the removed images and documents. Returns whether it was stored."""
        note_compaction(event, ())
        try:
            await self._commit(conversation, reduced, event, facts, model)
        except PlimsollError as error:
            log.warning("images were not removed from a conversation: %s", error)
            return False
        return True

    async def _commit(
        self,
        conversation: ClientConversation,
        compacted: list[Message],
        event: CompactionEvent,
        facts: ModelFacts,
        model: str,
    ) -> None:
        if facts.card.preserved_thinking:
            # The provider rejects thinking blocks whose preceding messages have changed.
            compacted = drop_bound_thinking(compacted, 0)
        await self._store.commit(conversation, compacted, event, model)

    def prepare(self, conversation: ClientConversation, tokens: int, facts: ModelFacts) -> None:
        """Prepare the next view in the background, if it is due soon."""
        if tokens >= facts.tracking_threshold and not conversation.lock.locked():
            self._compactor(conversation, facts, tokens).prepare(conversation.view(), tokens)

    def _compactor(self, conversation: ClientConversation, facts: ModelFacts, tokens: int) -> Compactor:
        compactor, writer = conversation.compactor, self._summary_model_for(facts.name)
        if compactor is None:
            account = SummaryAccount(on_this_loop(partial(self._summarised, conversation)))
            compactor = Compactor(
                self._engine(facts, account),
                self._rules,
                self._clock,
                writer,
                account=account,
                branches=conversation.branches,
            )
            compactor.host.workers = self._workers
            conversation.use(compactor)
        elif compactor.terms != CompactionTerms.of(
            writer, facts.budget
        ):  # another model, with its own settings
            compactor.use_engine(self._engine(facts, compactor.account), writer)
        elif compactor.engine.context_length != facts.window:
            compactor.engine.update_model(facts.name, facts.window)
        self._set_terms(compactor, facts)
        compactor.trigger.measure_fixed_part(conversation.view(), conversation.overhead())
        events = conversation.take_earlier_compactions()
        if events:
            # Compactions that did not help or that a user undid are not repeated at once.
            compactor.remember(events, tokens)
            if (
                events[-1].outcome == "compacted" and events[-1].engine != MEDIA
            ):  # by another process, or before a restart
                compactor.cost_history = compactor.cost_history.compacted()
        return compactor

    def _engine(self, facts: ModelFacts, account: SummaryAccount) -> ContextCompressor:
        """An engine with the settings of this model."""
        engine = self._engine_for(facts.window, account, model=facts.name)
        engine.unanswered_may_change = True
        return engine

    async def close(self) -> None:
        """Finish storing the usage of summaries."""
        while self._storing:
            await asyncio.gather(*self._storing)

    def _summarised(self, conversation: ClientConversation, record: UsageRecord) -> None:
        """Record a finished summary request of this conversation; it may have finished after its deadline."""
        self._charge(conversation.owner, record)
        if conversation.journal is not None:
            task = asyncio.create_task(self._store_spent(conversation))
            self._storing.add(task)
            task.add_done_callback(self._storing.discard)

    async def _store_spent(self, conversation: ClientConversation) -> None:
        try:
            await self._store.summarised(conversation)
        except PlimsollError as error:
            log.warning("the usage of a summary was not stored: %s", error)

    def _set_terms(self, compactor: Compactor, facts: ModelFacts) -> None:
        """Set the prices for `policy: cost`. Another model's cache does not hold the conversation."""
        if self._rules.policy != "cost":
            return
        known = compactor.pricing
        if known is None or known.card is not facts.card:
            writer = self._summary_model_for(facts.name)
            compactor.pricing = pricing_of(facts.card, facts.policy, card_for(writer) if writer else None)
            if known is not None and known.card.name != facts.card.name:
                compactor.cost_history = compactor.cost_history.moved()

    def _catch_up(
        self, conversation: ClientConversation, compactor: Compactor, system_and_tools_tokens: int
    ) -> None:
        """Count replies that another process relayed, or that came below the tracking threshold.

        Their times are unknown. They count as recent: with a cold cache, the policy would compact at once.
        """
        now, weight = self._clock(), system_and_tools_tokens
        through = conversation.compacted_view.through if conversation.compacted_view else 0
        if conversation.compacted_view is not None:
            weight += conversation.compacted_view.tokens
        for place, message in enumerate(conversation.log):
            if place >= conversation.counted and message.get("role") == "assistant":
                # Requests before a compaction are part of its price.
                compactor.record_request(conversation.anchor.predict(weight) if place >= through else 0, now)
            if place >= through:
                weight += conversation.tokens[place]
        conversation.count_requests(len(conversation.log))
