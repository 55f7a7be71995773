"""What compaction would save: a recorded conversation under each policy, with the agent's own decisions.

    none        never compacted
    threshold   at `compression.threshold`
    cost        as soon as it pays

Summaries are extracted here and cost nothing; a summary model would add the price of its calls.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rich import box
from rich.table import Table
from rich.text import Text

from plimsoll.agent import CLEARING, CompactionRules, Compactor
from plimsoll.assembly import build_compressor
from plimsoll.caching import BlockChain, CachingPolicy, Compaction, Replay, pricing_of, replay
from plimsoll.config import Settings
from plimsoll.context import ContextCompressor
from plimsoll.messages import Message
from plimsoll.models import ModelCard, estimate_messages_tokens_rough
from plimsoll.terminal.priced_replay import short_tokens
from plimsoll.transcripts import Transcript

POLICIES: tuple[Literal["threshold", "cost"], ...] = ("threshold", "cost")
UNCOMPACTED = "none"
OPTIONAL_POLICY_COLUMNS = ("times", "sent")  # columns that a narrow terminal omits, in this order


@dataclass(slots=True)
class _ReplayClock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass(slots=True)
class _PolicyDecider:
    """Decides before each request, as the agent does, and counts."""

    compactor: Compactor
    engine: ContextCompressor
    clock: _ReplayClock
    gap: float
    count: int = 0

    def __call__(self, at: int, view: Sequence[Message]) -> Compaction | None:
        self.clock.now += self.gap
        tokens = estimate_messages_tokens_rough(view)
        way = "threshold" if self.compactor.is_due(tokens) else self.compactor.pays(view, tokens)
        compacted = self._compacted(view, tokens, way) if way else None
        if compacted is not None:
            left = estimate_messages_tokens_rough(compacted)
            self.compactor.cleared(view) if way == CLEARING else self.compactor.compacted(left)
            self.count += 1
            tokens = left
        elif way:
            self.compactor.trigger.record_failed_attempt(tokens)
        self.compactor.record_request(tokens, self.clock.now)
        return None if compacted is None else Compaction(at, compacted)

    def _compacted(self, view: Sequence[Message], tokens: int, way: str) -> list[Message] | None:
        engine = self.engine
        self.compactor.trigger.measure_fixed_part(view, 0)
        messages = list(view)
        compacted = (
            engine.clear(messages) if way == CLEARING else engine.compress(messages, current_tokens=tokens)
        )
        return compacted if estimate_messages_tokens_rough(compacted) < tokens else None


@dataclass(frozen=True, slots=True)
class PolicyReplay:
    """A conversation under one policy."""

    replay: Replay
    compactions: int


def under_policies(
    transcript: Transcript,
    settings: Settings,
    card: ModelCard,
    caching: CachingPolicy,
    chosen: Replay,
    gap: float,
) -> dict[str, PolicyReplay]:
    """The conversation under each policy, with the caching strategy of `chosen`, which is the uncompacted replay."""
    found = {UNCOMPACTED: PolicyReplay(chosen, 0)}
    for policy in POLICIES:
        compression = settings.compression.model_copy(update={"policy": policy})
        engine = build_compressor(
            settings.model_copy(update={"compression": compression}),
            window=settings.model.prompt_limit(),
            model=card.name,
        )
        clock = _ReplayClock()
        compactor = Compactor(engine, CompactionRules(policy=policy, background=False), clock)
        compactor.pricing = pricing_of(card, caching) if policy == "cost" else None
        deciding = _PolicyDecider(compactor, engine, clock, gap)
        played = replay(
            transcript.messages,
            card,
            chosen.strategy,
            caching.ttl,
            gap,
            native_anthropic=caching.native_anthropic,
            compactions=deciding,
            chain=BlockChain(),
        )
        found[policy] = PolicyReplay(played, deciding.count)
    return found


def policy_table(found: Sequence[Mapping[str, PolicyReplay]], without: frozenset[str] = frozenset()) -> Table:
    """A row for each policy: compactions, tokens sent, cost, and the share of the cost without compaction."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("compaction", no_wrap=True)
    headings = ("times", "sent", "USD", "vs none")
    shown = [place for place, heading in enumerate(headings) if heading not in without]
    for place in shown:
        table.add_column(headings[place], justify="right", no_wrap=True)
    base = sum(results[UNCOMPACTED].replay.money for results in found)
    for policy in (UNCOMPACTED, *POLICIES):
        money = sum(results[policy].replay.money for results in found)
        sent = sum(results[policy].replay.total.prompt_tokens for results in found)
        times = sum(results[policy].compactions for results in found)
        share = f"{money / base:.0%}" if base else "–"
        cells = (f"{times:,}", short_tokens(sent), f"{money:,.4f}", share)
        table.add_row(Text(policy), *(cells[place] for place in shown))
    return table


def policy_facts(found: Mapping[str, PolicyReplay]) -> dict[str, dict[str, float | int]]:
    """The same for programs."""
    return {
        policy: {
            "compactions": results.compactions,
            "prompt_tokens": results.replay.total.prompt_tokens,
            "usd": round(results.replay.money, 6),
        }
        for policy, results in found.items()
    }
