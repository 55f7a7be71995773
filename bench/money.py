"""What whole sessions cost under `compression.policy: cost`, under fixed thresholds, and under hermes-agent's policy.

    .venv/bin/python bench/money.py                             one in six of the programming sessions; minutes
    .venv/bin/python bench/money.py --every 1                   all of them; half an hour
    .venv/bin/python bench/money.py --data dev_tau_airline      other conversations

    request ─► the agent's own Compactor: due? ─► the engine itself compacts ─► billed: read, write, output ─► next

Nothing is assumed about what a compaction leaves. Each way has the settings that a person has with it: a fixed
threshold its own tail and target, `cost` its lean target. `Compactor.is_due` and `Compactor.pays` decide, as in the
agent's loop. A model's summary is as long as the engine asks for, and is billed the cheaper way of the two that there
are: read by its writer in excerpts, or by the main model from its cache. hermes-agent 0.19 was run in the same way by
`hermes_policy.py`, its compactions stand in `results/`: due at 54,400 of 64,000 tokens and at 150,000 of 200,000, its
summaries billed as it sends them, excerpts at full price.

A prompt is read as far as it begins with the one before it, while that is less than five minutes old; the rest is
written. Requests come 30 seconds apart; in the rows with breaks a person is away for 20 minutes before every fourth
of their messages. The recordings have no times of their own.

Two bars, in every row: at most 0.8 of hermes-agent's policy, and below every fixed threshold. Exit code 1 where one
fails.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from figures import report
from plimsoll.agent import CLEARING, CompactionRules, Compactor
from plimsoll.caching import Pricing, choose_summary
from plimsoll.caching.replay import cold_summary_cost
from plimsoll.context import ContextCompressor
from plimsoll.models import card_for, estimate_message_tokens, estimate_tokens

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "shared" / "data"
HERMES = HERE / "results" / "hermes_policy.json"
MODELS = ("claude-sonnet-4.5", "claude-opus-5.5")
WINDOWS = (64_000, 200_000)
WRITERS = ("main", "claude-haiku-4.5")
FIXED = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
WAYS = (*(f"{share:.0%}" for share in FIXED), "hermes", "cost")
GAP, BREAK, EVERY, LIFETIME = 30.0, 1_200.0, 4, 300.0
HERMES_BAR = 0.80
MILLION = 1_000_000
LINE = "- The work goes on as it was planned and this line of the summary says so again. "
Message = dict[str, Any]
Event = dict[str, int]  # one compaction: at, before, left, same, read, said
Known = dict[tuple[tuple[int, bool], ...], tuple[list[Message], Event]]  # by where, and whether only cleared
Row = tuple[str, str, int, bool]  # model, who writes summaries, window, breaks


@dataclass
class Script:
    """Stands where a summary model stands; says as much as it is asked for, and notes what it read."""

    read: int = 0
    said: int = 0
    context_length: int = 200_000

    def summarize(self, prompt: str, max_tokens: int) -> str:
        """A summary with the required headings."""
        lines = LINE + "\n" + (LINE + "\n") * (max_tokens // (estimate_tokens(LINE) + 1) - 4)
        text = f"## Goal\n{LINE}\n## Progress\n### Done\n{lines}"
        self.read, self.said = self.read + estimate_tokens(prompt), self.said + estimate_tokens(text)
        return text


def times(session: Sequence[Message], breaks: bool) -> list[float]:
    """When each message is there."""
    now, own, found = 0.0, 0, []
    for message in session:
        if message["role"] == "user" and message.get("name") != "meta":
            own += 1
            now += BREAK if breaks and own % EVERY == 0 else 0.0
        now += GAP if message["role"] == "assistant" else 0.0
        found.append(now)
    return found


class Clock:
    """A clock that is told the time."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def compactions(
    session: Sequence[Message],
    window: int,
    share: float,
    terms: Pricing | None,
    breaks: bool = False,
    known: Known | None = None,
) -> list[Event]:
    """Where the agent's loop compacts a session, and what the engine makes of it. `terms` None: at a threshold.

    `known` are views that the engine made before; a lean one is the same for every window.
    """
    script, clock, known = Script(), Clock(), {} if known is None else known
    engine = ContextCompressor("", window, threshold=share, summarizer=script, lean=terms is not None)
    rules = CompactionRules(policy="threshold" if terms is None else "cost")
    compactor = Compactor(engine, rules, clock)
    compactor.pricing = terms
    view: list[Message] = []
    tokens = 0
    found: list[Event] = []
    for at, (message, clock.now) in enumerate(zip(session, times(session, breaks), strict=True)):
        if message["role"] == "assistant":
            way = "threshold" if compactor.is_due(tokens) else compactor.pays(view, tokens)
            if way:
                is_cleared = way == CLEARING
                path = (*((one["at"], one["said"] == 0) for one in found), (at, is_cleared))
                if path not in known:
                    script.read = script.said = 0
                    compacted = (
                        engine.clear(view) if is_cleared else engine.compress(view, current_tokens=tokens)
                    )
                    known[path] = compacted, event(at, view, compacted, script)
                compacted, done = known[path]
                found.append(done)
                compactor.cleared(view) if is_cleared else compactor.compacted(done["left"])
                view, tokens = list(compacted), done["left"]
            compactor.record_request(tokens, clock.now)
        view.append(message)
        tokens += estimate_message_tokens(message)
    return found


