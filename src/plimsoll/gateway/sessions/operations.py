"""Every operation on sessions, once: what it takes, what it does, what it gives.

    GET    /sessions                      POST   /sessions
    GET    /sessions/{id}                 DELETE /sessions/{id}
    GET    /sessions/{id}/messages        POST   /sessions/{id}/messages
    GET    /sessions/{id}/view            POST   /sessions/{id}/compact · undo · fork
    GET    /sessions/{id}/compactions     PUT    /sessions/{id}/pins/{number} · DELETE
    GET    /sessions/{id}/search · /search                    GET /sessions/{id}/pins

Routes, checks and `/openapi.json` are made of this table.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from plimsoll.archive import SearchQuery
from plimsoll.gateway.sessions import schemas
from plimsoll.gateway.sessions.owned import OwnerSessions
from plimsoll.gateway.sessions.schemas import Schema, whole
from plimsoll.gateway.sessions.shapes import (
    compaction_shape,
    item_shape,
    page_shape,
    session_shape,
    stored_shape,
)

_PATH: dict[str, Schema] = {"id": schemas.SESSION_ID, "number": schemas.MESSAGE_NUMBER}
_SEARCH: dict[str, Schema] = {
    "text": {"type": "string", "minLength": 1, "maxLength": 1_000, "pattern": r"^[^\u0000]*$"},
    "mode": {"enum": ["words", "substring", "regex"]},
    "order": {"enum": ["newest", "oldest", "relevance"]},
    "role": {"enum": ["system", "user", "assistant", "tool"]},
    "limit": whole(1, 200),
    "cursor": whole(),
}


@dataclass(frozen=True, slots=True)
class Given:
    """What came with a request, checked: the path's and the query's values, the body."""

    path: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The session that the path names."""
        return str(self.path["id"])


Run = Callable[[OwnerSessions, Given], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One method on one path. `run` is None for the one that streams."""

    name: str
    method: str
    path: str
    summary: str
    result: str  # the name of its schema
    run: Run | None = None
    status: int = 200
    query: Mapping[str, Schema] = field(default_factory=dict)
    required: tuple[str, ...] = ()  # of the query
    body: Schema | None = None
    needs_body: bool = False

    @property
    def parameters(self) -> dict[str, Schema]:
        """The values in the path."""
        return {name: schema for name, schema in _PATH.items() if f"{{{name}}}" in self.path}


async def _create(own: OwnerSessions, given: Given) -> dict[str, Any]:
    title, prompt = given.body.get("title", ""), given.body.get("system_prompt")
    return session_shape(await own.create(title=title, prompt=prompt))


async def _list(own: OwnerSessions, given: Given) -> dict[str, Any]:
    return {"sessions": [session_shape(one) for one in await own.sessions(**given.query)]}


async def _read(own: OwnerSessions, given: Given) -> dict[str, Any]:
    return session_shape(await own.session(given.id))


async def _delete(own: OwnerSessions, given: Given) -> dict[str, Any]:
    return {"id": given.id, "kept_for_forks": await own.delete(given.id)}


async def _log(own: OwnerSessions, given: Given) -> dict[str, Any]:
    first, limit = given.query.get("first", 1), given.query.get("limit", 100)
    total = (await own.session(given.id)).messages
    page = await own.log(given.id, first, min(first + limit - 1, total))
    following = first + limit if first + limit <= total else None
    return {"messages": [stored_shape(one) for one in page], "next": following, "total": total}


async def _view(own: OwnerSessions, given: Given) -> dict[str, Any]:
    items = await own.view(given.id)
    return {"messages": [item_shape(one) for one in items], "tokens": sum(one.tokens for one in items)}


async def _compactions(own: OwnerSessions, given: Given) -> dict[str, Any]:
    events = await own.compactions(given.id, limit=given.query.get("limit", 100))
    return {"compactions": [compaction_shape(one) for one in events]}


async def _compact(own: OwnerSessions, given: Given) -> dict[str, Any]:
    return compaction_shape(await own.compact(given.id, given.body.get("focus")))


async def _undo(own: OwnerSessions, given: Given) -> dict[str, Any]:
    return session_shape(await own.undo(given.id))


async def _fork(own: OwnerSessions, given: Given) -> dict[str, Any]:
    at, title = given.body.get("at"), given.body.get("title")
    at = None if at is None else int(at)  # 3.0 is a whole number too
    return session_shape(await own.fork(given.id, at=at, title=title))


async def _pins(own: OwnerSessions, given: Given) -> dict[str, Any]:
    return {"pins": await own.pins(given.id)}


async def _pin(own: OwnerSessions, given: Given) -> dict[str, Any]:
    return {"pins": await own.pin(given.id, given.path["number"])}


async def _unpin(own: OwnerSessions, given: Given) -> dict[str, Any]:
    return {"pins": await own.unpin(given.id, given.path["number"])}


async def _search(own: OwnerSessions, given: Given) -> dict[str, Any]:
    query = SearchQuery(**given.query, session=given.path.get("id"))
    return page_shape(await own.search(query))


_ONE = "/sessions/{id}"
_LIST: dict[str, Schema] = {
    "limit": whole(1, 500),
    "offset": whole(),
    "prefix": {"type": "string", "pattern": "^[a-z0-9-]{0,80}$"},
}
SEND = Operation(
    "send_message", "POST", f"{_ONE}/messages", "Say something, and get the answer", "Answer",
    body=schemas.NEW_MESSAGE, needs_body=True,
)  # fmt: skip
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "create_session", "POST", "/sessions", "Begin a session", "Session", _create, 201, body=schemas.NEW_SESSION
    ),
    Operation(
        "list_sessions", "GET", "/sessions", "Sessions, the one last written to first", "Sessions", _list, query=_LIST
    ),
    Operation("search_everywhere", "GET", "/search", "Find messages in all sessions", "Hits", _search,
              query=_SEARCH, required=("text",)),
    Operation("read_session", "GET", _ONE, "A session, without what is in it", "Session", _read),
    Operation("delete_session", "DELETE", _ONE, "Remove a session", "Deleted", _delete),
    Operation("read_log", "GET", f"{_ONE}/messages", "The whole log, a page at a time", "Log", _log,
              query={"first": schemas.MESSAGE_NUMBER, "limit": whole(1, 1_000)}),
    SEND,
    Operation("read_view", "GET", f"{_ONE}/view", "What the model sees", "View", _view),
    Operation("read_compactions", "GET", f"{_ONE}/compactions", "What happened to the view", "Compactions",
              _compactions, query={"limit": whole(1, 1_000)}),
    Operation("compact_session", "POST", f"{_ONE}/compact", "Make the view lighter now", "Compaction", _compact,
              body=schemas.FOCUS),
    Operation("undo_compaction", "POST", f"{_ONE}/undo", "Back to the view before the last compaction", "Session",
              _undo),
    Operation("fork_session", "POST", f"{_ONE}/fork", "A session that shares the past of this one", "Session",
              _fork, 201, body=schemas.FORK),
    Operation("list_pins", "GET", f"{_ONE}/pins", "The messages that stay word for word", "Pins", _pins),
    Operation("pin_message", "PUT", f"{_ONE}/pins/{{number}}", "Keep a message word for word", "Pins", _pin),
    Operation("unpin_message", "DELETE", f"{_ONE}/pins/{{number}}", "Let a message go its way again", "Pins",
              _unpin),
    Operation("search_session", "GET", f"{_ONE}/search", "Find messages in a session", "Hits", _search,
              query=_SEARCH, required=("text",)),
)  # fmt: skip
