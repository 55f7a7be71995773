"""Conversations in the archive: stored at their first compaction or from the start; found by any process.

    compact ─► store what the client sent ─► index ─► commit the view ─► upstream ─► the client's answer
    a later request, another process ─► index ─► archive ─► the same view

The index is written before the view, and both before the request is sent. So a process that is killed at any moment
leaves no view that cannot be found.

The log is what the client sends again; the view refers to it. Messages that await an answer are stored with the
request that brings the answer back, because many clients change them until then.

    turn 1   u1 a1 u2+files                stored: u1 a1
    turn 2   u1 a1 u2 a2 u3+files          stored: u1 a1 u2 a2, in the same session

A conversation becomes a separate session only if another continuation of its messages is stored. Both share the
earlier messages without copying them.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import islice, takewhile

from plimsoll.archive import Archive, CompactionEvent, Owner, UsageRecord, View, ViewItem, title_of
from plimsoll.dialects import drop_bound_thinking
from plimsoll.errors import Conflict, UnknownSession
from plimsoll.gateway.dropin.client_conversation import ClientConversation
from plimsoll.gateway.dropin.compacted_view import CompactedView, make_compacted_view
from plimsoll.gateway.dropin.conversation_index import ConversationIndex, IndexEntry
from plimsoll.messages import Message, answered_through
from plimsoll.models import UsageAnchor, card_for
from plimsoll.sessions import ArchiveJournal
from plimsoll.sessions.pins import with_pins


class ConversationStore:
    """Stores conversations and finds them again. `holder` names this process in leases.

    Each conversation is read and written in the archive of its own owner.
    """

    def __init__(
        self,
        archive_of: Callable[[Owner], Archive],
        index: ConversationIndex,
        holder: str,
        stores_all: bool = False,
    ) -> None:
        self._archive_of, self._index, self._holder = archive_of, index, holder
        self.stores_all = stores_all

    async def update_from_archive(self, conversation: ClientConversation, model: str) -> None:
        """Update a conversation from the archive, because another process may have written to it."""
        conversation.mark_searched()
        known = await self._index.find(conversation.chain)
        journal = conversation.journal
        if journal is not None:
            if (
                known is None
                or known.session == journal.session
                or known.wire <= _stored(conversation, journal.last)
            ):
                await self._refresh(conversation, journal, model)
                return
            conversation.forget_session()  # another process continued it in a separate session
        if known is not None and known.lead == len(conversation.lead):
            await self._adopt(conversation, known, model)
        elif conversation.parent is not None:
            await self._look_back(conversation, conversation.parent, model)

    async def commit(
        self,
        conversation: ClientConversation,
        compacted: Sequence[Message],
        event: CompactionEvent,
        model: str,
    ) -> None:
        """Store a compaction of a conversation, and show it to the model.

        Branches share a session while their messages are the same. If another branch has compacted it meanwhile, this
        one uses that compaction. If another branch has added messages, this one becomes a separate session.
        """
        made, seen = _Compaction(conversation, compacted, event), _number(conversation.compacted_view)
        try:
            await self._commit(conversation, made, model)
        except Conflict:
            journal = conversation.journal
            if journal is None:
                raise
            await self._refresh(conversation, journal, model)
            if _number(conversation.compacted_view) > seen:
                return
            if _number(conversation.compacted_view) < seen or not conversation.is_stored:
                raise  # a user has undone a compaction or deleted the session
            if (
                conversation.journal is not None
                and (await journal.archive.session(journal.session)).view != seen
            ):
                conversation.leave_session(journal.session, journal.last)
            await self._commit(conversation, made, model)

    async def store(self, conversation: ClientConversation, model: str) -> ArchiveJournal:
        """Store the conversation in the archive, as far as its client sends it again."""
        # Later messages are stored with the request that brings them.
        known = [*conversation.lead, *conversation.log[: conversation.settled()]]
        journal = conversation.journal or await self._begun(conversation, model, "")
        await self._add(conversation, journal, known)
        return journal

    def stores(self, conversation: ClientConversation) -> bool:
        """Whether a conversation is stored: after its first compaction, or always if the settings say so."""
        # A first request has no message yet that its client has sent again.
        return conversation.journal is not None or (self.stores_all and conversation.settled() > 0)

    async def used(self, conversation: ClientConversation, usage: UsageRecord) -> None:
        """Store the usage of a request of a stored conversation, and update the index.

        The answer is stored with the next request, so a request's usage always precedes its answer.
        """
        if not self.stores(conversation):
            return
        journal = await self.store(conversation, usage.model)
        await journal.used(usage)
        await self.note(conversation)

    async def summarised(self, conversation: ClientConversation) -> None:
        """Store the usage of a stored conversation's summaries that the archive does not have yet."""
        if conversation.journal is not None and conversation.compactor is not None:
            await conversation.compactor.account.store(conversation.journal.used)

    async def note(self, conversation: ClientConversation) -> None:
        """Index the conversation, as far as it is stored.

        The client's next request may have extended it meanwhile. An entry for messages that are not stored yet would
        lead another process to a log that is too short.
        """
        journal, anchor = conversation.journal, conversation.anchor
        wire = _stored(conversation, journal.last) if journal else 0
        if journal is None or not wire:
            return
        await self._index.put(
            IndexEntry(
                hash=conversation.chain[wire - 1],
                session=journal.session,
                wire=wire,
                lead=len(conversation.lead),
                reported=anchor.reported or 0,
                estimated=anchor.estimated,
                ratio=anchor.ratio,
            )
        )

    async def close(self) -> None:
        """Close the index. The archive stays open."""
        await self._index.close()

    async def _commit(self, conversation: ClientConversation, made: "_Compaction", model: str) -> None:
        """Store, then index, then change the view: in this order, a killed process loses nothing."""
        journal = conversation.journal or await self._begun(conversation, model, made.event.engine)
        waiting = made.waiting(journal.last)
        await self._add(conversation, journal, made.known[: len(made.known) - waiting])
        await self.note(conversation)
        before, compacted = (
            messages[: len(messages) - waiting] for messages in (made.before, made.compacted)
        )
        await journal.compacted(before, await self._with_pins(journal, before, compacted), made.event)
        # The client's next request may have extended the conversation meanwhile; the view ends before it.
        conversation.show(
            await self._compacted_view(
                conversation, journal.session, _stored(conversation, journal.last), model
            )
        )

    async def _add(
        self, conversation: ClientConversation, journal: ArchiveJournal, known: Sequence[Message]
    ) -> None:
        missing = known[journal.last :]
        if missing:
            await journal.add(missing)
            # A branch may have stored the same messages and more.
            journal.last = min(journal.last, len(known))
        conversation.store_in(journal)

    async def _with_pins(
        self, journal: ArchiveJournal, before: Sequence[Message], compacted: Sequence[Message]
    ) -> Sequence[Message]:
        """The compacted view with every pinned message."""
        pins = set(await journal.archive.pins(journal.session))
        if not pins:
            return compacted
        items = await journal.archive.items(journal.session)
        return with_pins(before, compacted, [n for n, item in enumerate(items) if item.sequence in pins])

    async def _begun(self, conversation: ClientConversation, model: str, engine: str) -> ArchiveJournal:
        archive = self._archive_of(conversation.owner)
        if conversation.parent is not None:
            session, at = conversation.parent
            rewrite = drop_bound_thinking if card_for(model).preserved_thinking else None
            view = _number(conversation.compacted_view)
            forked = await archive.fork(session, at=at, view=view, rewrite=rewrite)
            return ArchiveJournal(archive, forked.id, self._holder, forked.messages)
        made = await archive.create_session(title=title_of(conversation.log), model=model, engine=engine)
        return ArchiveJournal(archive, made.id, self._holder, 0)

    async def _adopt(self, conversation: ClientConversation, known: IndexEntry, model: str) -> None:
        """Continue a conversation that another process, or this one before a restart, has stored."""
        archive = self._archive_of(conversation.owner)
        try:
            session = await archive.session(known.session)
        except UnknownSession:
            return  # a user deleted it
        at = conversation.sequence_at(known.wire)
        if session.messages < at:
            return
        if known.lead:
            # A client may have changed its system prompt since; the log has the original one.
            stored_lead = await archive.messages(session.id, 1, known.lead)
            conversation.set_lead([entry.message for entry in stored_lead])
        # A killed process may have stored more than the index says.
        stored = await self._agrees(conversation, session.id, at, session.messages)
        if conversation.compacted_view is None or conversation.compacted_view.number != session.view:
            conversation.show(
                await self._compacted_view(
                    conversation, session.id, _stored(conversation, stored or at), model
                )
            )
        conversation.set_earlier_compactions(await archive.compactions(session.id, limit=1))
        if stored:
            conversation.store_in(ArchiveJournal(archive, session.id, self._holder, stored))
        else:
            conversation.leave_session(session.id, at)
        if conversation.anchor.reported is None and known.reported:
            anchor = UsageAnchor(ratio=known.ratio)
            conversation.anchor_to(anchor.observe(known.reported, known.estimated))

    async def _look_back(self, conversation: ClientConversation, parent: tuple[str, int], model: str) -> None:
        """Use the view of the parent session as it was at the branching message."""
        if conversation.compacted_view is not None:
            return
        session, at = parent
        try:
            conversation.show(
                await self._compacted_view(conversation, session, _stored(conversation, at), model)
            )
        except UnknownSession:
            conversation.forget_parent()  # a user deleted it

    async def _refresh(self, conversation: ClientConversation, journal: ArchiveJournal, model: str) -> None:
        """Reload a session that another process has written to, or in which a user has undone a compaction."""
        archive = self._archive_of(conversation.owner)
        try:
            session = await archive.session(journal.session)
        except UnknownSession:
            conversation.forget_session()
            conversation.show(None)
            return
        if session.messages != journal.last:
            stored = await self._agrees(conversation, session.id, journal.last, session.messages)
            if stored:
                journal.last = stored
            else:
                conversation.leave_session(session.id, journal.last)
        if session.view != _number(conversation.compacted_view):
            conversation.show(
                await self._compacted_view(
                    conversation, session.id, _stored(conversation, journal.last), model
                )
            )
            conversation.set_earlier_compactions(await archive.compactions(session.id, limit=1))
            if conversation.compactor is not None and (await archive.edits(session.id)).hidden:
                conversation.compactor.host.forget_summaries()  # content that a user removed must not come back

    async def _agrees(self, conversation: ClientConversation, session: str, at: int, last: int) -> int:
        """`last` if a stored log continues after message `at` like this conversation; else 0."""
        archive, own = self._archive_of(conversation.owner), [*conversation.lead, *conversation.log]
        if last > len(own):
            return 0
        stored = await archive.messages(session, at + 1, last) if last > at else []
        return last if [entry.message for entry in stored] == own[at:last] else 0

    async def _compacted_view(
        self, conversation: ClientConversation, session: str, wire: int, model: str
    ) -> CompactedView | None:
        """The newest view of a session that serves the conversation; None if that is the log.

        The client's list equals that of the session up to `wire`. An edit does not change what a view covers, so an
        edited view is checked by the one that it was made from. Dropped messages are left out of every view.
        """
        archive, at, lead = (
            self._archive_of(conversation.owner),
            conversation.sequence_at(wire),
            len(conversation.lead),
        )
        view, edits = await archive.view(session), await archive.edits(session)
        dropped = {number for number in edits.dropped if number <= at}
        hidden = dropped - conversation.needed_of(dropped)
        while view.number or hidden:
            base = await _unedited(archive, session, view, edits.views)
            items = _up_to(await archive.items(session, view), at)
            if (
                base.through <= at
                and dropped - hidden <= {item.sequence for item in items}
                and not await self._takes_later_replies(conversation.owner, session, base, at)
            ):
                compacted_view = make_compacted_view(
                    _without(items, hidden, card_for(model).preserved_thinking),
                    conversation.ends,
                    lead,
                    at - lead,
                    number=view.number,
                    dialect=conversation.dialect,
                    model=model,
                    made_at=max(0, view.log_length - lead) if view.log_length <= at else 0,
                    answered=answered_through(conversation.log[: max(0, min(base.log_length, at) - lead)]),
                    recalls=conversation.recalls,
                )
                if compacted_view.serves(conversation.log):
                    return compacted_view
            if not view.number:
                break
            view = await archive.view(session, view.previous or 0)
        return None

    async def _takes_later_replies(self, owner: Owner, session: str, view: View, at: int) -> bool:
        """Whether a view's summary takes replies after message `at` into account."""
        later = range(at + 1, view.log_length + 1)
        stored = await self._archive_of(owner).messages(session, later[0], later[-1]) if later else ()
        return any(entry.message.get("role") == "assistant" for entry in stored)


