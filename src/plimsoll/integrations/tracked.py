"""One conversation of a host: what must be known between two requests.

    chain     h1  h2  h3  h4          one hash for each canonical message, over it and everything before it
    log       m1  m2  m3  m4
    views     what the model saw of the log after each compaction, oldest first

The host always sends its whole history. If that goes back or branches, the newest view that does not cover later
messages is used, or the history itself.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from plimsoll.agent import Compactor, SharedPreparations, can_draft
from plimsoll.context import ContextEngine
from plimsoll.context.coverage import is_shared, serves
from plimsoll.context.markers import OwnSummary, as_said, has_note, is_summary
from plimsoll.dialects.rewriting import KeptMessage
from plimsoll.messages import SYSTEM_ROLES, Message, answered_through, match_messages
from plimsoll.models import UsageAnchor, estimate_message_tokens
from plimsoll.sessions import ArchiveJournal

MAX_DECISIONS = 256  # requests that may be repeated with the same result


@dataclass(frozen=True, slots=True)
class LogView:
    """What the model sees of a log after a compaction. The messages after `through` follow unchanged."""

    lead: tuple[Message, ...]  # the system prompt, with the note
    kept: tuple[KeptMessage, ...]
    tokens: int  # of `kept`, estimated
    through: int
    whole: frozenset[int]
    made_at: int
    answered: int

    @property
    def has_note(self) -> bool:
        """Whether the system prompt has the compaction note."""
        return any(map(has_note, self.lead))


@dataclass(slots=True, eq=False)
class TrackedConversation:
    """A conversation; its requests are served one at a time."""

    lead: tuple[Message, ...]  # the system prompt as first sent
    chain: list[bytes] = field(default_factory=list)
    log: list[Message] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)  # of each message, estimated
    views: list[LogView] = field(default_factory=list)
    anchor: UsageAnchor = field(default_factory=UsageAnchor)
    sent: tuple[int, int] = (
        0,
        0,
    )  # messages of the newest request without a reported count, and its estimate
    compactor: Compactor | None = None
    parent: ContextEngine | None = None  # of the conversation that this one branched from
    branches: SharedPreparations = field(default_factory=SharedPreparations)
    decisions: dict[tuple[bytes, int, int], LogView | None] = field(default_factory=dict)
    removed: tuple[Message, ...] = ()  # messages that the host itself no longer has
    journal: ArchiveJournal | None = None
    limit: int | None = None  # the window that the provider stated
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def extend(self, log: Sequence[Message], chain: Sequence[bytes]) -> None:
        """Add the messages after the known ones."""
        new = [as_said(message) for message in log[len(self.chain) :]]
        self.chain += chain[len(self.chain) :]
        self.log += new
        self.tokens += map(estimate_message_tokens, new)

    @property
    def current(self) -> LogView | None:
        """The newest view that serves the current log; None if the model sees the log itself."""
        return next((view for view in reversed(self.views) if serves(view, self.log)), None)

    def kept(self, view: LogView | None) -> list[KeptMessage]:
        """What the model sees after the system prompt."""
        following = range(view.through if view else 0, len(self.log))
        return [*(view.kept if view else ()), *(KeptMessage(self.log[place], place) for place in following)]

    def messages(self, view: LogView | None) -> list[Message]:
        """What the model sees, in canonical form; the same objects each time."""
        return [*(view.lead if view else self.lead), *(entry.message for entry in self.kept(view))]

    def view_tokens(self, view: LogView | None) -> int:
        """Estimated tokens of the view, without the system prompt."""
        return (view.tokens if view else 0) + sum(self.tokens[view.through if view else 0 :])

    def report(self, reported: int) -> None:
        """Record the provider's token count for the newest answered request."""
        count, estimated = self.sent
        if reported > 0 and estimated and answered_through(self.log) > count:
            self.anchor, self.sent = self.anchor.observe(reported, estimated), (0, 0)

    def show(self, before: LogView | None, compacted: Sequence[Message]) -> LogView:
        """The view after a compaction of the previous one."""
        lead = [message for message in compacted[: len(self.lead)] if message.get("role") in SYSTEM_ROLES]
        after, known = compacted[len(lead) :], self.kept(before)
        places = match_messages([entry.message for entry in known], after)
        kept = [
            _kept(message, known[n] if n is not None else None)
            for message, n in zip(after, places, strict=True)
        ]
        through = len(self.log)
        while kept and through and kept[-1].place == through - 1:
            kept.pop()
            through -= 1
        view = LogView(
            lead=tuple(lead),
            kept=tuple(kept),
            tokens=sum(estimate_message_tokens(entry.message) for entry in kept),
            through=through,
            whole=frozenset(entry.place for entry in kept if entry.place is not None),
            made_at=len(self.log),
            answered=answered_through(self.log),
        )
        self.views.append(view)
        return view

    def use(self, compactor: Compactor) -> None:
        """Set the conversation's compactor, which continues from the facts of the parent's."""
        self.compactor, engine, parent = compactor, compactor.engine, self.parent
        if parent is not None and can_draft(parent) and can_draft(engine):
            engine.remembered = parent.remembered.copied()

    def decide(self, key: tuple[bytes, int, int], view: LogView | None) -> None:
        """Record the view for a request with exactly these messages, so that repetitions get the same."""
        while len(self.decisions) >= MAX_DECISIONS:
            del self.decisions[next(iter(self.decisions))]
        self.decisions[key] = view

    def fork(self, place: int, lead: tuple[Message, ...]) -> "TrackedConversation":
        """A branch that shares the first `place` messages, with its own system prompt."""
        views, shared = [view for view in self.views if is_shared(view, place)], set(self.chain[:place])
        # Messages that the host has dropped belong to the summary that replaced them: without that summary, the
        # branch is a different conversation that only starts with the same words.
        is_same = not self.removed or any(isinstance(message, OwnSummary) for message in self.log[:place])
        if not is_same:
            views, shared = [], set()
        return TrackedConversation(
            lead=lead,
            chain=self.chain[:place],
            log=self.log[:place],
            tokens=self.tokens[:place],
            views=[view if view.made_at <= place else replace(view, made_at=0) for view in views],
            anchor=self.anchor,
            parent=self.compactor.engine if self.compactor else self.parent,
            branches=self.branches,
            decisions={key: view for key, view in self.decisions.items() if key[0] in shared},
            removed=self.removed if is_same else (),
            limit=self.limit,
        )

    def replaced(
        self, view: LogView | None, log: Sequence[Message], chain: Sequence[bytes]
    ) -> "TrackedConversation":
        """The conversation for a host whose history is now the view, in the form of `log`."""
        # The summary is still recognised as ours, whatever the host's form of it is.
        own = [
            OwnSummary(message) if is_summary(message) and not _was_said(message, self.log) else message
            for message in log
        ]
        return TrackedConversation(
            lead=view.lead if view else self.lead,
            chain=list(chain),
            log=own,
            tokens=list(map(estimate_message_tokens, own)),
            views=[LogView(view.lead, (), 0, 0, frozenset(), 0, 0)] if view else [],  # the note stays
            anchor=self.anchor,
            sent=(len(own), self.sent[1]),
            compactor=self.compactor,
            branches=self.branches,
            removed=(*self.removed, *self._left(view)),
            journal=self.journal,
            limit=self.limit,
        )

    def learn_limit(self, limit: int | None) -> None:
        """Record the window that the provider stated in a refusal."""
        if limit and limit < (self.limit or limit + 1):
            self.limit = limit

    def window(self, stated: int) -> int:
        """The smaller of the configured window and the one that the provider stated."""
        return min(stated, self.limit or stated)

    def _left(self, view: LogView | None) -> list[Message]:
        """The messages of the log that are not verbatim in a view."""
        if view is None:
            return []
        gone = (message for place, message in enumerate(self.log[: view.through]) if place not in view.whole)
        return [message for message in gone if not isinstance(message, OwnSummary)]


def _was_said(message: Message, log: Sequence[Message]) -> bool:
    """Whether the log has a real message with the same text as this summary."""
    return any(item == message and not isinstance(item, OwnSummary) for item in log)


def _kept(message: Message, before: KeptMessage | None) -> KeptMessage:
    """A message after a compaction, with its position in the log or its original."""
    if before is None:
        return KeptMessage(message)
    if message is before.message or message == before.message:
        return KeptMessage(before.message, before.place, before.source)
    return KeptMessage(message, None, before.source if before.place is None else before.place)
