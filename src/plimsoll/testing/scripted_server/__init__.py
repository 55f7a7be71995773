"""A scripted model server on loopback: scripted answers, cache-aware billing, and the providers' errors."""

from plimsoll.testing.scripted_server.answers import ScriptedAnswer, call, call_text, redacted, say, think
from plimsoll.testing.scripted_server.captured import CapturedRequest
from plimsoll.testing.scripted_server.clock import Clock
from plimsoll.testing.scripted_server.faults import KINDS, Fault, fault
from plimsoll.testing.scripted_server.rules.refusal import Refusal
from plimsoll.testing.scripted_server.script import echo
from plimsoll.testing.scripted_server.server import ScriptedServer

__all__ = [
    "KINDS",
    "CapturedRequest",
    "Clock",
    "Fault",
    "Refusal",
    "ScriptedAnswer",
    "ScriptedServer",
    "call",
    "call_text",
    "echo",
    "fault",
    "redacted",
    "say",
    "think",
]