def event(at: int, view: Sequence[Message], compacted: Sequence[Message], script: Script) -> Event:
    """The sizes of one compaction."""
    changed = (n for n, (old, new) in enumerate(zip(view, compacted, strict=False)) if old != new)
    same = view[: next(changed, min(len(view), len(compacted)))]
    before, left, kept = (sum(map(estimate_message_tokens, part)) for part in (view, compacted, same))
    return {"at": at, "before": before, "left": left, "same": kept, "read": script.read, "said": script.said}


def bill(
    session: Sequence[Message], events: Sequence[Event], terms: Pricing, breaks: bool, cold: bool
) -> float:
    """USD of one session with these compactions; `cold`: summaries are never read from the cache."""
    due, money, tokens, cached, last = {one["at"]: one for one in events}, 0.0, 0, 0, -LIFETIME
    for at, (message, now) in enumerate(zip(session, times(session, breaks), strict=True)):
        weight = estimate_message_tokens(message)
        if message["role"] == "assistant":
            cached = cached if now - last < LIFETIME else 0
            if at in due:
                one = due[at]
                money += summary(one, terms, cached, now - last, cold)
                tokens, cached = one["left"], min(cached, one["same"])
            prices = terms.card.prices_for(tokens)
            spent = cached * prices.cache_read + (tokens - cached) * prices.write_5m + weight * prices.output
            money, cached, last = money + spent / MILLION, tokens, now
        tokens += weight
    return money


def summary(one: Event, terms: Pricing, cached: int, age: float, cold: bool) -> float:
    """USD of the summary call of a compaction."""
    writer = terms.writer or terms.card
    if not one["said"]:
        return 0.0
    if cold:
        return cold_summary_cost(writer, one["read"], one["said"]).money
    choice = choose_summary(
        terms.card,
        writer,
        cached_tokens=cached,
        fresh_tokens=max(0, one["before"] - cached),
        cold_tokens=one["read"],
        output_tokens=one["said"],
        age=age,
        lifetime=LIFETIME,
    )
    return min(choice.warm, choice.cold)


def terms_for(model: str, writer: str) -> Pricing:
    """What a row is billed by."""
    card = card_for(model)
    return Pricing(card, LIFETIME, writer=card if writer == "main" else card_for(writer))


def rows() -> Iterator[Row]:
    """Every row of the table."""
    yield from product(MODELS, WRITERS, WINDOWS, (False, True))


