"""For people who build on Plimsoll: the engine contract and strategies for conversations (needs `hypothesis`)."""

from plimsoll.testing.contract import PROPERTIES, Case, Run, Verdict, cases, check_engine, run_case
from plimsoll.testing.strategies import conversations, texts, tool_rounds, turns, user_messages

__all__ = [
    "PROPERTIES",
    "Case",
    "Run",
    "Verdict",
    "cases",
    "check_engine",
    "conversations",
    "run_case",
    "texts",
    "tool_rounds",
    "turns",
    "user_messages",
]
