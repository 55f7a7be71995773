"""What whole sessions cost under `compression.policy: cost`, under fixed thresholds, and under hermes-agent's policy.

    .venv/bin/python bench/money.py

    requests ──► due? ──► summary call, lighter view ──► request, billed with its cache ──► …        all of it in USD

Real sessions are replayed request by request in the simulator of `plimsoll.caching`, the same planned markers for
everybody. What a compaction leaves is simulated by its size: the first three messages, a summary, and the newest
messages, together as heavy as the engine's target. Assumed: 30 seconds between requests; in the second half of the
table a person is away for 20 minutes before every fourth of their messages. hermes-agent 0.19 compacts at 50 %,
keeps 17/64 of the window (measured at 64K), and sends the middle to the summary model in a cold request.

Exit code 1 where a bar is missed: `cost` is at most 0.8 of hermes-agent's policy, and below every fixed threshold.
"""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plimsoll.caching import (
    BlockChain,
    CacheMemory,
    CacheSimulator,
    Course,
    Prompt,
    Terms,
    compaction_pays,
    plan_breakpoints,
    remember,
)
from plimsoll.caching.compaction_pays import summary_price
from plimsoll.context.budget import Budget
from plimsoll.models import card_for, estimate_message_tokens

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "dev_claudecode_entire.jsonl"
MODELS = ("claude-sonnet-4.5", "claude-opus-5.5")
WINDOWS = (64_000, 200_000)
WRITERS = ("main", "claude-haiku-4.5")
FIXED = tuple(round(0.3 + 0.1 * step, 1) for step in range(7))
GAP, PAUSE, EVERY = 30.0, 1_200.0, 4
HEAD = 3
HERMES_SHARE = 17 / 64
HERMES_BAR = 0.80
LIFETIME = 300.0

Message = dict[str, Any]
Recorded = tuple[list[Message], list[float]]


@dataclass(frozen=True)
class Way:
    """When to compact, and to what."""

    name: str
    line: float  # share of the window at which a compaction is due whatever it costs
    by_cost: bool = False
    hermes: bool = False

    def target(self, window: int) -> int:
        """Tokens behind a compaction: the same for all of Plimsoll's ways."""
        return int(window * HERMES_SHARE) if self.hermes else Budget(window).target_tokens


WAYS = (
    *(Way(f"at {share:.0%}", share) for share in FIXED),
    Way("hermes-agent", 0.5, hermes=True),
    Way("cost", 0.5, by_cost=True),
    Way("cost, line 90 %", 0.9, by_cost=True),
)


