"""What a compaction costs and saves: the requests behind it, billed with their cache, and the summary calls before.

    … history │ compaction, its summary calls │ the next 40 messages: one request before each of the agent's
               └──────────────── this is what is added up, in USD ─────────────────────────────┘

Main model and summary model are the same for everybody. Requests come 30 seconds apart; the cache is the simulator of
`plimsoll.caching`.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from statistics import mean
from typing import Any

from corpus import Cut
from ours import Recorded, SizeSettings, engine

from plimsoll.caching import Compaction, SummaryCall, replay
from plimsoll.models import card_for
from plimsoll.quality import recency_window, tokens

MAIN, SUMMARIES = "claude-sonnet-4.5", "claude-haiku-4-5"
MAX_CUTS = 20
Stage = Callable[[str, int], Callable[[], None]]
Message = dict[str, Any]
Calls = Sequence[dict[str, int]]


def after(cut: Cut, view: Sequence[Message] | None, calls: Calls = ()) -> float:
    """USD from the cut on; `view` None: nothing was compacted."""
    place = len(cut.history)
    event = [] if view is None else [Compaction(place, list(view), _summary(calls))]
    played = replay([*cut.history, *cut.continuation], card_for(MAIN), "planned", compactions=event)
    return sum(step.bill.money for step in played.steps if step.at >= place)


def _summary(calls: Calls) -> SummaryCall | None:
    if not calls:
        return None
    asked = sum(call["input_chars"] for call in calls) // 4
    said = sum(call["output_chars"] for call in calls) // 4
    return SummaryCall({"role": "user", "content": ""}, said, card_for(SUMMARIES), asked)


def run(cuts: Sequence[Cut], pool: Executor, stage: Stage) -> dict[str, Any]:
    """Mean USD of each way."""
    some = cuts[:MAX_CUTS]
    tick = stage("money", len(some))
    every: list[dict[str, float]] = []
    for one in pool.map(_ways, some):
        every.append(one)
        tick()
    means = {way: round(mean(one[way] for one in every), 4) for way in every[0]}
    return {"model": MAIN, "summary model": SUMMARIES, "cuts": len(some), **means}


def _ways(cut: Cut) -> dict[str, float]:
    writer = Recorded(cut.summary or "")
    given = engine(SizeSettings(), writer).compress(cut.history)
    without = engine().compress(cut.history)
    return {
        "not compacted": after(cut, None),
        "plimsoll, no model": after(cut, without),
        "plimsoll, recorded summary": after(cut, given, writer.calls),
        "recency window of that size": after(cut, recency_window(cut.history, tokens(without))),
    }
