"""Small datasets for the tests of bulk compaction."""

import json
import random
from pathlib import Path
from typing import Any

WINDOW = "4K"


def conversation(seed: int, rounds: int = 12) -> list[dict[str, Any]]:
    """A coding session of about 3,000 tokens for twelve rounds: more than half of the window."""
    chance = random.Random(seed)
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are a careful coding agent."},
        {
            "role": "user",
            "content": f"Please fix bug {seed} in src/module_{seed}.py; never touch src/legacy.py.",
        },
    ]
    for number in range(rounds):
        arguments = json.dumps({"command": f"pytest tests/test_{number}.py -k case_{chance.randint(0, 9)}"})
        call = {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": "terminal", "arguments": arguments},
        }
        messages.append({"role": "assistant", "content": f"Step {number} of {seed}.", "tool_calls": [call]})
        output = f"exit code: {number % 2}\n" + f"line about path/to/file_{number}.py\n" * chance.randint(
            5, 30
        )
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": output})
    messages.append({"role": "assistant", "content": f"Bug {seed} is fixed."})
    return messages


def rows(count: int, rounds: int = 12) -> list[dict[str, Any]]:
    return [
        {"instance_id": f"row-{n}", "messages": conversation(n, rounds), "resolved": n % 2 == 0}
        for n in range(count)
    ]


def write_lines(path: Path, values: list[Any]) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), "utf-8")
    return path


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def output_bytes(folder: Path) -> dict[str, bytes]:
    """Everything that a run leaves; the manifest says the same but has no part in this."""
    names = {one.name for one in folder.iterdir()} - {"manifest.jsonl"}
    return {name: (folder / name).read_bytes() for name in sorted(names)}
