"""The auxiliary model as engines see it: blocking, watched for progress, with a deadline and a fallback.

    Auxiliary ── begin() ──► OneSummary ── summarize ──► configured ─► main ─► SummaryFailed
       │                         └──────── summarize_conversation ──► the main model, its cache still warm
       └ connections, windows, paused models

After `SummaryFailed` the engine extracts the summary itself. A model whose key or account failed is paused for a
while. A model that sends no new token for `idle` seconds while a turn waits is abandoned; its text may still arrive.
Every failure is recorded.
"""

import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from plimsoll.caching import SummaryChoice, choose_summary
from plimsoll.context.media_budget import exceeds
from plimsoll.dialects import ChatRequest, Usage
from plimsoll.errors import (
    AuthenticationFailed,
    ContextOverflow,
    PayloadTooLarge,
    ProviderError,
    QuotaExhausted,
    SummaryFailed,
    SummaryLate,
    UserError,
)
from plimsoll.messages import Message, text_of
from plimsoll.models import ModelCard, estimate_messages_tokens_rough, estimate_tokens
from plimsoll.providers.auxiliary.bridge import LoopThread
from plimsoll.providers.auxiliary.resolve import Candidate
from plimsoll.providers.auxiliary.summary_model import Arrived, Record, SummaryModel
from plimsoll.providers.auxiliary.warm import SentRequest, sent
from plimsoll.providers.auxiliary.watch import CURRENT, SummaryWatch
from plimsoll.secrets import redact

# Seconds for one summary with all pieces and retries: room for two requests of 45 s with `_FIRST_SHARE`.
DEADLINE = 150.0
IDLE_TIMEOUT = 10.0  # seconds without a new token after which a model counts as hanging while a turn waits
PAUSE_SECONDS = 600.0  # seconds for which a model is paused after a key or account error
_FIRST_SHARE = 0.6  # of the remaining time, for a model that has a fallback
_TYPICAL_TOKENS = 1_500  # tokens that a model usually writes, whatever its limit; for comparing prices
_AT_ONCE = 4  # summaries at the same time


def _unrecorded(_card: ModelCard, _usage: Usage) -> None:
    """Record nothing."""


class Auxiliary:
    """Writes summaries with the resolved models. Use it as a context manager, or close it."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        *,
        home: Path,
        main: Candidate | None = None,
        deadline: float = DEADLINE,
        idle: float = IDLE_TIMEOUT,
        pause: float = PAUSE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        **options: Any,
    ) -> None:
        """`main` is the conversation's own model, if its cache may be read. `options` are those of `Client`."""
        self.deadline, self.idle, self.pause, self.clock = deadline, idle, pause, clock
        self.models = tuple(SummaryModel(candidate, home, clock, **options) for candidate in candidates)
        same = (model for model in self.models if main and model.candidate.endpoint == main.endpoint)
        self.main = next(same, None) or (SummaryModel(main, home, clock, **options) if main else None)
        self._notes: dict[str, None] = {}
        self._sent: SentRequest | None = None
        self._loop = LoopThread(self._aclose)
        self.start = self._loop.start

    def __repr__(self) -> str:
        return f"Auxiliary({', '.join(model.title for model in self.models)})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Cancel summaries in progress and close every connection."""
        self._loop.close()

    @property
    def notes(self) -> tuple[str, ...]:
        """The failures so far, each once."""
        return tuple(self._notes)

    @property
    def at_once(self) -> int:
        """How many summaries may be written at the same time: one if the model runs on this machine."""
        first = self.models[0].candidate.endpoint if self.models else None
        return 1 if first and (first.embedded or first.provider in ("local", "ollama")) else _AT_ONCE

    def begin(self, record: Record = _unrecorded) -> "OneSummary":
        """A summarizer for one summary; its deadline starts now. `record` gets the usage of its requests."""
        now = self.clock()
        available = [model for model in self.models if model.paused_until <= now]
        return OneSummary(
            self, available or list(self.models[:1]), now + self.deadline, bool(available), record
        )

    def charging(self, record: Record) -> "ChargedWriter":
        """The same models for one conversation: `record` is called with the usage of its requests."""
        return ChargedWriter(self, record)

    def sent(self, request: ChatRequest, usage: Usage | None = None) -> None:
        """Record that the main model has answered this request, so its cache holds it."""
        if self.main is not None:
            candidate = self.main.candidate
            native = candidate.endpoint.wire.native_markers
            self._sent = sent(request, candidate.card, native, self.clock(), usage)

    def warm(
        self, view: Sequence[Message], excerpt_tokens: int, max_tokens: int
    ) -> tuple[SentRequest, SummaryChoice] | None:
        """The conversation as last sent, and which way is cheaper; None if the view does not match what was sent."""
        last, main = self._sent, self.main
        if last is None or main is None or not self.models or main.paused_until > self.clock():
            return None
        tokens = last.tokens(view)
        if tokens is None or tokens + 2 * max_tokens > main.window:
            return None
        if exceeds(view, main.candidate.card.media):
            return None  # its images would be rejected; an excerpt has none
        choice = choose_summary(
            main.candidate.card,
            self.models[0].candidate.card,
            cached_tokens=min(last.cached, tokens),
            fresh_tokens=max(0, tokens - last.cached),
            cold_tokens=excerpt_tokens,
            output_tokens=min(max_tokens, _TYPICAL_TOKENS),
            age=self.clock() - last.at,
            lifetime=last.lifetime,
        )
        return last, choice

    def failed(self, model: SummaryModel, error: Exception) -> str:
        """Record a failure. Returns it as a sentence."""
        if isinstance(error, AuthenticationFailed | QuotaExhausted):
            model.paused_until = self.clock() + self.pause
        reason = redact(str(error))
        sentence = reason if model.candidate.endpoint.model in reason else f"{model.title}: {reason}"
        self._notes[sentence] = None
        return sentence

    async def _aclose(self) -> None:
        for model in self._all_models:
            await model.aclose()

    @property
    def _all_models(self) -> set[SummaryModel]:
        return {*self.models, *([self.main] if self.main else [])}


