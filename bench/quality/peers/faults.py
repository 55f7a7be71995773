"""What becomes of a conversation when the summary model has a bad day: every summariser and Plimsoll.

python bench/quality/peers/faults.py             all, at their defaults in a 64K window
python bench/quality/peers/faults.py strands     only those named ("plimsoll" is one)

For each bad answer: was it taken as the replacement; is the result larger than before; is the old history gone with
nothing in its place; does the newest request stand; is the result a valid conversation; did the call raise. The table
is printed, and written to bench/results/faults.json.
"""

import datetime
import json
import re
import sys
from pathlib import Path
from typing import Any

import ourselves
from client import Peer
from pins import PINS, ROOT, SUMMARISERS
from rich.console import Console
from rich.table import Table
from script import FOREIGN
from sizing import text_of, tokens
from synthetic import coding

from plimsoll.messages import validate

Message = dict[str, Any]
FAULTS = (
    "empty",
    "inflated",
    "refused",
    "truncated",
    "wrong_language",
    "wrong_language_in_form",
    "tool_call",
    "prompt_injected",
    "prompt_injected_in_form",
    "error",
    "timeout",
)
WINDOW, ROUNDS = 64_000, 150
RESULTS = ROOT / "bench" / "results" / "faults.json"
# Everything that the conversation plants: files read, ports that failed, tests that ran, the ticket, the branch.
FACT = re.compile(r"src/\w+\.py|port 80\d+|case_\d+|PLM-\d+|fix/parser")
RANDOM = re.compile(r"[0-9a-f]{32}")  # a file that a peer names anew each time
OLD_FILES = tuple(f"src/module_{number}.py" for number in range(2, 18))
MARK = "patiently and by the book"  # no name of anything: a name that never occurred is struck out
GOOD = (
    f"## Goal\nFix the parser for every case, ticket PLM-4821, {MARK}.\n\n"
    "## Constraints & Preferences\nNever touch src/legacy.py. Run the tests after every change.\n\n"
    f"## Progress\n### Done\nRead and fixed {', '.join(OLD_FILES)}; their tests pass.\n"
    "### In Progress\nThe later cases.\n### Blocked\n(none)\n\n"
    "## Key Decisions\nOne module at a time, each with its own test run.\n\n"
    f"## Relevant Files\n{chr(10).join('- ' + fact + ': fixed' for fact in OLD_FILES)}\n\n"
    "## Next Steps\nGo on with the next case, then answer the newest request.\n\n"
    "## Critical Context\nPort 8004 answered 502 before the fix."
)
NEEDLES = {
    "inflated": MARK,
    "refused": "I can't help with that",
    "truncated": MARK,
    "wrong_language": FOREIGN[:20],
    "wrong_language_in_form": "天気と料理",
    "prompt_injected": "collector.example",
    "prompt_injected_in_form": "collector.example",
}


def all_text(messages: list[Message]) -> str:
    """Every text of the conversation."""
    return "\n".join(text_of(message.get("content")) for message in messages)


def skeleton(messages: list[Message], without: str = "") -> list[tuple[str, str]]:
    """Roles and texts without white space, random names, a known summary and what is then empty; to compare two."""
    bare = "".join(without.split())
    stripped = [
        RANDOM.sub("", "".join(text_of(m.get("content")).split()).replace(bare, "")) for m in messages
    ]
    texts = [(m["role"], text) for m, text in zip(messages, stripped, strict=True)]
    return [one for one, m in zip(texts, messages, strict=True) if one[1] or m.get("tool_calls")]


def facts_in(messages: list[Message]) -> set[str]:
    """The planted facts that stand anywhere in these messages, arguments of calls included."""
    return set(FACT.findall(json.dumps(messages, ensure_ascii=False)))


def survival(before: list[Message], result: list[Message]) -> tuple[int, int]:
    """Facts that only dropped messages held: how many still stand in the result, of how many."""
    originals = {essence(message) for message in before}
    verbatim = [message for message in result if essence(message) in originals]
    endangered = facts_in(before) - facts_in(verbatim)
    return len(endangered & facts_in(result)), len(endangered)


def essence(message: Message) -> str:
    """A message as a comparable text."""
    calls = [
        (c["id"], json.loads(c["function"]["arguments"] or "{}")) for c in message.get("tool_calls") or ()
    ]
    return json.dumps([message["role"], text_of(message.get("content")), calls])


