"""Conversations in the archive: stored when they are first compacted, found again by any process.

    compact ─► store what the client sent ─► index ─► commit the view ─► sight ─► upstream ─► the client's answer
    a later request, another process ─► index ─► archive ─► the same sight

The index is written before the view, and both before the request is sent. A process that is killed at any moment
leaves no view that nobody finds, so everything that a client has an answer to is found again.

The log is what the client sends again, the view is by reference. The messages that wait for an answer are stored with
the request that brings the answer back, because many clients change them until then.

    turn 1   u1 a1 u2+files                stored: u1 a1
    turn 2   u1 a1 u2 a2 u3+files          stored: u1 a1 u2 a2, in the same session

A conversation is a session of its own only where another continuation of its past is stored. It shares that past
without copying it.
"""

from collections.abc import Callable, Sequence
from itertools import islice, takewhile

from plimsoll.archive import Archive, CompactionEvent, Owner, UsageRecord, ViewItem, title_of
from plimsoll.errors import Conflict, UnknownSession
from plimsoll.gateway.dropin.index import ChainIndex, Known
from plimsoll.gateway.dropin.sight import Sight, make_sight
from plimsoll.gateway.dropin.thread import Thread
from plimsoll.messages import Message
from plimsoll.models import UsageAnchor
from plimsoll.sessions import ArchiveJournal
from plimsoll.sessions.pins import with_pins


