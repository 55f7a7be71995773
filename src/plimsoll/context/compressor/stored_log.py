"""Reads the messages that a stored summary replaced from the host's archive.

view   1  2  S  41  42'  43        replaced: 3 … 40        42' is a shortened result, 42 its original

Messages that a person dropped, and those that a person summarised, are not included; such a summary counts
by its text.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from plimsoll.context.ledger import LoggedSource
from plimsoll.context.markers import summary_body
from plimsoll.messages import leading_system_messages, text_of

if TYPE_CHECKING:
    from plimsoll.archive import ViewItem
    from plimsoll.archive.blocking import BlockingArchive

MAX_MESSAGES = 50_000  # messages to read again; a summary of more messages counts by its text


class StoredLog:
    """One session of an archive, for an engine's thread."""

    def __init__(self, archive: "BlockingArchive", session: str) -> None:
        self._archive, self._session = archive, session

    def replaced_messages(self, summary: str) -> LoggedSource | None:
        """The messages that this summary replaced; None if it is not in the view, or there are too many."""
        items = self._archive.run(self._archive.archive.items(self._session))
        if not any(item.node and summary in text_of(item.message) for item in items):
            return None
        seen = {item.sequence for item in items if item.sequence}
        edits = self._archive.run(self._archive.archive.edits(self._session))
        removed = set(range(1, max(seen, default=0))) - seen - edits.hidden
        earlier = summary_body(edits.summary.message) if edits.summary else ""
        if len(removed) > MAX_MESSAGES or not (removed or earlier):
            return None
        return self._source(items, removed, max(seen, default=0), earlier)

    def _source(
        self, items: "Sequence[ViewItem]", removed: set[int], last: int, earlier: str
    ) -> LoggedSource:
        first = min(removed, default=last)
        stored = self._archive.run(self._archive.archive.messages(self._session, first, last))
        messages = {entry.sequence: entry.message for entry in stored}
        # The view has the system prompt that the host sends now, so the stored one is not read.
        prompt = leading_system_messages(list(messages.values())) if first == 1 else 0
        replaced = [n for n in sorted(removed) if n in messages and n > prompt]
        shortened = [
            (item.message, messages[item.sequence])
            for item in items
            if item.shortened and item.sequence in messages
        ]
        view = tuple(item.sequence - 1 if item.sequence else -1 for item in items)
        return LoggedSource(
            [messages[n] for n in replaced], shortened, [n - 1 for n in replaced], view, earlier
        )
