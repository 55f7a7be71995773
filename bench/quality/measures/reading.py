"""Is every message read, and fast enough? Facts planted in 20,000 messages; throughput and memory on recordings.

A constraint, a file edit, a failing check and a check that failed and was fixed are planted at random places. Each
must be in the summary (the fixed one not under Blocked), from the first, the middle and the last third alike.
"""

import gc
import json
import random
import resource
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from bars import Bar, at_least, at_most
from corpus import DATA
from hand_labels import DataMissing
from measures.run import Run, share
from measures.summaries import written

from plimsoll.context.ledger import read_facts
from plimsoll.quality import tokens
from plimsoll.quality.handoff import says_in_a_line, section

MESSAGES, THIRDS = 20_000, ("first", "middle", "last")
LEAST, RATE, MEMORY = 0.9, 500_000, 3.0
SIZES = (1_000_000, 5_000_000)
_MEMORY_SIZE = 2_000_000


def bars(run: Run) -> list[Bar]:
    """Planted facts by third of the conversation."""
    seeds = run.sample(list(range(100)), 6)
    found: dict[str, list[bool]] = defaultdict(list)
    for seed, kept in zip(seeds, run.map(planted, seeds, "planted facts"), strict=True):
        for kind, third, is_kept in kept:
            found[third].append(is_kept)
            run.wrong("planted", f"seed {seed}: {kind}, {third} third", not is_kept)
    return [
        at_least(f"planted facts kept, {third} third ({len(found[third])})", share(found[third]), LEAST)
        for third in THIRDS
    ]


def speed_bars(run: Run) -> list[Bar]:
    """Tokens a second, linear growth, and memory; each in a process of its own."""
    sizes = SIZES if run.takes_all else SIZES[:1]
    rates = {size: _in_process("rate", size) for size in sizes}
    found = [
        at_least(f"tokens read a second, {size // 1_000_000}M tokens", rate, RATE)
        for size, rate in rates.items()
    ]
    if len(rates) > 1:
        found.append(at_least("rate at 5M in units of that at 1M", rates[SIZES[1]] / rates[SIZES[0]], 0.8))
    return [*found, at_most("memory in units of the input", _in_process("memory", _MEMORY_SIZE), MEMORY)]


def planted(seed: int) -> list[tuple[str, str, bool]]:
    """One conversation: what was planted, where, and whether the summary says it."""
    chance = random.Random(seed)
    messages = _filler(chance, MESSAGES)
    places = {}
    for number, kind in enumerate(("constraint", "edit", "failing", "fixed") * 3):
        third = THIRDS[number // 4]
        places[kind, third] = _place(chance, number // 4)
    for (kind, third), place in sorted(places.items(), key=lambda pair: -pair[1]):
        messages[place:place] = _plant(kind, f"{third}{seed}")
    done = written(messages)
    text = f"{done.summary}\n{done.evidence}"
    blocked = section(done.summary, "Blocked")
    return [(kind, third, _is_kept(kind, f"{third}{seed}", text, blocked)) for kind, third in places]


def _place(chance: random.Random, third: int) -> int:
    """A place of the filler between two exchanges, not within the messages that stay."""
    width = MESSAGES // 3
    return 3 + 2 * ((third * width + chance.randrange(100, width - 200)) // 2)


def _is_kept(kind: str, name: str, text: str, blocked: list[str]) -> bool:
    lines = text.splitlines()
    if kind == "constraint":
        return says_in_a_line(lines, f"Never rename the column {name}_total")
    if kind == "edit":
        return f"src/{name}_parser.py" in text
    if kind == "failing":
        return any(f"tests/{name}_failing_test.py" in line for line in blocked)
    return not any(f"tests/{name}_fixed_test.py" in line for line in blocked)


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
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are a coding agent."},
        {"role": "user", "content": "Go through the modules one by one and note what each does."},
        {"role": "assistant", "content": "I will start with the first."},
    ]
    for number in range(count // 2):
        topic = chance.choice(("queue", "cache", "report", "invoice", "search"))
        body = "\n".join(f"{line}: {topic} step {chance.randrange(1000)}" for line in range(6))
        messages += _called(f"r{number}", "read_file", {"path": f"src/{topic}/part_{number % 700}.py"}, body)
    return messages


def _in_process(what: str, size: int) -> float:
    """One figure, measured by this file in a process that does nothing else."""
    done = subprocess.run(
        [sys.executable, __file__, what, str(size)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(__file__).parents[1]), "PATH": ""},
    )
    return float(done.stdout)


def recordings(size: int) -> list[dict[str, Any]]:
    """Recorded conversations one after another, of about so many tokens."""
    found: list[dict[str, Any]] = []
    total = 0
    while total < size:
        for name in ("dev_claudecode_entire", "dev_codex", "dev_other_agents"):
            path = DATA / f"{name}.jsonl"
            if not path.exists():
                raise DataMissing(path)
            with path.open(encoding="utf-8") as lines:
                for line in lines:
                    part = json.loads(line)["messages"][1:]
                    found += part
                    total += tokens(part)
                    if total >= size:
                        return found
    return found


def _rate(size: int) -> float:
    messages = recordings(size)
    counted = tokens(messages)
    read_facts(messages[:200])  # patterns are compiled once in the life of a process
    started = time.process_time()
    read_facts(messages)
    return counted / (time.process_time() - started)


def _memory(size: int) -> float:
    """Growth of the process while it reads, in units of the text's own size in memory."""
    messages = recordings(size)
    held = sum(sys.getsizeof(str(message)) for message in messages)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    facts = read_facts(messages)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    del facts
    return (held + grown * 1024) / held


if __name__ == "__main__":
    print({"rate": _rate, "memory": _memory}[sys.argv[1]](int(sys.argv[2])))
