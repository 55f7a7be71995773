"""What prompt caching saves on real agent conversations, in the simulator.

    .venv/bin/python bench/caching.py

Each conversation is replayed as the requests its agent sent, 30 seconds apart,
without compaction. Exit code 1 where a bar is missed: caching saves at least
75 % of the input cost over the corpus; the plan never costs more than
`system_and_3` for any conversation, on either route; thirty queued messages are
a miss for `system_and_3` and a hit for the plan; the input of a warm summary
costs at most a quarter of a cold one.
"""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from figures import report
from plimsoll.caching import BlockChain, Compaction, Replay, SummaryCall, replay, uncached
from plimsoll.models import ModelCard, card_for

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
MODELS = ("claude-sonnet-4.5", "claude-opus-5.5")
GAP = 30.0
SAVED_BAR = 0.75
WARM_BAR = 0.25
INSTRUCTION = {"role": "user", "content": "Summarise the conversation under the usual headings. " * 20}
SUMMARY_TOKENS = 3_000

Message = dict[str, Any]


@dataclass
class Sums:
    """What was measured for one model, added up over the corpus."""

    none: float = 0.0
    rolling: float = 0.0
    planned: float = 0.0
    requests: int = 0
    hits: int = 0
    dearer: list[str] = field(default_factory=list)
    warm: float = 0.0
    cold: float = 0.0
    worst_warm: float = 0.0


def conversations() -> Iterator[tuple[str, list[Message]]]:
    """Every conversation of the corpus by name."""
    for path in sorted(DATA.glob("dev_*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                recorded = json.loads(line)
                yield recorded["id"], recorded["messages"]


def add(sums: Sums, name: str, messages: list[Message], card: ModelCard, chain: BlockChain) -> None:
    """Replay one conversation without a cache and with both strategies on both routes."""
    sums.none += replay(messages, card, "none", gap_seconds=GAP, chain=chain).total.input_money
    for native in (True, False):
        rolling, planned = (
            replay(messages, card, strategy, gap_seconds=GAP, native_anthropic=native, chain=chain).total
            for strategy in ("system_and_3", "planned")
        )
        if planned.money > rolling.money * (1 + 1e-9):
            sums.dearer.append(f"{name} ({'native' if native else 'OpenRouter'})")
        if native:
            sums.rolling += rolling.input_money
            sums.planned += planned.input_money
            sums.hits += planned.hits
    sums.requests += sum(message["role"] == "assistant" for message in messages)
    _add_summary(sums, messages, card, chain)


def _add_summary(sums: Sums, messages: list[Message], card: ModelCard, chain: BlockChain) -> None:
    """A summary before the last request: warm at the end of the live prefix, and cold on the same model."""
    asked = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    if len(asked) < 2:
        return
    call = SummaryCall(INSTRUCTION, SUMMARY_TOKENS)
    event = Compaction(asked[-1], messages[:1], call)
    warm = replay(messages, card, "planned", gap_seconds=GAP, compactions=[event], chain=chain).summaries
    cold = uncached(warm.prompt_tokens, card, SUMMARY_TOKENS)
    sums.warm += warm.input_money
    sums.cold += cold.input_money
    sums.worst_warm = max(sums.worst_warm, warm.input_money / cold.input_money)


def queued(card: ModelCard) -> tuple[Replay, Replay]:
    """Thirty messages typed while the agent was busy, then one request for all of them."""
    opening = [
        {"role": "system", "content": "You are careful. " * 400},
        {"role": "user", "content": "Here is the code base. " * 8_000},
        {"role": "assistant", "content": "I have read it. " * 20},
    ]
    burst = [{"role": "user", "content": f"And another thing, number {n}."} for n in range(30)]
    messages = [*opening, *burst, {"role": "assistant", "content": "Done."}]
    return replay(messages, card, "system_and_3"), replay(messages, card, "planned")


def table_of(results: dict[str, Sums]) -> Table:
    """The figures for a person."""
    table = Table(title=f"Input cost over the corpus, {GAP:.0f} s between requests", title_justify="left")
    headings = (
        "model",
        "requests",
        "hits",
        "none",
        "system_and_3",
        "planned",
        "saved",
        "warm / cold",
        "worst",
    )
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "model" else "right", no_wrap=True)
    for model, sums in results.items():
        table.add_row(
            model,
            f"{sums.requests:,}",
            f"{sums.hits / sums.requests:.1%}",
            f"${sums.none:,.2f}",
            f"${sums.rolling:,.2f}",
            f"${sums.planned:,.2f}",
            f"{1 - sums.planned / sums.none:.1%}",
            f"{sums.warm / sums.cold:.1%}",
            f"{sums.worst_warm:.1%}",
        )
    return table


def tell(results: dict[str, Sums], bursts: dict[str, tuple[int, int]]) -> None:
    """Report the figures."""
    for model, sums in results.items():
        report("caching", f"{model}: hits", sums.hits / sums.requests, "share of requests", "higher")
        for strategy, money in (("system_and_3", sums.rolling), ("planned", sums.planned)):
            report(
                "caching",
                f"{model}: {strategy}",
                money / sums.none,
                "share of the input cost without a cache",
            )
        report("caching", f"{model}: warm summary", sums.warm / sums.cold, "share of a cold one")
        report("caching", f"{model}: warm summary, worst", sums.worst_warm, "share of a cold one")
        report("caching", f"{model}: read after 30 queued messages", bursts[model][1], "tokens", "higher")


def missed(results: dict[str, Sums], bursts: dict[str, tuple[int, int]]) -> list[str]:
    """The bars that were not reached."""
    found = []
    for model, sums in results.items():
        saved = 1 - min(sums.planned, sums.rolling) / sums.none
        if saved < SAVED_BAR:
            found.append(f"{model}: caching saves {saved:.1%} of the input cost; the bar is {SAVED_BAR:.0%}")
        if sums.dearer:
            found.append(f"{model}: planned costs more than system_and_3 for {', '.join(sums.dearer[:3])}")
        if sums.worst_warm > WARM_BAR:
            found.append(f"{model}: a warm summary costs up to {sums.worst_warm:.1%} of a cold one")
        rolling, planned = bursts[model]
        if planned <= rolling:
            found.append(f"{model}: after 30 queued messages the plan reads {planned:,} tokens, not more")
    return found


def main() -> int:
    """Measure, print, judge."""
    if not DATA.is_dir():
        print(f"{DATA} is missing: this benchmark needs the recorded conversations.")
        return 1
    started = time.perf_counter()
    cards = {model: card_for(model) for model in MODELS}
    results = {model: Sums() for model in MODELS}
    for name, messages in conversations():
        chain = BlockChain()
        for model, card in cards.items():
            add(results[model], name, messages, card, chain)
    console = Console(width=120)
    console.print(table_of(results))
    bursts = {}
    for model, card in cards.items():
        rolling, planned = (played.steps[-1].bill for played in queued(card))
        bursts[model] = (rolling.read, planned.read)
        console.print(
            f"30 queued messages, {model}: system_and_3 reads {rolling.read:,} of {rolling.prompt_tokens:,} tokens "
            f"(${rolling.input_money:.4f}), planned {planned.read:,} (${planned.input_money:.4f})"
        )
    tell(results, bursts)
    failures = missed(results, bursts)
    for failure in failures:
        console.print(f"[red]missed[/red]  {failure}")
    console.print(
        f"{'bars missed' if failures else 'all bars reached'}, {time.perf_counter() - started:.1f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