@dataclass(frozen=True, slots=True)
class ChargedWriter:
    """The summary models for one conversation, which is charged for every request, however it ends."""

    service: Auxiliary
    record: Record

    def begin(self) -> "OneSummary":
        """A summarizer for one summary."""
        return self.service.begin(self.record)


class OneSummary:
    """One summary in progress, in one or more pieces."""

    def __init__(
        self, service: Auxiliary, models: list[SummaryModel], ends: float, available: bool, record: Record
    ) -> None:
        self._service, self._models, self._ends, self._is_available = service, models, ends, available
        self._record = record
        self._place = 0
        self._host = CURRENT.get()  # None if no turn waits for this summary
        self.choice: SummaryChoice | None = None

    @property
    def context_length(self) -> int:
        """The window of the current model."""
        return self._models[self._place].window if self._models else 0

    def summarize(self, prompt: str, max_tokens: int) -> str:
        """The answer of the first model that gives one; failed models are skipped for the next piece."""
        if not self._is_available:
            raise SummaryFailed("the summary models are paused after a key or account error")
        if self._host is not None:
            self._host.check()
        failure = "there is no summary model"
        while self._place < len(self._models):
            model = self._models[self._place]
            if self._place and not model.fits(prompt, max_tokens):
                # The engine sees the smaller window and makes smaller pieces.
                raise SummaryFailed(f"{model.title} accepts {model.window:,} tokens per request")
            try:
                return self._answer(partial(model.write, prompt, max_tokens, self._share(), self._record))
            except SummaryLate as error:
                failure = self._service.failed(model, error)
                if self._host is not None:  # the turn continues without a model, so no other is tried
                    raise
                error.pending.cancel()
            except ContextOverflow as error:
                model.learn(error, estimate_tokens(prompt), prompt)
                raise SummaryFailed(str(error)) from error
            except PayloadTooLarge as error:
                model.shrink(estimate_tokens(prompt) + max_tokens)
                raise SummaryFailed(str(error)) from error
            except (ProviderError, UserError, SummaryFailed) as error:
                failure = self._service.failed(model, error)
            if self._place + 1 == len(self._models):
                break
            self._place += 1
        raise SummaryFailed(failure)

    def prefers_conversation(self, view: Sequence[Message], excerpt_tokens: int, max_tokens: int) -> bool:
        """Whether the main model's cache is warm and reading it is cheaper."""
        found = self._service.warm(view, excerpt_tokens, max_tokens)
        self.choice = found[1] if found else None
        return found is not None and found[1].way == "warm"

    def summarize_conversation(self, view: Sequence[Message], instruction: str, max_tokens: int) -> str:
        """The main model's answer at the end of the conversation as it was last sent."""
        found, main = self._service.warm(view, 0, max_tokens), self._service.main
        if found is None or main is None:
            raise SummaryFailed("the conversation is not the one that was last sent")
        if self._host is not None:
            self._host.check()
        request = found[0].asking(view, instruction, max_tokens)
        try:
            return self._answer(partial(main.ask, request, self._share(is_last=False), self._record))
        except SummaryLate as error:
            self._service.failed(main, error)
            raise
        except ContextOverflow as error:
            text = "\n".join(map(text_of, request.messages))
            main.learn(error, estimate_messages_tokens_rough(request.messages), text)
            raise SummaryFailed(self._service.failed(main, error)) from error
        except (ProviderError, UserError, SummaryFailed) as error:
            raise SummaryFailed(self._service.failed(main, error)) from error

    def _answer(self, ask: Callable[[Arrived], Coroutine[Any, Any, str]]) -> str:
        """The model's answer, while a turn waits for it."""
        watch = self._host or SummaryWatch(is_waited_for=True)
        answer = self._service.start(ask(watch.arrived))
        try:
            return watch.result(answer, self._service.idle, self._service.clock)
        except SummaryLate:
            raise
        except BaseException:  # interrupted while waiting: the result is no longer needed
            answer.cancel()
            raise

    def _share(self, is_last: bool | None = None) -> float:
        """Seconds for the next request."""
        left = self._ends - self._service.clock()
        if left <= 0:
            raise SummaryFailed(f"the summary took longer than {self._service.deadline:.0f} s")
        last = self._place + 1 == len(self._models) if is_last is None else is_last
        return left if last else left * _FIRST_SHARE
