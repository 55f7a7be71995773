"""Conversations that outlive the process: the agent on top of the archive."""

from plimsoll.sessions.actions import ActionResult, SessionActions, open_actions
from plimsoll.sessions.compaction_detail import (
    CompactionDetail,
    DetailItem,
    LostFact,
    SourcedLine,
    compaction_detail,
)
from plimsoll.sessions.conversation import Conversation, ConversationParts
from plimsoll.sessions.exchange import Exchange
from plimsoll.sessions.hygiene import Hygiene
from plimsoll.sessions.journal import ArchiveJournal
from plimsoll.sessions.message_filter import MessageFilter
from plimsoll.sessions.pins import with_pins
from plimsoll.sessions.recall import recall_tool
from plimsoll.sessions.view_edits import CacheEffect

__all__ = [
    "ActionResult",
    "ArchiveJournal",
    "CacheEffect",
    "CompactionDetail",
    "Conversation",
    "ConversationParts",
    "DetailItem",
    "Exchange",
    "Hygiene",
    "LostFact",
    "MessageFilter",
    "SessionActions",
    "SourcedLine",
    "compaction_detail",
    "open_actions",
    "recall_tool",
    "with_pins",
]
