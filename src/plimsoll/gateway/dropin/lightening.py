"""When a client's conversation is made lighter, by the same rules and the same gate as the agent's own.

below 85 % of the threshold   nothing
above it                      the next view is prepared beside the conversation, after a reply
at the threshold              swapped in before the request goes out
before it                     under `policy: cost`, as soon as a summary or clearing old results pays
an overflow                   at once, and what the upstream said of its window holds from now on
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from plimsoll.agent import CompactionRules, Compactor, SummaryAccount, Workers, on_this_loop
from plimsoll.archive import Owner, UsageRecord
from plimsoll.caching import pricing_of
from plimsoll.context import ContextEngine
from plimsoll.dialects import drop_bound_thinking
from plimsoll.errors import PlimsollError
from plimsoll.gateway.dropin.keeping import Keeper
from plimsoll.gateway.dropin.thread import Thread
from plimsoll.gateway.dropin.windows import ModelFacts
from plimsoll.gateway.watch.facts import note_compaction
from plimsoll.models import card_for

log = logging.getLogger(__name__)


class Lightener:
    """Makes conversations lighter.

    `engine_for` gives an engine for a window whose summaries an account is told of; `charge` counts what a summary
    used for the owner of its conversation.
    """

    def __init__(
        self,
        keeper: Keeper,
        engine_for: Callable[[int, SummaryAccount], ContextEngine],
        charge: Callable[[Owner, UsageRecord], None],
        rules: CompactionRules,
        clock: Callable[[], float],
        summary_model: str = "",
        workers: Workers | None = None,
    ) -> None:
        self._keeper, self._engine_for, self._rules = keeper, engine_for, rules
        self._charge, self._storing = charge, set[asyncio.Task[None]]()
        self._clock, self._summary_model, self._workers = clock, summary_model, workers
        self._writer = card_for(summary_model) if summary_model else None

    @property
    def is_enabled(self) -> bool:
        """Whether anything is made lighter without being asked for."""
        return self._rules.enabled

    @property
    def has_writer(self) -> bool:
        """Whether a model writes summaries."""
        return self.is_enabled and self._writer is not None

    def reason(self, thread: Thread, tokens: int, facts: ModelFacts, frame: int = 0) -> str:
        """Why the conversation must be lighter before a request of so many tokens; empty where it need not.

        `frame` is the estimate of system prompt and tools.
        """
        if tokens < facts.look_line:
            return ""
        compactor = self._compactor(thread, facts, tokens)
        if compactor.is_due(tokens):
            return "threshold"
        if compactor.pricing is not None:
            self._catch_up(thread, compactor, frame)
        return compactor.pays(thread.view(), tokens)

    def asked(self, thread: Thread, tokens: int, facts: ModelFacts, messages: int, at: float) -> None:
        """A request with the first `messages` of the log, `tokens` in all, was sent at this time and answered."""
        if tokens >= facts.look_line:
            self._compactor(thread, facts, tokens).asked(tokens, at)
            thread.counted = max(thread.counted, messages + 1)  # its reply comes back as the next message

    async def lighten(self, thread: Thread, tokens: int, facts: ModelFacts, trigger: str, model: str) -> bool:
        """Make it lighter now; whether it is. What the archive cannot take changes nothing."""
        compactor, view = self._compactor(thread, facts, tokens), thread.view()
        attempt = await compactor.compact(view, tokens, trigger)
        note_compaction(attempt.event, attempt.spent)
        try:
            if attempt.messages is None:
                if thread.journal is not None:
                    await thread.journal.refused(attempt.event)
                return False
            # What the client has sent meanwhile stands behind what was looked at.
            lighter = [*attempt.messages, *thread.view()[len(view) :]]
            if facts.card.preserved_thinking:
                # The provider refuses thinking that was written behind other messages than it stands behind now.
                lighter = drop_bound_thinking(lighter, 0)
            await self._keeper.commit(thread, lighter, attempt.event, model)
            await self._keeper.summarised(thread)
        except PlimsollError as error:
            log.warning("a conversation was not compacted: %s", error)
            return False
        return True

    def prepare(self, thread: Thread, tokens: int, facts: ModelFacts) -> None:
        """Begin with the next view, where it will soon be due."""
        if tokens >= facts.look_line and not thread.lock.locked():
            self._compactor(thread, facts, tokens).prepare(thread.view(), tokens)

    def _compactor(self, thread: Thread, facts: ModelFacts, tokens: int) -> Compactor:
        compactor = thread.compactor
        if compactor is None:
            account = SummaryAccount(on_this_loop(partial(self._summarised, thread)))
            engine = self._engine_for(facts.window, account)
            compactor = Compactor(
                engine,
                self._rules,
                self._clock,
                self._summary_model,
                account=account,
                branches=thread.branches,
            )
            compactor.host.workers = self._workers
            thread.compactor = compactor
        elif compactor.engine.context_length != facts.window:
            compactor.engine.update_model(facts.card.name, facts.window)
        self._set_terms(compactor, facts)
        compactor.trigger.weigh_fixed(thread.view(), thread.overhead())
        if thread.past:
            # What was tried in vain, or taken back by a person, is not done again at the next chance.
            compactor.remember(thread.past, tokens)
            if thread.past[-1].outcome == "compacted":
                compactor.cost_history = (
                    compactor.cost_history.compacted()
                )  # by another process, or in an earlier life
            thread.past = ()
        return compactor

    async def close(self) -> None:
        """Finish storing what summaries used."""
        while self._storing:
            await asyncio.gather(*self._storing)

    def _summarised(self, thread: Thread, record: UsageRecord) -> None:
        """A request for a summary of this conversation has ended, maybe long after anybody waited for it."""
        self._charge(thread.owner, record)
        if thread.journal is not None:
            task = asyncio.create_task(self._store_spent(thread))
            self._storing.add(task)
            task.add_done_callback(self._storing.discard)

    async def _store_spent(self, thread: Thread) -> None:
        try:
            await self._keeper.summarised(thread)
        except PlimsollError as error:
            log.warning("what a summary used was not stored: %s", error)

    def _set_terms(self, compactor: Compactor, facts: ModelFacts) -> None:
        """What `policy: cost` reckons with; another model's cache knows nothing of the conversation."""
        if self._rules.policy != "cost":
            return
        known = compactor.pricing
        if known is None or known.card is not facts.card:
            compactor.pricing = pricing_of(facts.card, facts.policy, self._writer)
            if known is not None and known.card.name != facts.card.name:
                compactor.cost_history = compactor.cost_history.moved()

    def _catch_up(self, thread: Thread, compactor: Compactor, frame: int) -> None:
        """Count the replies that came past this process, or before the conversation was looked at.

        Nobody knows when they were asked for. They count as a moment old: a cache that is believed cold would be
        thrown away at once.
        """
        now, weight = self._clock(), frame
        through = thread.sight.through if thread.sight else 0
        if thread.sight is not None:
            weight += thread.sight.tokens
        for place, message in enumerate(thread.log):
            if place >= thread.counted and message.get("role") == "assistant":
                # What was carried before a compaction was paid for by it.
                compactor.asked(thread.anchor.predict(weight) if place >= through else 0, now)
            if place >= through:
                weight += thread.tokens[place]
        thread.counted = max(thread.counted, len(thread.log))
