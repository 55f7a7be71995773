"""When a client's conversation is made lighter, by the same rules and the same gate as the agent's own.

below 85 % of the threshold   nothing
above it                      the next view is prepared beside the conversation, after a reply
at the threshold              swapped in before the request goes out
an overflow                   at once, and what the upstream said of its window holds from now on
"""

import logging
from collections.abc import Callable

from plimsoll.agent import CompactionRules, Compactor
from plimsoll.context import ContextEngine
from plimsoll.dialects import drop_bound_thinking
from plimsoll.errors import PlimsollError
from plimsoll.gateway.dropin.keeping import Keeper
from plimsoll.gateway.dropin.thread import Thread
from plimsoll.gateway.dropin.windows import ModelFacts
from plimsoll.gateway.watch.facts import note_compaction, note_usage

log = logging.getLogger(__name__)


class Lightener:
    """Makes conversations lighter. `engine_for` gives an engine for a window."""

    def __init__(
        self,
        keeper: Keeper,
        engine_for: Callable[[int], ContextEngine],
        rules: CompactionRules,
        clock: Callable[[], float],
        summary_model: str = "",
    ) -> None:
        self._keeper, self._engine_for, self._rules = keeper, engine_for, rules
        self._clock, self._summary_model = clock, summary_model

    @property
    def is_enabled(self) -> bool:
        """Whether anything is made lighter without being asked for."""
        return self._rules.enabled

    def is_due(self, thread: Thread, tokens: int, facts: ModelFacts) -> bool:
        """Whether the conversation must be lighter before a request of so many tokens."""
        return tokens >= facts.soft_line and self._compactor(thread, facts, tokens).is_due(tokens)

    async def lighten(self, thread: Thread, tokens: int, facts: ModelFacts, trigger: str, model: str) -> bool:
        """Make it lighter now; whether it is. What the archive cannot take changes nothing."""
        compactor, view = self._compactor(thread, facts, tokens), thread.view()
        attempt = await compactor.compact(view, tokens, trigger)
        note_compaction(attempt.event)
        for record in attempt.spent:
            note_usage(record)
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
            await self._keeper.note(thread)
        except PlimsollError as error:
            log.warning("a conversation was not compacted: %s", error)
            return False
        return True

    def prepare(self, thread: Thread, tokens: int, facts: ModelFacts) -> None:
        """Begin with the next view, where it will soon be due."""
        if tokens >= facts.soft_line and not thread.lock.locked():
            self._compactor(thread, facts, tokens).prepare(thread.view(), tokens)

    def _compactor(self, thread: Thread, facts: ModelFacts, tokens: int) -> Compactor:
        compactor = thread.compactor
        if compactor is None:
            engine = self._engine_for(facts.window)
            compactor = Compactor(engine, self._rules, self._clock, self._summary_model)
            thread.compactor = compactor
        elif compactor.engine.context_length != facts.window:
            compactor.engine.update_model(facts.card.name, facts.window)
        if thread.past:
            # What was tried in vain, or taken back by a person, is not done again at the next chance.
            compactor.remember(thread.past, tokens)
            thread.past = ()
        return compactor
