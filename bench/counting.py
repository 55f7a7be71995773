"""How far token counts are off on real agent conversations, and what counting costs.

    .venv/bin/python bench/counting.py

Every assistant message is one request. Its true size is counted with two public
vocabularies; the estimate alone and the anchored prediction are compared with it,
the latter from the second request on, when one usage has been reported. Compactions
are replayed where a conversation recorded them. Exit code 1 where the anchored
prediction misses the bar: 3 % at the 95th percentile.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import bpe_openai  # type: ignore[import-untyped]
from rich.console import Console
from rich.table import Table

from figures import report
from plimsoll.models import UsageAnchor, estimate_message_tokens, estimate_tokens

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
VOCABULARIES = ("o200k_base", "cl100k_base")
BAR = 0.03
FRAME = 3  # tokens that separate two messages on the wire
SPEED_ROUNDS = 5

Message = dict[str, Any]
Errors = dict[str, list[float]]


def conversations(path: Path) -> list[dict[str, Any]]:
    """The conversations of one corpus."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def rendered(message: Message) -> str:
    """A message as a chat template would write it: role, content, calls as JSON."""
    calls = [
        f'{{"name": "{call["function"]["name"]}", "arguments": {call["function"]["arguments"]}}}'
        for call in message.get("tool_calls") or ()
    ]
    return "\n".join((message["role"], message.get("name") or "", message.get("content") or "", *calls))


def measure(conversation: dict[str, Any], encode: Callable[[str], list[int]]) -> Errors:
    """Relative errors of every request in a conversation, by method."""
    messages = conversation["messages"]
    truths = [FRAME + len(encode(rendered(message))) for message in messages]
    estimates = [estimate_message_tokens(message) for message in messages]
    true_until, estimated_until = [0, *accumulate(truths)], [0, *accumulate(estimates)]
    errors: Errors = {"rough": [], "anchored": [], "compacted": []}
    anchor = UsageAnchor()
    summaries = {
        compaction["at"]: compaction["summary"] for compaction in conversation.get("compactions", ())
    }
    for index, message in enumerate(messages):
        if index in summaries and anchor.reported is not None:
            summary = {"role": "user", "content": summaries[index]}
            truth = truths[0] + FRAME + len(encode(rendered(summary)))
            predicted = anchor.predict(estimates[0] + estimate_message_tokens(summary))
            errors["compacted"].append(abs(predicted - truth) / truth)
        if message["role"] != "assistant" or index == 0:
            continue
        truth, estimate = true_until[index], estimated_until[index]
        errors["rough"].append(abs(estimate - truth) / truth)
        if anchor.reported is not None:
            errors["anchored"].append(abs(anchor.predict(estimate) - truth) / truth)
        anchor = anchor.observe(truth, estimate)
    return errors


def percentile(values: list[float], share: float) -> float:
    """The value below which this share of the values lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def texts_of(corpus: list[dict[str, Any]]) -> Iterator[str]:
    """Every content text of a corpus."""
    return (m["content"] for c in corpus for m in c["messages"] if isinstance(m.get("content"), str))


def best_time(count: Callable[[str], int], texts: list[str]) -> float:
    """The shortest of some runs over all texts, in seconds of processor time."""

    def once() -> float:
        started = time.process_time()
        for text in texts:
            count(text)
        return time.process_time() - started

    return min(once() for _ in range(SPEED_ROUNDS))


def shown(values: list[float]) -> list[str]:
    """p50, p95 and maximum as percentages."""
    if not values:
        return ["-"] * 3
    return [f"{x:.2%}" for x in (percentile(values, 0.5), percentile(values, 0.95), max(values))]


def main() -> int:
    """Print the table and say whether the bar is met."""
    paths = sorted(DATA.glob("*.jsonl"))
    if not paths:
        print(f"No conversations to measure on: put OpenAI-chat *.jsonl files into {DATA}.", file=sys.stderr)
        return 2
    table = Table(title="Error of prompt token counts, relative to the true count")
    for column in ("corpus", "vocabulary", "requests", "method", "p50", "p95", "max"):
        table.add_column(column, justify="left" if column in ("corpus", "vocabulary", "method") else "right")
    speed = Table(title="Cost of estimate_tokens, relative to len(text) // 4")
    for column in ("corpus", "texts", "MB", "ms", "ratio"):
        speed.add_column(column, justify="left" if column == "corpus" else "right")
    worst = 0.0
    for path in paths:
        corpus = conversations(path)
        label = path.stem.removeprefix("dev_")
        for name in VOCABULARIES:
            encode = bpe_openai.get_encoding(name).encode_ordinary
            measured = [measure(conversation, encode) for conversation in corpus]
            for method in ("rough", "anchored", "compacted"):
                values = [error for errors in measured for error in errors[method]]
                if values:
                    table.add_row(label, name, f"{len(values):,}", method, *shown(values))
                    for share in (0.5, 0.95):
                        figure = f"{label}, {name}, {method}, p{share * 100:.0f}"
                        report("counting", figure, percentile(values, share) * 100, "% off", resolution=0.01)
                if method == "anchored":
                    worst = max(worst, percentile(values, 0.95))
        texts = list(texts_of(corpus))
        ours, plain = best_time(estimate_tokens, texts), best_time(lambda text: len(text) // 4, texts)
        megabytes = sum(map(len, texts)) / 1e6
        report("counting", f"{label}, cost of an estimate", ours / plain, "x len(text) // 4")
        speed.add_row(
            label, f"{len(texts):,}", f"{megabytes:.1f}", f"{ours * 1e3:.1f}", f"{ours / plain:.1f}x"
        )
    console = Console()
    console.print(table, speed)
    met = worst <= BAR
    console.print(f"Anchored p95 at worst {worst:.2%}; bar {BAR:.0%}: {'met' if met else 'MISSED'}.")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
