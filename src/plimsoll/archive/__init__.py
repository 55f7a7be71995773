"""The archive: every message of every session, append-only, and the views that the model sees.

Stores are not loaded from here: `plimsoll.archive.open_archive` opens the one that the settings
name, `plimsoll.archive.sqlite` has the one in a file.
"""

from plimsoll.archive.interface import Archive
from plimsoll.archive.outline import ReferenceOutline, SessionOutline, UsageColumns, ViewOutline
from plimsoll.archive.owners import OPERATOR, Owner, key_of, key_owner, room_owner
from plimsoll.archive.query import SearchHit, SearchPage, SearchQuery
from plimsoll.archive.records import (
    Action,
    AppendResult,
    CompactionEvent,
    Lease,
    Node,
    NodeLink,
    PersonEdits,
    Session,
    SessionFigures,
    Source,
    Span,
    StoredMessage,
    UsageRecord,
    UsageTotal,
)
from plimsoll.archive.store import ArchiveStore
from plimsoll.archive.titles import title_of
from plimsoll.archive.view_change import Author, draft_of
from plimsoll.archive.views import Reference, ShortenedReference, View, ViewDraft, ViewItem

__all__ = [
    "OPERATOR",
    "Action",
    "AppendResult",
    "Archive",
    "ArchiveStore",
    "Author",
    "CompactionEvent",
    "Lease",
    "Node",
    "NodeLink",
    "Owner",
    "PersonEdits",
    "Reference",
    "ReferenceOutline",
    "SearchHit",
    "SearchPage",
    "SearchQuery",
    "Session",
    "SessionFigures",
    "SessionOutline",
    "ShortenedReference",
    "Source",
    "Span",
    "StoredMessage",
    "UsageColumns",
    "UsageRecord",
    "UsageTotal",
    "View",
    "ViewDraft",
    "ViewItem",
    "ViewOutline",
    "draft_of",
    "key_of",
    "key_owner",
    "room_owner",
    "title_of",
]
