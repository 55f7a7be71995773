"""Is every message read? Facts planted in 20,000 messages.

A constraint, a file edit, a failing check and a check that failed and was fixed are planted at random places in each
third of a conversation: twelve facts at once, so that 100 seeds take minutes. Each competes with the other eleven
and with the edits and checks between them. Each must be in the summary as what it is, from every third alike.
"""

import json
import random
from collections import defaultdict
from typing import Any

from bars import Bar, at_least
from measures.run import Run, share, shown
from measures.summaries import WINDOW

from plimsoll import ContextCompressor
from plimsoll.quality.handoff import says_in_a_line, section

MESSAGES, THIRDS = 20_000, ("first", "middle", "last")
MIN_SHARE = 0.9
_TOPICS = ("queue", "cache", "report", "invoice", "search")


def bars(run: Run) -> list[Bar]:
    """Planted facts by third of the conversation and by kind."""
    seeds = run.sample(list(range(100)), 6)
    found: dict[str, list[bool]] = defaultdict(list)
    kinds: dict[str, list[bool]] = defaultdict(list)
    for seed, kept in zip(seeds, run.map(planted, seeds, "planted facts"), strict=True):
        for kind, third, is_kept in kept:
            found[third].append(is_kept)
            kinds[kind].append(is_kept)
            run.wrong("planted", f"seed {seed}: {kind}, {third} third", not is_kept)
    return [
        *(
            at_least(
                f"planted facts kept, {third} third ({len(found[third])})", share(found[third]), MIN_SHARE
            )
            for third in THIRDS
        ),
        *(shown(f"planted facts kept, {kind}", share(kept)) for kind, kept in kinds.items()),
    ]


def planted(seed: int, count: int = MESSAGES) -> list[tuple[str, str, bool]]:
    """One conversation: what was planted, where, and whether the summary says it."""
    chance = random.Random(seed)
    messages = _filler(chance, count)
    places = {
        (kind, third): _place(chance, number, count)
        for number, third in enumerate(THIRDS)
        for kind in ("constraint", "edit", "failing", "fixed")
    }
    for (kind, third), place in sorted(places.items(), key=lambda pair: -pair[1]):
        messages[place:place] = _plant(kind, f"{third}{seed}")
    engine = ContextCompressor(context_length=WINDOW)
    engine.compress(messages)
    report = engine.last_report
    assert report is not None
    lines = f"{report.summary}\n{report.evidence}".splitlines()
    blocked = section(report.summary, "Blocked")
    return [(kind, third, _is_kept(kind, f"{third}{seed}", lines, blocked)) for kind, third in places]


def _place(chance: random.Random, third: int, count: int) -> int:
    """A place of the filler between two exchanges, not within the messages that stay."""
    width = count // 3
    return 3 + 2 * ((third * width + chance.randrange(width // 60, width - width // 30)) // 2)


def _is_kept(kind: str, name: str, lines: list[str], blocked: list[str]) -> bool:
    """Whether the summary says it. Of the check that was fixed, no line may say that it fails."""
    if kind == "constraint":
        return says_in_a_line(lines, f"Never rename the column {name}_total")
    if kind == "edit":
        return any(f"src/{name}_parser.py" in line and "edited" in line for line in lines)
    if kind == "failing":
        return any(f"tests/{name}_failing_test.py" in line for line in blocked)
    named = [line for line in lines if f"tests/{name}_fixed_test.py" in line]
    return bool(named) and not any("fail" in line.lower() for line in named)


def _plant(kind: str, name: str) -> list[dict[str, Any]]:
    if kind == "constraint":
        return [
            {"role": "user", "content": f"Never rename the column {name}_total."},
            {"role": "assistant", "content": "Understood."},
        ]
    if kind == "edit":
        arguments = {"path": f"src/{name}_parser.py", "old_string": "return 1", "new_string": "return 2"}
        return _called(f"{kind}-{name}", "edit_file", arguments, "Edit applied.")
    path = f"tests/{name}_{kind}_test.py"
    failed = f"FAILED {path}::test_total - assert 1 == 2\n1 failed, 3 passed in 0.12s"
    run = _called(f"{kind}-{name}", "terminal", {"command": f"pytest {path}"}, f"{failed}\n[exit code: 1]")
    if kind == "failing":
        return run
    passed = "4 passed in 0.11s\n[exit code: 0]"
    return run + _called(f"again-{name}", "terminal", {"command": f"pytest {path}"}, passed)


def _called(name: str, tool: str, arguments: dict[str, str], result: str) -> list[dict[str, Any]]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": name, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": name, "content": result},
    ]


def _filler(chance: random.Random, count: int) -> list[dict[str, Any]]:
    """A run of an agent that mostly reads, and edits and checks forty modules again and again."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are a coding agent."},
        {"role": "user", "content": "Go through the modules one by one and note what each does."},
        {"role": "assistant", "content": "I will start with the first."},
    ]
    for number in range(count // 2):
        topic, module = chance.choice(_TOPICS), chance.randrange(8)
        kind = chance.random()
        if kind < 0.1:
            change = {
                "path": f"src/{topic}/module_{module}.py",
                "old_string": f"step = {number}",
                "new_string": f"step = {number + 1}",
            }
            messages += _called(f"r{number}", "edit_file", change, "Edit applied.")
        elif kind < 0.2:
            command = {"command": f"pytest tests/{topic}/test_module_{module}.py"}
            passed = f"{chance.randrange(3, 40)} passed in 0.2{number % 10}s\n[exit code: 0]"
            messages += _called(f"r{number}", "terminal", command, passed)
        else:
            body = "\n".join(f"{line}: {topic} step {chance.randrange(1000)}" for line in range(6))
            path = {"path": f"src/{topic}/part_{number % 700}.py"}
            messages += _called(f"r{number}", "read_file", path, body)
    return messages
