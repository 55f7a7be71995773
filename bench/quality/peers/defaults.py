"""What each peer makes of one real conversation at its own defaults: size after, with and without a summary model.

python bench/quality/peers/defaults.py ../shared/data/dev_claudecode_entire.jsonl [--window 64000]

The first conversation with a recorded summary is cut at the first request of the user past the window; the recorded
summary stands for the summary model's answer.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from client import Peer
from pins import PINS, SUMMARISERS
from rich.console import Console
from rich.table import Table
from sizing import tokens

from plimsoll.messages import validate

Message = dict[str, Any]


def first_cut(path: Path, window: int) -> tuple[str, list[Message], str]:
    """Id, messages up to the cut, and the recorded summary."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            told = json.loads(line)
            size = 0
            for position, message in enumerate(told["messages"]):
                size += tokens([message])
                human = message["role"] == "user" and message.get("name") != "meta"
                if size >= window and human and told.get("compactions"):
                    return told["id"], told["messages"][: position + 1], told["compactions"][0]["summary"]
    raise SystemExit(f"defaults: no conversation in {path} reaches {window:,} tokens and has a summary.")


def cells(answer: dict[str, Any]) -> tuple[str, str]:
    """Size and messages of a result, or the error; seconds."""
    if answer["error"]:
        return f"raises {answer['error'].partition(':')[0]}", f"{answer['seconds']:.1f}"
    valid = "" if not validate(answer["messages"], "openai") else " INVALID"
    said = f"{tokens(answer['messages']):,} ({len(answer['messages'])}){valid}"
    return said, f"{answer['seconds']:.2f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Peers at their defaults on one conversation.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--window", type=int, default=64_000)
    wanted = parser.parse_args()
    name, messages, summary = first_cut(wanted.corpus, wanted.window)
    title = f"{name}: {tokens(messages):,} tokens in {len(messages)} messages; summary {len(summary) // 4:,} tokens"
    table = Table("peer", "no model: tokens (messages)", "s", "recorded summary", "s", "calls", title=title)
    for peer_name in PINS:
        with Peer(peer_name) as peer:
            without = peer.compact(messages, window=wanted.window)
            row = [f"{peer_name} {without['version']}", *cells(without)]
            if peer_name in SUMMARISERS:
                given = peer.compact(messages, window=wanted.window, summary=summary)
                row += [*cells(given), str(len(given["summary_calls"]))]
            table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
