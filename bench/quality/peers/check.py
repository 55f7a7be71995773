"""Does every adapter work? Each peer on three conversations made by code, and its conversion there and back.

python bench/quality/peers/check.py                          all peers
python bench/quality/peers/check.py strands                  only those named
python bench/quality/peers/check.py --corpus FILE.jsonl      and round trips of every conversation in a file

A row fails where the conversion changes a text, a tool's name, its arguments, a result or the order, where a peer
raises, where its result is not a valid conversation, lacks the newest request, or is not smaller. Peers that work by
rules may find nothing to shorten; that is said and does not fail.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from client import Peer
from pins import PINS, SUMMARISERS
from rich.console import Console
from rich.table import Table
from script import DEFAULT_SUMMARY
from sizing import text_of, tokens
from synthetic import conversations

from plimsoll.messages import validate

Message = dict[str, Any]
BUDGET_SHARE = 0.4


def essence(messages: list[Message]) -> list[tuple[Any, ...]]:
    """What a conversion must not change, in order."""
    return [
        (
            message["role"],
            text_of(message.get("content")),
            message.get("tool_call_id"),
            [
                (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"] or "{}"))
                for call in message.get("tool_calls") or ()
            ],
        )
        for message in messages
    ]


def faithful(peer: Peer, messages: list[Message]) -> bool:
    """Whether a round trip through the peer's types gives the same conversation."""
    answer = peer.round_trip(messages)
    return answer["error"] is None and essence(answer["messages"]) == essence(messages)


def flaws(answer: dict[str, Any], messages: list[Message]) -> list[str]:
    """What is wrong with one compaction."""
    found = [answer["error"][:60]] if answer["error"] else []
    result = answer["messages"]
    if validate(result, "openai"):
        found.append("invalid")
    if not any(
        text_of(messages[-1]["content"]) in text_of(m.get("content")) for m in result if m["role"] == "user"
    ):
        found.append("newest request lost")
    return found


def row(peer: Peer, name: str, messages: list[Message]) -> tuple[list[str], bool]:
    """One line of the table: at defaults and at a budget."""
    summary = DEFAULT_SUMMARY if peer.name in SUMMARISERS else None
    same = faithful(peer, messages)
    usual = peer.compact(messages, summary=summary, window=max(2_000, tokens(messages)))
    budget = int(tokens(messages) * BUDGET_SHARE)
    asked = peer.compact(messages, summary=summary, window=max(2_000, tokens(messages)), budget=budget)
    found = flaws(usual, messages) + ([] if same else ["conversion changes it"])
    if asked["error"]:
        found.append(f"at a budget: {asked['error'][:60]}")
    smaller = tokens(usual["messages"]) < tokens(messages)
    if not smaller and peer.name in SUMMARISERS:
        found.append("not smaller")
    cells = [
        f"{peer.name} {usual['version']}",
        name,
        "same" if same else "DIFFERS",
        f"{tokens(messages):,}",
        f"{tokens(usual['messages']):,}",
        f"{tokens(asked['messages']):,} of {budget:,}",
        f"{usual['seconds']:.2f}",
        str(len(usual["summary_calls"])),
        ", ".join(found) or ("ok" if smaller else "ok, nothing to shorten"),
    ]
    return cells, not found


def corpus_trips(peer: Peer, paths: list[Path]) -> tuple[int, int]:
    """Faithful round trips and conversations in the files."""
    done = [
        faithful(peer, json.loads(line)["messages"])
        for path in paths
        for line in path.read_text("utf-8").splitlines()
    ]
    return sum(done), len(done)


def main() -> int:
    """Check, print, and say whether all rows are good."""
    parser = argparse.ArgumentParser(description="Check the adapters of the peers.")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PINS)}; all by default")
    parser.add_argument("--corpus", type=Path, action="append", default=[], help="JSON lines to round-trip")
    wanted = parser.parse_args()
    console = Console()
    columns = [
        "peer",
        "conversation",
        "conversion",
        "tokens",
        "at defaults",
        "at a budget",
        "seconds",
        "calls",
        "",
    ]
    table = Table(*columns, title="Adapters")
    good = True
    for name in wanted.names or PINS:
        with Peer(name) as peer:
            for label, messages in conversations().items():
                cells, ok = row(peer, label, messages)
                good = good and ok
                table.add_row(*cells)
            if wanted.corpus:
                same, total = corpus_trips(peer, wanted.corpus)
                good = good and same == total
                console.print(f"{name}: {same} of {total} conversations of the corpus come back the same")
    console.print(table)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
