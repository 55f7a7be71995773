"""Limits that a client raises with the `anthropic-beta` header, from `betas.toml`.

claude-sonnet-4.5, context-1m-2025-08-07   ->   a window of 1,000,000 tokens
"""

import tomllib
from collections.abc import Collection
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from plimsoll.models.cards import ModelCard


def limiting_betas(header: str) -> tuple[str, ...]:
    """The prefixes of the header's betas that change a model's limits, in a fixed order."""
    if not header:
        return ()
    values = [value.strip() for value in header.split(",")]
    return tuple(
        beta["prefix"] for beta in _betas() if any(value.startswith(beta["prefix"]) for value in values)
    )


def with_betas(card: ModelCard, betas: Collection[str]) -> ModelCard:
    """The card with the limits that these betas raise; they never lower a limit."""
    for beta in _betas():
        if beta["prefix"] not in betas or card.name not in beta["models"]:
            continue
        window = max(card.window, beta.get("window", 0))
        output_cap = max(card.output_cap, beta.get("output_cap", 0))
        card = replace(card, window=window, output_cap=output_cap)
    return card


@cache
def _betas() -> list[dict[str, Any]]:
    text = files("plimsoll.models").joinpath("betas.toml").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = tomllib.loads(text)["beta"]
    return found
