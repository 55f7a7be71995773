"""The owner matrix: what each owner has, and every archive call with another owner's ids.

    operation × attacker × victim      a call with the victim's ids
                                       the same call with ids that nobody has
                                       both must end alike, and nothing may change

`CASES` has an entry for every public member of `Archive`; a test fails where one is missing.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
from archive_driver import EVENT, STORES, Clock, summary, talk, user
from postgres_server import server

from plimsoll.archive import (
    OPERATOR,
    Action,
    Archive,
    Lease,
    Node,
    NodeLink,
    Owner,
    SearchQuery,
    Span,
    UsageRecord,
    View,
    ViewDraft,
    draft_of,
    key_owner,
    room_owner,
)
from plimsoll.archive.ids import node_id

OWNERS = (
    OPERATOR,
    key_owner("4f9c2a71d0e3"),
    key_owner("9b01c2d3e4f5"),
    room_owner("telegram:7007", "41"),
    room_owner("telegram:7007", "42"),
)
PINNED = 9  # the last message, the only one that the compaction leaves in the view
TABLES = (
    "sessions", "messages", "turns", "pins", "nodes", "edges", "shortenings", "views", "view_references", "events",
    "usage", "actions", "leases", "shown", "access_keys", "mail_rooms", "letters",
)  # fmt: skip


@dataclass(frozen=True)
class Belongings:
    """What an owner has, by the ids under which somebody else might ask for it."""

    session: str
    word: str  # said in the session, and nowhere else
    node: str
    view: View
    handle: str
    lease: Lease

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no other owner may ever get to see."""
        return (
            self.word, f"title-{self.word}", f"summary-{self.word}", f"model-{self.word}", f"actor-{self.word}"
        )  # fmt: skip

    @property
    def names(self) -> tuple[str, ...]:
        """The ids themselves, which an answer may repeat to a caller that sent them."""
        ids = (self.session, self.session[:-1], self.node, self.handle, self.word, self.word[2:])
        return (*ids, self.lease.holder, str(self.view.number))


def unknown(like: Belongings) -> Belongings:
    """Ids of the same form that nobody has."""
    session = f"{like.session[:-3]}zzz"
    return Belongings(
        session=session,
        word="nobodysword",
        node="n:00000000ff",
        view=replace(like.view, number=99_999, references=(NodeLink("n:00000000ff"),)),
        handle="h:00000000ff",
        lease=replace(like.lease, session=session, holder="nobody"),
    )


async def settled(archive: Archive, word: str) -> Belongings:
    """Give an owner some of everything that an archive holds."""
    said = [*talk(6, word), {"role": "tool", "tool_call_id": "c", "content": f"{word} result"}, user("go on")]
    said.insert(6, {"role": "assistant", "content": None, "tool_calls": [_call()]})
    id = (await archive.create_session(title=f"title-{word}", model=f"model-{word}", engine="lcm")).id
    await archive.append(id, said, turn="begin")
    before, items = await archive.view(id), await archive.items(id)
    draft = draft_of(id, before, items, [summary(f"summary-{word}"), said[-1]])
    view = await archive.commit_compaction(id, draft, replace(EVENT, reason=word))
    assert len(said) == PINNED
    await archive.pin(id, PINNED, actor=f"actor-{word}")
    await archive.record_usage(id, UsageRecord(f"model-{word}", input=3))
    lease = await archive.acquire(id, f"holder-{word}", 1_000)
    assert lease is not None
    stored = (await archive.messages(id, 1, 1))[0]
    return Belongings(id, word, draft.nodes[0].id, view, stored.handle, lease)


def _call() -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}


class World:
    """One store with the belongings of every owner."""

    def __init__(self, folder: Path, store: str) -> None:
        from random import Random

        self.name, self._folder = store, folder
        self.runner = asyncio.Runner()
        self.store = self.runner.run(STORES[store](folder, Clock(), Random(7)))
        self.archives = {owner: self.store.for_owner(owner) for owner in OWNERS}
        self.belongings: dict[Owner, Belongings] = {
            owner: self.runner.run(settled(archive, f"zq{number}secret"))
            for number, (owner, archive) in enumerate(self.archives.items())
        }

    def close(self) -> None:
        self.runner.run(self.store.close())
        self.runner.close()

    def rows(self) -> dict[str, list[Any]]:
        """Everything in the tables, read without the archive."""
        if self.name == "postgres":
            with psycopg.connect(server().url_for(self._folder)) as db:
                return {
                    table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES
                }
        with closing(sqlite3.connect(self._folder / "archive.db")) as db:
            return {table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES}

    def outcome(self, work: Callable[[], Awaitable[Any]]) -> str:
        """What a call gave or raised, as text."""

        async def inside() -> str:
            try:
                return repr(await work())
            except Exception as error:
                return f"{type(error).__name__}: {error}"

        return self.runner.run(inside())


Calls = Iterator[Awaitable[Any]]
Case = Callable[
    [Archive, Belongings, Belongings], Calls
]  # the attacker's archive, their own ids, the other ids


def _of_session(name: str, *arguments: Any, **named: Any) -> Case:
    """A call whose first argument is a session, whole or by its beginning."""

    def calls(archive: Archive, _own: Belongings, other: Belongings) -> Calls:
        for id in (other.session, other.session[:-1]):
            yield getattr(archive, name)(id, *arguments, **named)

    return calls


def _named(session: str, sources: tuple[Any, ...], message: dict[str, Any]) -> Node:
    return Node(node_id(session, message, sources), message, sources)


def _sessions(archive: Archive, _own: Belongings, other: Belongings) -> Calls:
    yield archive.sessions(prefix=other.session)


def _figures(archive: Archive, own: Belongings, other: Belongings) -> Calls:
    yield archive.figures([other.session])
    yield archive.figures([own.session, other.session[:-1]])


