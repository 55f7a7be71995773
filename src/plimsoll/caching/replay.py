"""Replays a recorded conversation as an agent's requests and bills each one.

    system user | assistant tool | assistant user | assistant
                ^                ^                ^
                one request before each assistant message: everything up to it; that message is the output

Compactions replace the history from their position on, and their summary calls are separate requests. Each message is
rendered once per view, so the work is linear in the length of the conversation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plimsoll.caching.anthropic_rules import FIRST_TOKEN
from plimsoll.caching.blocks import BlockChain, Prompt
from plimsoll.caching.breakpoints import BreakpointPlan
from plimsoll.caching.planner import CacheMemory, plan_breakpoints, plan_reading, plan_system_and_3, remember
from plimsoll.caching.policy import STRATEGIES
from plimsoll.caching.pricing import Bill, priced, total
from plimsoll.caching.simulator import CacheSimulator, uncached
from plimsoll.errors import SettingError
from plimsoll.messages import Message
from plimsoll.models import ModelCard


@dataclass(frozen=True, slots=True)
class SummaryCall:
    """The request that wrote a summary: warm on the conversation's own model, or cold on any model."""

    instruction: Message
    output_tokens: int
    card: ModelCard | None = None  # None: warm, the instruction appended to the exact prefix
    input_tokens: int | None = None  # cold: tokens sent; None: the whole history and the instruction


@dataclass(frozen=True, slots=True)
class Compaction:
    """Before message `at`, everything earlier was replaced by `view`."""

    at: int
    view: Sequence[Message]
    summary: SummaryCall | None = None


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """One request of a replay."""

    at: int  # the message that answered it, or that followed the compaction
    t: float
    kind: str  # turn | summary
    bill: Bill


@dataclass(frozen=True, slots=True)
class Replay:
    """All requests of a conversation under one strategy."""

    model: str
    strategy: str
    steps: tuple[ReplayStep, ...]

    @property
    def total(self) -> Bill:
        """The sum of all bills."""
        return total(step.bill for step in self.steps)

    @property
    def summaries(self) -> Bill:
        """The sum of the summary calls."""
        return total(step.bill for step in self.steps if step.kind == "summary")

    @property
    def money(self) -> float:
        """USD for everything."""
        return self.total.money


Compactor = Callable[[int, Sequence[Message]], Compaction | None]


class _ReplayRun:
    """The state of one replay."""

    def __init__(self, card: ModelCard, strategy: str, ttl: str, native: bool, first_token: float) -> None:
        self.card, self.strategy, self.ttl, self.native = card, strategy, ttl, native
        self.first_token = first_token
        self.simulator = CacheSimulator()
        self.memory = CacheMemory()

    def turn(self, t: float, prompt: Prompt, output_tokens: int, volatile: int) -> Bill:
        return self._send(t, prompt, self._plan(t, prompt, volatile), output_tokens)

    def summary(self, t: float, prompt: Prompt, call: SummaryCall) -> Bill:
        """Bill a summary; `prompt` is the history followed by the instruction."""
        if call.card is not None or call.input_tokens is not None:
            sent = prompt.tokens if call.input_tokens is None else call.input_tokens
            return cold_summary_cost(call.card or self.card, sent, call.output_tokens)
        return self._send(
            t, prompt, plan_reading(prompt, self.memory, now=t, ttl=self.ttl), call.output_tokens
        )

    def _plan(self, t: float, prompt: Prompt, volatile: int) -> BreakpointPlan:
        if self.card.cache.style != "anthropic" or self.strategy == "none":
            return BreakpointPlan()
        if self.strategy == "system_and_3":
            return plan_system_and_3(prompt, self.ttl, self.native)
        return plan_breakpoints(
            prompt,
            self.memory,
            now=t,
            minimum=self.card.cache.minimum,
            ttl=self.ttl,
            native_anthropic=self.native,
            volatile=volatile,
        )

    def _send(self, t: float, prompt: Prompt, plan: BreakpointPlan, output_tokens: int) -> Bill:
        if self.strategy == "none":
            return uncached(prompt.tokens, self.card, output_tokens)
        bill = self.simulator.request(
            t, prompt, self.card, plan.breakpoints, output_tokens=output_tokens, first_token=self.first_token
        )
        if bill.refusals:  # sent again without markers
            return replace(uncached(prompt.tokens, self.card, output_tokens), refusals=bill.refusals)
        self.memory = remember(
            self.memory,
            prompt,
            plan,
            now=t,
            minimum=self.card.cache.minimum,
            first_token=self.first_token,
        )
        return bill