class _Compaction:
    """A snapshot of a conversation and its compaction, independent of what its client sends meanwhile."""

    def __init__(
        self, conversation: ClientConversation, compacted: Sequence[Message], event: CompactionEvent
    ) -> None:
        self.before, self.compacted, self.event = conversation.view(), compacted, event
        self.known = [*conversation.lead, *conversation.log]
        self._settled = len(conversation.lead) + conversation.settled()
        self._ends = {len(conversation.lead) + end for end in conversation.ends}

    def waiting(self, stored: int) -> int:
        """How many messages at the end are not stored yet.

        0 if the compaction changed one of them, or if the first of them belongs to a wire message whose beginning is
        stored: a view serves only whole wire messages.
        """
        first = max(stored, self._settled)
        count = max(0, len(self.known) - first) if first in self._ends else 0
        ends = zip(reversed(self.before), reversed(self.compacted), strict=False)
        return count if sum(1 for _ in takewhile(_is_same, islice(ends, count))) == count else 0


def _is_same(pair: tuple[Message, Message]) -> bool:
    return pair[0] == pair[1]


def _number(compacted_view: CompactedView | None) -> int:
    return compacted_view.number if compacted_view else 0


def _up_to(items: Sequence[ViewItem], at: int) -> list[ViewItem]:
    return [item for item in items if item.node or item.sequence <= at]


def _without(items: Sequence[ViewItem], numbers: Collection[int], unbind: bool) -> list[ViewItem]:
    """The items without these messages; `unbind`: and without signed thinking after the first of them."""
    kept = [item for item in items if item.sequence not in numbers]
    if not unbind or len(kept) == len(items):
        return kept
    first = next(place for place, item in enumerate(items) if item.sequence in numbers)
    messages = drop_bound_thinking([item.message for item in kept], first)
    return [
        item if item.message is message else replace(item, message=message, shortened=True)
        for item, message in zip(kept, messages, strict=True)
    ]


async def _unedited(archive: Archive, session: str, view: View, edited: Collection[int]) -> View:
    """The view that a user's edits started from."""
    while view.number in edited:
        view = await archive.view(session, view.previous or 0)
    return view


def _stored(conversation: ClientConversation, last: int) -> int:
    """How many messages of the client's list a log of `last` messages covers."""
    return sum(len(conversation.lead) + end <= last for end in conversation.ends)
