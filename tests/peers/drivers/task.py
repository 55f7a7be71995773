"""What a driver gets and gives: a task as JSON on standard input, the answers as the last line of its output.

    {"url": …, "api": "openai" | "anthropic" | "responses" | "gemini", "model": …, "program": …, "folder": …,
     "questions": […], "commands": [[…]], "code": […]}

Drivers run in the environments of the clients, so this module imports only the standard library.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILLER = "The harbour master wrote down every ship that came in, its draught, its cargo and its line. "
SYSTEM = "You answer questions about ships. Be brief."
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}


@dataclass(frozen=True)
class Task:
    """One conversation to hold."""

    url: str  # the root of the server
    api: str
    model: str
    program: str  # the client's own command, where it has one
    folder: Path  # the working directory; HOME lies in it
    questions: list[str]
    commands: list[list[str]]  # of the client's recipe
    code: list[str]  # of the client's recipe

    @property
    def openai_url(self) -> str:
        """The base address for clients of OpenAI's API."""
        return f"{self.url}/v1"


def read_task() -> Task:
    """The task on standard input."""
    given = json.load(sys.stdin)
    return Task(**{**given, "folder": Path(given["folder"])})


def write_answers(answers: list[str]) -> None:
    """The answers, as the test reads them."""
    print()
    print(json.dumps(answers), flush=True)


def lookup(key: str) -> str:
    """Look up a ship in the register.

    Args:
        key: the name of the ship
    """
    return f"{key} lies at pier {len(key) + int(key[-1])}. " + FILLER * 12
