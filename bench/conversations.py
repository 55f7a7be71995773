"""Long conversations made by code, the same every time, for measuring speed."""

import json
import random
from typing import Any


def long_conversation(count: int) -> list[dict[str, Any]]:
    """A coding session of `count` messages: requests, tool rounds, outputs of one to forty lines."""
    chance = random.Random(count)
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a careful coding agent. " * 20}]
    number = 0
    while len(messages) < count:
        if number % 10 == 0:
            request = f"Please fix bug {number} in src/module_{number % 50}.py and run the tests."
            messages.append({"role": "user", "content": request})
        name, arguments = chance.choice(
            [
                ("terminal", {"command": f"pytest tests/test_{number % 50}.py -x"}),
                ("read_file", {"path": f"src/module_{number % 50}.py"}),
                (
                    "patch",
                    {"path": f"src/module_{number % 50}.py", "old_string": "a" * 80, "new_string": "b" * 90},
                ),
            ]
        )
        call = {"id": f"call_{number}", "type": "function"}
        call["function"] = {"name": name, "arguments": json.dumps(arguments)}
        lines = "a line of output with words and 123 and path/to/file.py\n" * chance.randint(1, 40)
        output = f"exit code: {number % 2}\n{lines}"
        messages.append({"role": "assistant", "content": f"Step {number}.", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": output})
        number += 1
    return messages[:count]
