"""Test support for projects that build on Plimsoll: the engine contract and strategies (requires `hypothesis`).

`plimsoll.testing.scripted_server` is a model API on loopback; import it by that name.
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
