"""Conversations and candidates for tests of the auxiliary model."""

from pathlib import Path
from typing import Any

from plimsoll.models import card_for
from plimsoll.providers import Endpoint, Retries, Timeouts
from plimsoll.providers.auxiliary import Auxiliary, Candidate
from plimsoll.testing.scripted_server import ScriptedServer

KEY = "sk-test-the-key-of-this-test-0123"
GOOD = "## Goal\nCount the ships.\n## Progress\n### Done\nShips 0 to 9 are in ships.txt.\n### In Progress\nMore.\n"
QUICK = {"retries": Retries(first_wait=0.001, longest_wait=0.002), "timeouts": Timeouts(connect=5.0)}


def candidate(
    server: ScriptedServer,
    model: str = "claude-haiku-4-5",
    dialect: str = "anthropic",
    role: str = "configured",
    window: int | None = None,
) -> Candidate:
    address = server.anthropic_url if dialect == "anthropic" else server.openai_url
    provider = "anthropic" if dialect == "anthropic" else "custom"
    headers = (("anthropic-version", "2023-06-01"),) if dialect == "anthropic" else ()
    sent = "x-api-key" if dialect == "anthropic" else "bearer"
    endpoint = Endpoint(provider, address, dialect, KEY, model, headers=headers, sent=sent)  # type: ignore[arg-type]
    card = card_for(model)
    return Candidate(endpoint, card, window or card.window, role)  # type: ignore[arg-type]


def auxiliary(*candidates: Candidate, **options: Any) -> Auxiliary:
    return Auxiliary(candidates, home=Path("/nonexistent"), **{**QUICK, **options})


def ships(turns: int = 12, words: int = 120) -> list[dict[str, Any]]:
    """A conversation about ships, ending in a request."""
    messages: list[dict[str, Any]] = [
        {
            "role": "system",
            "content": "You keep the harbour's book. " + "Every ship is written down once. " * 40,
        },
        {"role": "user", "content": "Count the ships and write them to ships.txt."},
        {"role": "assistant", "content": "I will."},
    ]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Ship {turn} came in."})
        load = f"It carries grain, timber and salt, load {turn}. " * (words // 9)
        messages.append({"role": "assistant", "content": f"Ship {turn} is Aurora {turn}. {load}"})
    return [*messages, {"role": "user", "content": "How many ships are there now?"}]
