"""The archive: every word of every session, append-only, and what the model sees of it.

Stores are not loaded from here: `plimsoll.archive.opening` opens the one that the settings
name, `plimsoll.archive.sqlite` has the one in a file.
"""

from plimsoll.archive.change import Author, draft_of
from plimsoll.archive.interface import Archive
from plimsoll.archive.owners import OPERATOR, Owner, key_of, key_owner, room_owner
from plimsoll.archive.query import SearchHit, SearchPage, SearchQuery
from plimsoll.archive.records import (
    Appended,
    CompactionEvent,
    Lease,
    Node,
    NodeLink,
    Session,
    Source,
    Span,
    StoredMessage,
    UsageRecord,
    UsageTotal,
)
from plimsoll.archive.store import ArchiveStore
from plimsoll.archive.titles import title_of
from plimsoll.archive.views import Draft, Item, Reference, Shortened, View

__all__ = [
    "OPERATOR",
    "Appended",
    "Archive",
    "ArchiveStore",
    "Author",
    "CompactionEvent",
    "Draft",
    "Item",
    "Lease",
    "Node",
    "NodeLink",
    "Owner",
    "Reference",
    "SearchHit",
    "SearchPage",
    "SearchQuery",
    "Session",
    "Shortened",
    "Source",
    "Span",
    "StoredMessage",
    "UsageRecord",
    "UsageTotal",
    "View",
    "draft_of",
    "key_of",
    "key_owner",
    "room_owner",
    "title_of",
]
