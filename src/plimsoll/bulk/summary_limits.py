"""Limits what a summary model may cost in a run.

    summarize ──► would its maximum cost exceed the limit? ──yes──► SummaryFailed: the summary is extracted
                        └─no─► reserve that much ──► ask ──► replace the reservation with the actual cost

Several threads ask at the same time, so money is reserved before it is spent and the limit always holds. With a log,
it also holds over all continuations of a killed run.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from plimsoll.bulk.spend_log import SpendLog
from plimsoll.caching.pricing import bill_of, max_money, money_of
from plimsoll.context import Summarizer
from plimsoll.dialects import Usage
from plimsoll.errors import SummaryFailed, UserError
from plimsoll.models import ModelCard, estimate_tokens
from plimsoll.providers.auxiliary import Auxiliary


class LimitedSummaries:
    """The summary models of a run, up to an amount in USD."""

    def __init__(self, service: Auxiliary, limit: float | None) -> None:
        self.spent = 0.0  # in USD, by this run and the one that it continues
        self.limit = limit
        self._service = service
        self._cards = [model.candidate.card for model in service.models]
        self._reserved = 0.0
        self._log: SpendLog | None = None
        self._lock = threading.Lock()
        unpriced = next((card for card in self._cards if not card.known), None)
        if limit is not None and unpriced is not None:
            raise UserError(
                f"--max-spend: the prices of {unpriced.name or 'the summary model'} are unknown. Set them with "
                "model.cards.<model>.prices, or omit --max-spend."
            )

    def continue_from(self, log: SpendLog) -> None:
        """Count what the log of the run has, and note everything there from now on."""
        self.spent, self._log = log.spent, log

    def begin(self) -> "LimitedSummary":
        """A summarizer for one summary."""
        return LimitedSummary(self, self._service.begin(self._record))

    @contextmanager
    def reserved(self, prompt: str, max_tokens: int) -> Iterator[None]:
        """Reserve the maximum cost of this request; raises `SummaryFailed` if not enough is left."""
        tokens = estimate_tokens(prompt)
        price = max((max_money(card, tokens, max_tokens) for card in self._cards), default=0.0)
        with self._lock:
            if self.limit is not None and self.spent + self._reserved + price > self.limit:
                raise SummaryFailed(f"the spending limit of ${self.limit:g} is reached")
            self._reserved += price
            number = self._log.reserve(price) if self._log else 0
        try:
            yield
        finally:
            with self._lock:
                self._reserved -= price
                if self._log:
                    self._log.release(number)

    def _record(self, card: ModelCard, usage: Usage) -> None:
        money = money_of(bill_of(usage), card) or 0.0
        with self._lock:
            self.spent += money
            if self._log and money:
                self._log.add(money)


class LimitedSummary:
    """One summary, in one or more requests."""

    def __init__(self, limits: LimitedSummaries, inner: Summarizer) -> None:
        self._limits, self._inner = limits, inner

    @property
    def context_length(self) -> int:
        """The window of the current model."""
        return self._inner.context_length

    def summarize(self, prompt: str, max_tokens: int) -> str:
        """The model's answer, if the limit allows the request."""
        with self._limits.reserved(prompt, max_tokens):
            return self._inner.summarize(prompt, max_tokens)
