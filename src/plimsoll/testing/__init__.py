"""Test support for projects that build on Plimsoll: the engine contract and strategies (needs `hypothesis`).

`plimsoll.testing.scripted_server` is a model's API on loopback, imported by that name.
"""

from plimsoll.testing.contract import (
    PROPERTIES,
    ContractCase,
    ContractRun,
    PropertyResult,
    cases,
    check_engine,
    run_case,
)
from plimsoll.testing.strategies import conversations, texts, tool_rounds, turns, user_messages

__all__ = [
    "PROPERTIES",
    "ContractCase",
    "ContractRun",
    "PropertyResult",
    "cases",
    "check_engine",
    "conversations",
    "run_case",
    "texts",
    "tool_rounds",
    "turns",
    "user_messages",
]