class Session:
    """One recorded session on its way through the requests."""

    def __init__(
        self, messages: list[Message], chain: BlockChain, way: Way, terms: Terms, window: int
    ) -> None:
        self.way, self.terms, self.window = way, terms, window
        self.messages, self.chain = messages, chain
        self.view, self.offset = messages, 0
        self.whole = chain.prompt(messages)
        self.simulator, self.memory, self.course = CacheSimulator(), CacheMemory(), Course()
        self.money, self.summaries, self.compactions = 0.0, 0.0, 0

    def play(self, waits: Sequence[float]) -> "Session":
        """Every request; `waits` are the seconds before each message."""
        now = 0.0
        for index, message in enumerate(self.messages):
            now += waits[index]
            if message["role"] != "assistant":
                continue
            tokens = self.prompt(index).tokens
            if self.is_due(tokens, now):
                self.compact(index, tokens, now)
            self.ask(index, now)
        return self

    def prompt(self, index: int) -> Prompt:
        """The request that a recorded message answered."""
        return self.whole.upto(index - self.offset)

    def is_due(self, tokens: int, now: float) -> bool:
        if tokens >= self.window * self.way.line:
            return True
        target, budget = self.way.target(self.window), Budget(self.window)
        said = budget.summary_tokens(tokens - target)
        return self.way.by_cost and compaction_pays(self.terms, self.course, tokens, target, now, said).pays

    def compact(self, index: int, tokens: int, now: float) -> None:
        """The newest messages that fit stay; the newest of all does in any case."""
        target, place = self.way.target(self.window), index - self.offset
        sizes = [estimate_message_tokens(message) for message in self.view[:place]]
        head, tail, kept = sum(sizes[:HEAD]), place - 1, sizes[-1]
        said = Budget(self.window).summary_tokens(tokens - target)
        while tail - 1 >= HEAD and head + said + kept + sizes[tail - 1] <= target:
            tail -= 1
            kept += sizes[tail]
        if tail <= HEAD:
            return
        self.pay_summary(tokens, tokens - head - kept, said, now)
        summary = {"role": "user", "content": f"{self.compactions:04d}" * said}
        lighter = [*self.view[:HEAD], summary, *self.view[tail:place]]
        self.view, self.offset = [*lighter, *self.messages[index:]], index - len(lighter)
        self.chain = self.chain.fork()
        self.whole = self.chain.prompt(self.view)
        self.course, self.compactions = self.course.compacted(), self.compactions + 1

    def pay_summary(self, tokens: int, middle: int, said: int, now: float) -> None:
        if self.way.hermes:
            writer = self.terms.writer or self.terms.card
            spent = (middle * writer.prices.input + said * writer.prices.output) / 1_000_000
        else:
            spent = summary_price(self.terms, self.course, tokens, said, now)
        self.money += spent
        self.summaries += spent

    def ask(self, index: int, now: float) -> None:
        prompt, card = self.prompt(index), self.terms.card
        minimum = card.cache.minimum
        plan = plan_breakpoints(prompt, self.memory, now=now, minimum=minimum)
        output = estimate_message_tokens(self.messages[index])
        bill = self.simulator.request(now, prompt, card, plan.breakpoints, output_tokens=output)
        assert not bill.refusals, bill.refusals
        self.memory = remember(self.memory, prompt, plan, now=now, minimum=minimum)
        self.money += bill.money
        self.course = self.course.asked(prompt.tokens, self.way.target(self.window), now)


def sessions() -> Iterator[Recorded]:
    """Every session, with the seconds before each message if its person never goes away."""
    with DATA.open(encoding="utf-8") as lines:
        for line in lines:
            messages = json.loads(line)["messages"]
            yield messages, [GAP if message["role"] == "assistant" else 0.0 for message in messages]


def with_pauses(messages: Sequence[Message], waits: Sequence[float]) -> list[float]:
    """Away before every fourth message that a person wrote."""
    paused, own = list(waits), 0
    for place, message in enumerate(messages):
        if message["role"] == "user" and message.get("name") != "meta":
            own += 1
            paused[place] += PAUSE if own % EVERY == 0 else 0.0
    return paused


Key = tuple[str, str, int, bool, str]  # model, writer, window, pauses, way


def played(recorded: Recorded) -> dict[Key, tuple[float, float, int]]:
    """One session under every way: USD, USD of that for summaries, compactions."""
    messages, plain = recorded
    found: dict[Key, tuple[float, float, int]] = {}
    chain = BlockChain()
    for model in MODELS:
        for window in WINDOWS:
            for pauses in (False, True):
                waits = with_pauses(messages, plain) if pauses else plain
                for writer in WRITERS:
                    card = card_for(model)
                    terms = Terms(card, LIFETIME, writer=card if writer == "main" else card_for(writer))
                    for way in WAYS:
                        one = Session(messages, chain, way, terms, window).play(waits)
                        key = (model, writer, window, pauses, way.name)
                        found[key] = (one.money, one.summaries, one.compactions)
    return found


if __name__ == "__main__":
    from collections import defaultdict

    tot = defaultdict(lambda: [0, 0, 0])
    t = time.time()
    ss = list(sessions())
    n = int(sys.argv[1]) if len(sys.argv) > 1 else len(ss)
    with ProcessPoolExecutor(2) as pool:
        for r in pool.map(played, ss[:: len(ss) // n][:n]):
            for k, v in r.items():
                for i in range(3):
                    tot[k][i] += v[i]
    for k, v in tot.items():
        print(k, round(v[0], 2), round(v[1], 2), v[2])
    print(time.time() - t)
