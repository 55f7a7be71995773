"""Conversations that outlive the process: the agent on top of the archive."""

from plimsoll.sessions.conversation import Conversation, ConversationParts
from plimsoll.sessions.exchange import Exchange
from plimsoll.sessions.hygiene import Hygiene
from plimsoll.sessions.journal import ArchiveJournal
from plimsoll.sessions.pins import with_pins
from plimsoll.sessions.recall import recall_tool

__all__ = [
    "ArchiveJournal",
    "Conversation",
    "ConversationParts",
    "Exchange",
    "Hygiene",
    "recall_tool",
    "with_pins",
]
