"""The engine's log and nodes in the host's archive, which contains everything needed after a restart.

    view ──► items of the archive, each with its number in the log ──► positions

The host has stored every message before the engine sees it, so nothing is ingested here
and nothing can be ingested twice.
"""

from collections.abc import Sequence

from plimsoll.archive import Node, PersonEdits, SearchPage, SearchQuery, StoredMessage, ViewItem
from plimsoll.archive.blocking import BlockingArchive
from plimsoll.messages import Message, match_messages


class ArchiveNodeStore:
    """One session of an archive."""

    def __init__(self, archive: BlockingArchive, session: str) -> None:
        self._archive = archive
        self._session = session

    @property
    def session(self) -> str:
        return self._session

    def of(self, session: str) -> "ArchiveNodeStore":
        """The store of another session in the same archive."""
        return ArchiveNodeStore(self._archive, session)

    def positions(self, messages: Sequence[Message]) -> list[int]:
        items = self._archive.run(self._archive.archive.items(self._session))
        begins = len(messages) <= len(items) and all(
            message == item.message for message, item in zip(messages, items, strict=False)
        )
        if begins:
            return [item.sequence for item, _ in zip(items, messages, strict=False)]
        return _aligned(messages, items)

    def record_view(self, messages: Sequence[Message], positions: Sequence[int]) -> None:
        """Does nothing: the host stores the view once it adopts it."""

    def messages(self, first: int, last: int, session: str = "") -> list[StoredMessage]:
        return self._archive.run(self._archive.archive.messages(session or self._session, first, last))

    def nodes(self, session: str = "") -> list[Node]:
        return self._archive.run(self._archive.archive.nodes(session or self._session, inherited=True))

    def add(self, nodes: Sequence[Node]) -> None:
        if nodes:
            self._archive.run(self._archive.archive.add_nodes(self._session, nodes))

    def search(self, query: SearchQuery) -> SearchPage:
        return self._archive.run(self._archive.archive.search(query))

    def scratch(self) -> "ArchiveNodeStore":
        return _ScratchNodeStore(self._archive, self._session)

    def by_handle(self, handle: str) -> StoredMessage | None:
        found = self._archive.run(self._archive.archive.find_by_handle(handle, id=self._session, limit=1))
        return found[0] if found else None

    def edits(self) -> PersonEdits:
        return self._archive.run(self._archive.archive.edits(self._session))


class _ScratchNodeStore(ArchiveNodeStore):
    """Reads the archive and stores new nodes only in memory."""

    def __init__(self, archive: BlockingArchive, session: str) -> None:
        super().__init__(archive, session)
        self._added: dict[str, Node] = {}

    def nodes(self, session: str = "") -> list[Node]:
        return [*super().nodes(session), *(self._added.values() if session in ("", self.session) else ())]

    def add(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self._added.setdefault(node.id, node)


def _aligned(messages: Sequence[Message], items: Sequence[ViewItem]) -> list[int]:
    """The log positions of a list that is not the view; 0 for messages outside the view."""
    places = match_messages(
        [item.message for item in items],
        messages,
        fixed=[place for place, item in enumerate(items) if item.node],
        shortened=[place for place, item in enumerate(items) if item.shortened],
    )
    return [0 if place is None else items[place].sequence for place in places]