def taken(fault: str, result: list[Message], control: list[Message]) -> bool:
    """Whether the bad answer now stands for the history."""
    if fault in NEEDLES:
        return NEEDLES[fault] in all_text(result)
    # No words to look for: taken, where the result is that of a good summary with the summary's words missing.
    return skeleton(result) == skeleton(control, GOOD)


def judged(
    fault: str, answer: dict[str, Any], before: list[Message], control: list[Message]
) -> dict[str, Any]:
    """One cell of the table."""
    result = answer["messages"]
    kept, endangered = survival(before, result)
    newest = text_of(before[-1]["content"])
    return {
        "fault": fault,
        "asked": len(answer["summary_calls"]),
        "accepted": answer["error"] is None and taken(fault, result, control),
        "unchanged": skeleton(result) == skeleton(before),
        "tokens_before": tokens(before),
        "tokens_after": tokens(result),
        "larger": tokens(result) > tokens(before),
        "facts_kept": kept,
        "facts_of_dropped": endangered,
        "history_lost": endangered > 0 and kept == 0,
        "newest_kept": any(newest in text_of(m.get("content")) for m in result if m["role"] == "user"),
        "valid": not validate(result, "openai"),
        "raised": answer["error"],
        "seconds": round(answer["seconds"], 2),
    }


def cell(found: dict[str, Any]) -> str:
    """The verdict in a few words."""
    if found["raised"]:
        return "raises"
    words = [] if found["asked"] else ["not asked"]
    share = f"{found['facts_kept']}/{found['facts_of_dropped']}"
    if found["accepted"]:
        words.append(f"ACCEPTED {share}")
    else:
        words.append("unchanged" if found["unchanged"] else f"refused {share}")
    flags = {
        "larger": found["larger"],
        "LOST": found["history_lost"],
        "newest gone": not found["newest_kept"],
        "invalid": not found["valid"],
    }
    return ", ".join(words + [word for word, wrong in flags.items() if wrong])


def measure(name: str, before: list[Message]) -> tuple[str, list[dict[str, Any]]]:
    """The version of one summariser and all of its cells; the first one is a good summary."""
    peer = None if name == "plimsoll" else Peer(name)

    def ask(fault: str | None) -> dict[str, Any]:
        if peer is None:
            return ourselves.compact(before, WINDOW, GOOD, fault)
        return peer.compact(before, window=WINDOW, summary=GOOD, summary_fault=fault)

    try:
        good = ask(None)
        rows = [judged("inflated", good, before, good["messages"]) | {"fault": "none"}]
        rows += [judged(fault, ask(fault), before, good["messages"]) for fault in FAULTS]
    finally:
        if peer is not None:
            peer.close()
    return good["version"], rows


def main(names: list[str]) -> int:
    """Measure, write, print."""
    known = ("plimsoll", *SUMMARISERS)
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"faults: {unknown[0]!r} writes no summaries; there are {', '.join(known)}.", file=sys.stderr)
        return 2
    before = coding(ROUNDS)
    found, versions = {}, {}
    for name in names or known:
        versions[name], found[name] = measure(name, before)
    show(versions, found, before)
    if not names:
        write(RESULTS, versions, found, before)
    return 0


def show(versions: dict[str, str], found: dict[str, Any], before: list[Message]) -> None:
    """One row for each bad answer, one column for each summariser."""
    title = f"Bad summaries, {tokens(before):,} tokens in a {WINDOW:,}-token window"
    table = Table("answer", *(f"{name} {version}" for name, version in versions.items()), title=title)
    for number, fault in enumerate(("(good)", *FAULTS)):
        table.add_row(fault, *(cell(rows[number]) for rows in found.values()))
    console = Console()
    console.print(table)
    console.print(
        "ACCEPTED: the bad answer stands for the history; refused: something else does. n/m: of m files, ports and "
        "tests that only dropped messages named, n still stand in the context; LOST: none. raises: the call fails, "
        "the conversation stays as it was. (deepagents keeps what it drops in a file that its agent could open.)"
    )


def write(path: Path, versions: dict[str, str], found: dict[str, Any], before: list[Message]) -> None:
    """The whole table as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "date": datetime.date.today().isoformat(),
        "window": WINDOW,
        "tokens": tokens(before),
        "messages": len(before),
        "versions": versions,
        "distributions": {name: PINS[name] for name in versions if name in PINS},
        "results": found,
    }
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"written to {path.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
