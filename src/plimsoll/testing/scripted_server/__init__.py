"""A model's API on loopback that answers from a script, bills like a cache and refuses what providers refuse."""

from plimsoll.testing.scripted_server.answers import Answer, call, call_text, redacted, say, think
from plimsoll.testing.scripted_server.captured import Captured
from plimsoll.testing.scripted_server.clock import Clock
from plimsoll.testing.scripted_server.faults import KINDS, Fault, fault
from plimsoll.testing.scripted_server.rules.refusal import Refusal
from plimsoll.testing.scripted_server.script import echo
from plimsoll.testing.scripted_server.server import ScriptedServer

__all__ = [
    "KINDS",
    "Answer",
    "Captured",
    "Clock",
    "Fault",
    "Refusal",
    "ScriptedServer",
    "call",
    "call_text",
    "echo",
    "fault",
    "redacted",
    "say",
    "think",
]