def priced(job: tuple[list[Message], dict[str, list[Event]]]) -> dict[tuple[Row, str], float]:
    """USD of one session in every row and way; with it come hermes-agent's compactions, by window."""
    session, hermes = job
    fixed = {at: compactions(session, *at, None) for at in product(WINDOWS, FIXED)}
    found: dict[tuple[Row, str], float] = {}
    known: Known = {}
    for row in rows():
        model, writer, window, breaks = row
        terms = terms_for(model, writer)
        ways = {f"{share:.0%}": fixed[window, share] for share in FIXED}
        ways["hermes"] = hermes[str(window)]
        ways["cost"] = compactions(session, window, 0.5, terms, breaks, known)
        for way, events in ways.items():
            found[row, way] = bill(session, events, terms, breaks, way == "hermes")
    return found


def verdict(ways: dict[str, float]) -> tuple[float, float, bool]:
    """The share of hermes-agent's money, of the best fixed threshold's, and whether both bars hold."""
    of_hermes = ways["cost"] / ways["hermes"]
    of_best = ways["cost"] / min(ways[f"{share:.0%}"] for share in FIXED)
    return of_hermes, of_best, of_hermes <= HERMES_BAR and of_best < 1.0


def show(found: dict[Row, dict[str, float]], sessions: int, name: str) -> int:
    """The table; how many rows fail."""
    table = Table(
        title=f"USD for {sessions} sessions of {name}, summaries and output included", title_justify="left"
    )
    for heading in ("model", "summaries", "window", "breaks", *WAYS, "÷ hermes", "÷ best", "bars"):
        table.add_column(heading, justify="right", no_wrap=True)
    failed = 0
    for (model, writer, window, breaks), ways in found.items():
        of_hermes, of_best, holds = verdict(ways)
        failed += not holds
        row = f"{model}, summaries by {writer}, {window // 1000}K, {'with' if breaks else 'without'} breaks"
        for way in WAYS:
            if way != "hermes":  # the same traces in every run
                report("money", f"{row}: {way}", ways[way], "USD")
        report("money", f"{row}: cost of hermes", of_hermes, "share")
        report("money", f"{row}: cost of the best threshold", of_best, "share")
        figures = (f"{ways[way]:,.1f}" for way in WAYS)
        named = (model.removeprefix("claude-"), writer.removeprefix("claude-"), f"{window // 1000}K")
        judged = (f"{of_hermes:.3f}", f"{of_best:.3f}", "hold" if holds else "[red]missed[/red]")
        table.add_row(*named, "yes" if breaks else "no", *figures, *judged)
    console = Console(width=170)
    console.print(table)
    console.print(f"both bars hold in {len(found) - failed} of {len(found)} rows")
    return failed


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description="What whole sessions cost, by when they are compacted.")
    parser.add_argument("--data", default="dev_claudecode_entire", help="name of the recorded conversations")
    parser.add_argument("--every", type=int, default=6, help="take every so-manieth session")
    wanted = parser.parse_args()
    path = DATA / f"{wanted.data}.jsonl"
    if not path.is_file():
        print(f"{path} is missing: this benchmark needs the recorded conversations.")
        return 1
    with path.open(encoding="utf-8") as lines:
        every = [json.loads(line)["messages"] for line in lines]
    hermes = json.loads(HERMES.read_text(encoding="utf-8"))[wanted.data]
    jobs = [
        (session, {window: traces[number] for window, traces in hermes.items()})
        for number, session in enumerate(every)
    ][:: wanted.every]
    found: dict[Row, dict[str, float]] = {row: dict.fromkeys(WAYS, 0.0) for row in rows()}
    done = 0
    with ProcessPoolExecutor(2) as pool:
        try:
            for done, each in enumerate(pool.map(priced, jobs), start=1):
                for (row, way), money in each.items():
                    found[row][way] += money
                print(f"\r{done} of {len(jobs)} sessions", end="", file=sys.stderr, flush=True)
        except KeyboardInterrupt:  # the sessions that are done are shown
            pool.shutdown(wait=False, cancel_futures=True)
    print(file=sys.stderr)
    return 1 if not done or show(found, done, wanted.data) or done < len(jobs) else 0


if __name__ == "__main__":
    sys.exit(main())