class _Walk:
    """The conversation during a replay: the current view, the time, and the bills."""

    def __init__(
        self, messages: Sequence[Message], chain: BlockChain, run: _ReplayRun, gaps: Sequence[float]
    ) -> None:
        self._messages, self._chain, self._run, self._gaps = messages, chain, run, gaps
        self._view, self._offset, self._t = list(messages), 0, 0.0
        self._whole = chain.prompt(self._view)
        self.steps: list[ReplayStep] = []

    def sent_before(self, index: int) -> Sequence[Message]:
        """The messages before a recorded message in the view."""
        return self._view[: index - self._offset]

    def turn(self, index: int, volatile: int) -> None:
        """Bill the request that a recorded message answered."""
        place = index - self._offset
        prompt, output = self._whole.upto(place), self._whole.tokens_of(place)
        self._billed(index, "turn", self._run.turn(self._t, prompt, output, volatile))

    def compact(self, event: Compaction) -> None:
        """Bill the summary call and switch to the new view."""
        self._chain = self._chain.fork()  # the caller's chain keeps the recorded conversation
        if event.summary is not None:
            prompt = self._chain.prompt([*self.sent_before(event.at), event.summary.instruction])
            self._billed(event.at, "summary", self._run.summary(self._t, prompt, event.summary))
        self._view, self._offset = (
            [*event.view, *self._messages[event.at :]],
            event.at - len(event.view),
        )
        self._whole = self._chain.prompt(self._view)

    def _billed(self, at: int, kind: str, bill: Bill) -> None:
        self.steps.append(ReplayStep(at, self._t, kind, bill))
        self._t += self._gaps[(len(self.steps) - 1) % len(self._gaps)]


def replay(
    messages: Sequence[Message],
    card: ModelCard,
    strategy: str = "auto",
    ttl: str = "5m",
    gap_seconds: float | Sequence[float] = 30.0,
    *,
    native_anthropic: bool = True,
    tools: Sequence[dict[str, Any]] = (),
    compactions: Sequence[Compaction] | Compactor = (),
    volatile: int = 0,
    first_token: float = FIRST_TOKEN,
    chain: BlockChain | None = None,
) -> Replay:
    """Bill a conversation; `none` is the price without any cache, even if the provider caches automatically.

    `gap_seconds` is the time before each request after the first (a sequence is repeated when it is used up). The
    last `volatile` messages of every request are assumed to change. A `chain` that has rendered these messages saves
    rendering them again.
    """
    if strategy not in STRATEGIES:
        raise SettingError(f"strategy is {strategy!r}; it must be one of {', '.join(STRATEGIES)}.")
    gaps = [float(gap_seconds)] if isinstance(gap_seconds, int | float) else list(gap_seconds) or [0.0]
    run = _ReplayRun(card, strategy, ttl, native_anthropic, first_token)
    walk = _Walk(messages, chain or BlockChain(tools), run, gaps)
    answered = -1
    for index, message in enumerate(messages):
        if message.get("role") != "assistant":
            continue
        for event in _compactions_between(compactions, answered, index, walk):
            walk.compact(event)
        walk.turn(index, volatile)
        answered = index
    if not callable(compactions):  # a compaction after the last request was paid for too
        for event in _compactions_between(compactions, answered, len(messages), walk):
            walk.compact(event)
    return Replay(card.name, strategy, tuple(walk.steps))


def _compactions_between(
    compactions: Sequence[Compaction] | Compactor, since: int, index: int, walk: _Walk
) -> list[Compaction]:
    """The compactions after message `since` and before message `index`, in order."""
    if callable(compactions):
        event = compactions(index, walk.sent_before(index))
        return [event] if event is not None else []
    return sorted((event for event in compactions if since < event.at <= index), key=lambda event: event.at)


def warm_summary_cost(card: ModelCard, cached_tokens: int, fresh_tokens: int, output_tokens: int = 0) -> Bill:
    """The cost of a summary at the end of the exact prefix: the cached part is read, the rest is plain input."""
    return priced(
        Bill(read=cached_tokens, plain=fresh_tokens, output=output_tokens, hits=int(cached_tokens > 0)), card
    )


def cold_summary_cost(card: ModelCard, input_tokens: int, output_tokens: int = 0) -> Bill:
    """The cost of a summary in a separate request: everything at full price."""
    return uncached(input_tokens, card, output_tokens)
