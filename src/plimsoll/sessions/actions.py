"""Users' actions on a session. REST, the terminal and the chat all call these operations.

    drop · edit the summary · undo · redo      a new or earlier view; the log stays as it is
    pin · unpin · fork                          operations of the archive

Every operation is one transaction of the archive, including the record of who did it. With `preview`, it changes
nothing and returns what it would do, whether the gate refuses it and what it costs.
"""

import os
import secrets
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from plimsoll.archive import Action, Archive, CompactionEvent, Lease, Session, View
from plimsoll.context.markers import without_prefix
from plimsoll.dialects import drop_bound_thinking
from plimsoll.errors import EditRefused, UserError
from plimsoll.models import card_for
from plimsoll.sessions.journal import ArchiveJournal
from plimsoll.sessions.turn_lock import turn_lock
from plimsoll.sessions.view_edits import (
    CacheEffect,
    EditPlan,
    cache_effect,
    drop_plan,
    summary_item,
    summary_plan,
)

PATIENCE = 30.0  # seconds to wait while a turn runs in the session
_LEASE = 5.0  # seconds for which a killed process holds the session


@dataclass(frozen=True, slots=True)
class ActionResult:
    """What an action did or would do. Sizes are those of the view, in messages and estimated tokens."""

    action: str
    preview: bool
    session: Session
    messages_before: int
    tokens_before: int
    messages_after: int
    tokens_after: int
    cache: CacheEffect
    messages: tuple[int, ...] = ()  # removed from the view
    refused: str = ""  # why the gate rejects a preview

    @property
    def view(self) -> int:
        """The number of the view afterwards."""
        return self.session.view


@dataclass(frozen=True, slots=True)
class SessionActions:
    """The actions of one user on one session. With a lease, only while it is held."""

    archive: Archive
    id: str
    actor: str
    lease: Lease | None = None

    async def drop(self, numbers: Collection[int], *, preview: bool = False) -> ActionResult:
        """Drop messages from the view, with the calls and results that belong to them. The log keeps them."""
        session, view = await self._current()
        items = await self.archive.items(self.id, view)
        plan = drop_plan(session, view, items, await self.archive.pins(self.id), numbers)
        return await self._edit("drop", session, plan, {"messages": list(plan.messages)}, preview)

    async def edit_summary(self, text: str, *, node: str, preview: bool = False) -> ActionResult:
        """Replace the text of the summary `node`. Later compactions continue from the new text only.

        Raises `Conflict` if a compaction or another edit has replaced this summary since the user read it.
        """
        if not without_prefix(text):
            raise UserError("A summary cannot be empty. To remove messages from the view, drop them.")
        session, view = await self._current()
        items = await self.archive.items(self.id, view)
        old = await self.archive.node(summary_item(session, items, node).node)
        plan = summary_plan(session, view, items, old, text, self.actor)
        (new,) = plan.draft.nodes
        if new.id == old.id:
            raise UserError(f"The summary {old.id} already has this text.")
        return await self._edit("edit", session, plan, {"node": new.id, "replaced": old.id}, preview)

    async def undo(self, *, preview: bool = False) -> ActionResult:
        """Return to the view before the last compaction or edit."""
        session, view = await self._current()
        if view.previous is None:
            raise UserError(f"Session {session.id} has no compaction or edit that could be undone.")
        target = await self.archive.view(self.id, view.previous)
        planned = await self._selection("undo", session, view, target, preview)
        if not preview:
            await self.archive.undo(self.id, lease=self.lease, actor=self.actor)
        return await self._done(planned)

    async def redo(self, *, preview: bool = False) -> ActionResult:
        """Return to the view that was last undone."""
        session, view = await self._current()
        target = await self.archive.undone_view(self.id)
        if target is None:
            raise UserError(f"Session {session.id} has nothing to redo: its last change was not an undo.")
        planned = await self._selection("redo", session, view, target, preview)
        if not preview:
            await self.archive.redo(self.id, lease=self.lease, actor=self.actor)
        return await self._done(planned)

    async def pin(self, number: int) -> list[int]:
        """Pin a message, so that every compaction keeps it verbatim. Returns all pinned messages."""
        await self.archive.pin(self.id, number, actor=self.actor)
        return await self.archive.pins(self.id)

    async def unpin(self, number: int) -> list[int]:
        """Unpin a message, so that compactions may summarise it. Returns all pinned messages."""
        await self.archive.unpin(self.id, number, actor=self.actor)
        return await self.archive.pins(self.id)

    async def fork(self, *, at: int | None = None, title: str | None = None) -> Session:
        """Create a session that shares everything up to message `at` (by default all) and continues separately."""
        model = (await self.archive.session(self.id)).model
        rewrite = drop_bound_thinking if card_for(model).preserved_thinking else None
        return await self.archive.fork(self.id, at=at, title=title, actor=self.actor, rewrite=rewrite)

    async def exported(self, format: str, *, view: bool) -> None:
        """Record that the session was exported."""
        details = {"format": format, "view": view}
        await self.archive.record_action(self.id, Action("export", self.actor, details))

    async def _current(self) -> tuple[Session, View]:
        session = await self.archive.session(self.id)
        return session, await self.archive.view(self.id, session.view)

    async def _edit(
        self, action: str, session: Session, plan: EditPlan, details: dict[str, Any], preview: bool
    ) -> ActionResult:
        messages, tokens = await self.archive.view_size(self.id)
        planned = ActionResult(
            action, preview, session, messages, tokens, plan.count, plan.tokens, plan.cache, plan.messages,
            plan.refused,
        )  # fmt: skip
        if preview:
            return planned
        if plan.refused:
            raise EditRefused(f"The view of session {session.id} was not changed: {plan.refused}.")
        event = CompactionEvent(
            trigger=action, engine=session.engine, outcome="edited", messages_before=messages,
            messages_after=plan.count, tokens_before=tokens, tokens_after=plan.tokens, author=self.actor,
        )  # fmt: skip
        done = Action(action, self.actor, details)
        await self.archive.commit_compaction(self.id, plan.draft, event, lease=self.lease, action=done)
        return await self._done(planned)

    async def _selection(
        self, action: str, session: Session, view: View, target: View, preview: bool
    ) -> ActionResult:
        before, after = [await self.archive.items(self.id, number) for number in (view, target)]
        cache = cache_effect(session.model, before, [(item.message, item.tokens) for item in after])
        sizes = [(len(items), sum(item.tokens for item in items)) for items in (before, after)]
        return ActionResult(action, preview, session, *sizes[0], *sizes[1], cache)

    async def _done(self, planned: ActionResult) -> ActionResult:
        return replace(planned, session=await self.archive.session(self.id))


@asynccontextmanager
async def open_actions(
    archive: Archive, id: str, actor: str, patience: float = PATIENCE
) -> AsyncIterator[SessionActions]:
    """A user's actions while no turn runs in the session; raises `Conflict` if one runs longer than `patience`."""
    session = await archive.session(id)
    holder = f"action-{os.getpid()}-{secrets.token_hex(4)}"
    journal = ArchiveJournal(archive, session.id, holder, session.messages)
    async with turn_lock(journal, patience, _LEASE):
        yield SessionActions(archive, session.id, actor, journal.lease)