def _create(archive: Archive, _own: Belongings, _other: Belongings) -> Calls:
    async def create() -> Owner:
        made = await archive.create_session(title="mine")
        await archive.delete(made.id)
        return made.owner if made.owner != archive.owner else Owner("the caller")

    yield create()


def _append(archive: Archive, own: Belongings, other: Belongings) -> Calls:
    yield archive.append(other.session, [user("forged")], turn="forged")
    yield archive.append(other.session, talk(6, other.word), turn="begin")
    yield archive.append(own.session, [user("forged")], turn="forged", lease=other.lease)


def _handles(archive: Archive, own: Belongings, other: Belongings) -> Calls:
    yield archive.find_by_handle(other.handle)
    yield archive.find_by_handle(other.handle, id=own.session)
    yield archive.find_by_handle(other.handle, id=other.session)


def _view(archive: Archive, own: Belongings, other: Belongings) -> Calls:
    yield archive.view(other.session)
    yield archive.view(own.session, other.view.number)


def _shown(name: str) -> Case:
    """A view of somebody else, shown in a session of one's own."""

    def calls(archive: Archive, own: Belongings, other: Belongings) -> Calls:
        yield getattr(archive, name)(other.session)
        yield getattr(archive, name)(other.session, other.view)
        yield getattr(archive, name)(own.session, View(0, (NodeLink(other.node),), 1))

    return calls


def _node(archive: Archive, _own: Belongings, other: Belongings) -> Calls:
    yield archive.node(other.node)


def _nodes(archive: Archive, _own: Belongings, other: Belongings) -> Calls:
    yield archive.nodes(other.session)
    yield archive.nodes(other.session, inherited=True)


def _add_nodes(archive: Archive, own: Belongings, other: Belongings) -> Calls:
    forged = {"role": "assistant", "content": "forged"}
    yield archive.add_nodes(other.session, [_named(other.session, (Span(1, 2),), forged)])
    yield archive.add_nodes(own.session, [_named(own.session, (NodeLink(other.node),), forged)])
    yield archive.add_nodes(own.session, [Node(other.node, forged, (Span(1, 2),))])


def _commit(archive: Archive, own: Belongings, other: Belongings) -> Calls:
    forged = {"role": "assistant", "content": "forged"}
    view = own.view.number
    yield archive.commit_compaction(other.session, ViewDraft(other.view.number, (Span(1, 2),), 8), EVENT)
    yield archive.commit_compaction(own.session, ViewDraft(view, (NodeLink(other.node),), 8), EVENT)
    yield archive.commit_compaction(
        own.session, ViewDraft(view, (), 8, (_named(own.session, (NodeLink(other.node),), forged),)), EVENT
    )
    yield archive.commit_compaction(
        own.session, ViewDraft(view, (), 8, (Node(other.node, forged, (Span(1, 2),)),)), EVENT
    )
    yield archive.commit_compaction(own.session, ViewDraft(view, (), 8), EVENT, lease=other.lease)
    forgery = Action("edit", "thief", {"node": other.node})
    yield archive.commit_compaction(
        other.session, ViewDraft(other.view.number, (Span(1, 2),), 8), EVENT, action=forgery
    )


def _renew(archive: Archive, _own: Belongings, other: Belongings) -> Calls:
    yield archive.renew(other.lease, 5_000)


def _release(archive: Archive, _own: Belongings, other: Belongings) -> Calls:
    yield archive.release(other.lease)


def _search(archive: Archive, own: Belongings, other: Belongings) -> Calls:
    for mode in ("words", "substring", "regex"):
        for text in (other.word, other.word[2:]):
            yield archive.search(SearchQuery(text, mode))  # type: ignore[arg-type]
        yield archive.search(SearchQuery(other.word, mode, session=other.session))  # type: ignore[arg-type]
        yield archive.search(SearchQuery(other.word, mode, session=own.session))  # type: ignore[arg-type]
    yield archive.search(SearchQuery(other.word, order="relevance"))
    yield archive.search(SearchQuery(other.word, order="oldest", cursor=0))


CASES: dict[str, Case | None] = {
    "owner": None,  # a property without arguments; `test_an_archive_is_bound_for_good` looks at it
    "create_session": _create,
    "session": _of_session("session"),
    "sessions": _sessions,
    "figures": _figures,
    "update_session": _of_session("update_session", title="forged"),
    "fork": _of_session("fork", actor="thief"),
    "delete": _of_session("delete"),
    "append": _append,
    "messages": _of_session("messages"),
    "outline": _of_session("outline"),
    "find_by_handle": _handles,
    "pin": _of_session("pin", 1, actor="thief"),
    "unpin": _of_session("unpin", PINNED, actor="thief"),
    "pins": _of_session("pins"),
    "view": _view,
    "items": _shown("items"),
    "view_size": _shown("view_size"),
    "node": _node,
    "nodes": _nodes,
    "add_nodes": _add_nodes,
    "commit_compaction": _commit,
    "record_compaction": _of_session("record_compaction", EVENT),
    "undo": _of_session("undo", actor="thief"),
    "redo": _of_session("redo", actor="thief"),
    "undone_view": _of_session("undone_view"),
    "record_action": _of_session("record_action", Action("export", "thief")),
    "actions": _of_session("actions"),
    "edits": _of_session("edits"),
    "compactions": _of_session("compactions"),
    "compaction": _of_session("compaction", 1),
    "record_usage": _of_session("record_usage", UsageRecord("forged")),
    "usage": _of_session("usage"),
    "usage_total": _of_session("usage_total"),
    "acquire": _of_session("acquire", "thief", 60.0),
    "renew": _renew,
    "release": _release,
    "search": _search,
}
