"""What the driver of an adapter gets and gives.

task     {"url": …, "model": …, "questions": […], "code": [blocks of docs/integrations.md]}, on standard input
result   {"answers": […], "stored": "…"}, the last line of its output; `stored` is all that the host kept, as text
"""

import json
import sys
from pathlib import Path
from typing import Any

from recording import record

INSTRUCTIONS = "You answer questions about ships. Be brief."
FILLER = "The harbour master wrote down every ship that came in, its draught, its cargo and its line. "


class AdapterTask:
    """The task on standard input."""

    def __init__(self) -> None:
        given = json.load(sys.stdin)
        self.url: str = given["url"]
        self.model: str = given["model"]
        self.questions: list[str] = given["questions"]
        self.code: list[str] = given["code"]
        self.records: str = given.get("records", "")

    def run_code(self, **names: Any) -> dict[str, Any]:
        """The names that the code of the page defines."""
        defined = {"INSTRUCTIONS": INSTRUCTIONS, **names}
        for block in self.code:
            exec(block, defined)
        return defined

    def record(self, adapter: Any) -> None:
        """Write down what the adapter asks of the core, where the test wants to know."""
        if self.records:
            record(adapter.history, Path(self.records))


def write_result(answers: list[str], stored: Any) -> None:
    """The result, as the test reads it."""
    text = stored if isinstance(stored, str) else json.dumps(stored, ensure_ascii=False, default=str)
    print()
    print(json.dumps({"answers": answers, "stored": text}), flush=True)


def lookup(key: str) -> str:
    """Look up a ship in the register.

    Args:
        key: the name of the ship
    """
    return f"{key} lies at pier {len(key) + int(key[-1])}. " + FILLER * 8