class Keeper:
    """Stores conversations and finds them again. `holder` names this process in leases.

    Each conversation is read and written in the archive of its own owner.
    """

    def __init__(self, archive_of: Callable[[Owner], Archive], index: ChainIndex, holder: str) -> None:
        self._archive_of, self._index, self._holder = archive_of, index, holder

    async def recall(self, thread: Thread, model: str) -> None:
        """Bring a conversation up to what the archive knows of it, whoever wrote that."""
        thread.looked_up = True
        known = await self._index.find(thread.chain)
        journal = thread.journal
        if journal is not None:
            if (
                known is None
                or known.session == journal.session
                or known.wire <= _stored(thread, journal.last)
            ):
                await self._refresh(thread, journal, model)
                return
            thread.journal = None  # another process went on with it in a session of its own
        if known is not None and known.lead == len(thread.lead):
            await self._adopt(thread, known, model)
        elif thread.parent is not None:
            await self._look_back(thread, thread.parent, model)

    async def commit(
        self, thread: Thread, lighter: Sequence[Message], event: CompactionEvent, model: str
    ) -> None:
        """Store a compaction of a conversation, and let it see that.

        Branches share a session as long as nothing tells them apart. If another one has compacted it meanwhile, its
        compaction holds; if it has gone on, this one becomes a session of its own.
        """
        made, seen = _Compaction(thread, lighter, event), _number(thread.sight)
        try:
            await self._commit(thread, made, model)
        except Conflict:
            journal = thread.journal
            if journal is None:
                raise
            await self._refresh(thread, journal, model)
            if _number(thread.sight) > seen:
                return
            if _number(thread.sight) < seen or not thread.is_stored:
                raise  # a person has taken a compaction back, or deleted the session
            if thread.journal is not None and (await journal.archive.session(journal.session)).view != seen:
                thread.journal, thread.parent = None, (journal.session, journal.last)
            await self._commit(thread, made, model)

    async def store(self, thread: Thread, model: str) -> ArchiveJournal:
        """The conversation in the archive, as far as its client sends it again."""
        # What the client sends from here on is stored with its own request.
        known = [*thread.lead, *thread.log[: thread.settled()]]
        journal = thread.journal or await self._begun(thread, model, "")
        await self._add(thread, journal, known)
        return journal

    async def used(self, thread: Thread, usage: UsageRecord) -> None:
        """Note what a request of a stored conversation used, and where it stands now."""
        if thread.journal is None:
            return
        await thread.journal.used(usage)
        await self.store(thread, usage.model)
        await self.note(thread)

    async def summarised(self, thread: Thread) -> None:
        """Store what summaries of a stored conversation used and the archive does not have yet."""
        if thread.journal is not None and thread.compactor is not None:
            await thread.compactor.account.store(thread.journal.used)

    async def note(self, thread: Thread) -> None:
        """Make the conversation findable for every process, as far as it is stored.

        The client's next request may have extended it since. An entry for messages that are not stored yet would
        lead another process to a log that is too short for it.
        """
        journal, anchor = thread.journal, thread.anchor
        wire = _stored(thread, journal.last) if journal else 0
        if journal is None or not wire:
            return
        await self._index.put(
            Known(
                hash=thread.chain[wire - 1],
                session=journal.session,
                wire=wire,
                lead=len(thread.lead),
                reported=anchor.reported or 0,
                estimated=anchor.estimated,
                ratio=anchor.ratio,
            )
        )

    async def close(self) -> None:
        """Let go of the index; the archive belongs to whoever opened it."""
        await self._index.close()

    async def _commit(self, thread: Thread, made: "_Compaction", model: str) -> None:
        """Store, then index, then change the view: in this order, nothing is lost when the process is killed."""
        journal = thread.journal or await self._begun(thread, model, made.event.engine)
        waiting = made.waiting(journal.last)
        await self._add(thread, journal, made.known[: len(made.known) - waiting])
        await self.note(thread)
        before, lighter = (one[: len(one) - waiting] for one in (made.before, made.lighter))
        await journal.compacted(before, await self._with_pins(journal, before, lighter), made.event)
        # The client's next request may have extended the conversation meanwhile; the view ends before it.
        thread.sight = await self._sight(thread, journal.session, _stored(thread, journal.last), model)

    async def _add(self, thread: Thread, journal: ArchiveJournal, known: Sequence[Message]) -> None:
        missing = known[journal.last :]
        if missing:
            await journal.add(missing)
            # A branch may have stored the same messages and more of its own.
            journal.last = min(journal.last, len(known))
        thread.journal, thread.parent = journal, None

    async def _with_pins(
        self, journal: ArchiveJournal, before: Sequence[Message], lighter: Sequence[Message]
    ) -> Sequence[Message]:
        """The lighter view with every message that a person has pinned."""
        pins = set(await journal.archive.pins(journal.session))
        if not pins:
            return lighter
        items = await journal.archive.items(journal.session)
        return with_pins(before, lighter, [n for n, item in enumerate(items) if item.sequence in pins])

    async def _begun(self, thread: Thread, model: str, engine: str) -> ArchiveJournal:
        archive = self._archive_of(thread.owner)
        if thread.parent is not None:
            session, at = thread.parent
            forked = await archive.fork(session, at=at, view=_number(thread.sight))
            return ArchiveJournal(archive, forked.id, self._holder, forked.messages)
        made = await archive.create_session(title=title_of(thread.log), model=model, engine=engine)
        return ArchiveJournal(archive, made.id, self._holder, 0)

    async def _adopt(self, thread: Thread, known: Known, model: str) -> None:
        """Take over what another process, or an earlier life of this one, knew."""
        archive = self._archive_of(thread.owner)
        try:
            session = await archive.session(known.session)
        except UnknownSession:
            return  # a person deleted it
        at = thread.sequence_at(known.wire)
        if session.messages < at:
            return
        if known.lead:
            # A client may have changed its system prompt since; the log has the one that it began with.
            stored_lead = await archive.messages(session.id, 1, known.lead)
            thread.lead = tuple(one.message for one in stored_lead)
        # A process that was killed may have stored more than it noted.
        stored = await self._agrees(thread, session.id, at, session.messages)
        if thread.sight is None or thread.sight.number != session.view:
            thread.sight = await self._sight(thread, session.id, _stored(thread, stored or at), model)
        thread.past = await archive.compactions(session.id, limit=1)
        if stored:
            thread.journal = ArchiveJournal(archive, session.id, self._holder, stored)
            thread.parent = None
        else:
            thread.parent = (session.id, at)
        if thread.anchor.reported is None and known.reported:
            thread.anchor = UsageAnchor(ratio=known.ratio).observe(known.reported, known.estimated)

    async def _look_back(self, thread: Thread, parent: tuple[str, int], model: str) -> None:
        """What the session saw that this conversation left, as long ago as it left it."""
        if thread.sight is not None:
            return
        session, at = parent
        try:
            thread.sight = await self._sight(thread, session, _stored(thread, at), model)
        except UnknownSession:
            thread.parent = None  # a person deleted it

    async def _refresh(self, thread: Thread, journal: ArchiveJournal, model: str) -> None:
        """Another process may have written to the session, or a person taken a compaction back."""
        archive = self._archive_of(thread.owner)
        try:
            session = await archive.session(journal.session)
        except UnknownSession:
            thread.journal, thread.sight = None, None
            return
        if session.messages != journal.last:
            stored = await self._agrees(thread, session.id, journal.last, session.messages)
            if stored:
                journal.last = stored
            else:
                thread.journal, thread.parent = None, (session.id, journal.last)
        if session.view != _number(thread.sight):
            thread.sight = await self._sight(thread, session.id, _stored(thread, journal.last), model)
            thread.past = await archive.compactions(session.id, limit=1)

    async def _agrees(self, thread: Thread, session: str, at: int, last: int) -> int:
        """`last` where a stored log goes on behind message `at` as this conversation does; else 0."""
        archive, own = self._archive_of(thread.owner), [*thread.lead, *thread.log]
        if last > len(own):
            return 0
        stored = await archive.messages(session, at + 1, last) if last > at else []
        return last if [one.message for one in stored] == own[at:last] else 0

    async def _sight(self, thread: Thread, session: str, wire: int, model: str) -> Sight | None:
        """The newest view of a session that serves the conversation; None where that is the log.

        The client's list is that of the session up to `wire`.
        """
        archive, at, lead = self._archive_of(thread.owner), thread.sequence_at(wire), len(thread.lead)
        view = await archive.view(session)
        while view.number:
            if view.through <= at:
                sight = make_sight(
                    _up_to(await archive.items(session, view), at),
                    thread.ends,
                    lead,
                    at - lead,
                    number=view.number,
                    dialect=thread.dialect,
                    model=model,
                    made_at=max(0, view.log_length - lead) if view.log_length <= at else 0,
                )
                if sight.serves(thread.log):
                    return sight
            view = await archive.view(session, view.previous or 0)
        return None


class _Compaction:
    """A compaction of a conversation as it stands now, whatever its client sends meanwhile."""

    def __init__(self, thread: Thread, lighter: Sequence[Message], event: CompactionEvent) -> None:
        self.before, self.lighter, self.event = thread.view(), lighter, event
        self.known = [*thread.lead, *thread.log]
        self._settled = len(thread.lead) + thread.settled()

    def waiting(self, stored: int) -> int:
        """How many messages at the end are not stored yet; 0 where the compaction has changed one of them."""
        count = max(0, len(self.known) - max(stored, self._settled))
        ends = zip(reversed(self.before), reversed(self.lighter), strict=False)
        return count if sum(1 for _ in takewhile(_is_same, islice(ends, count))) == count else 0


def _is_same(pair: tuple[Message, Message]) -> bool:
    return pair[0] == pair[1]


def _number(sight: Sight | None) -> int:
    return sight.number if sight else 0


def _up_to(items: Sequence[ViewItem], at: int) -> list[ViewItem]:
    return [item for item in items if item.node or item.sequence <= at]


def _stored(thread: Thread, last: int) -> int:
    """How many messages of the client's list a log of `last` messages holds."""
    return sum(len(thread.lead) + end <= last for end in thread.ends)
