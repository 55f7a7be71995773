"""All operations on sessions: their parameters, implementations and responses.

    GET    /sessions                      POST   /sessions
    GET    /sessions/{id}                 DELETE /sessions/{id}
    GET    /sessions/{id}/messages        POST   /sessions/{id}/messages
    GET    /sessions/{id}/view            POST   /sessions/{id}/compact · undo · fork
    GET    /sessions/{id}/compactions     PUT    /sessions/{id}/pins/{number} · DELETE
    GET    /sessions/{id}/search · /search                    GET /sessions/{id}/pins

Operations for inspectors are in `inspection_operations.py`. Routes, validation and `/openapi.json` are built from
this table.
"""

import asyncio

from pydantic import BaseModel

from plimsoll.archive import SearchQuery
from plimsoll.gateway.sessions.clipping import clipped
from plimsoll.gateway.sessions.inspection_operations import INSPECTION
from plimsoll.gateway.sessions.models import (
    AnswerResponse,
    ClippedMessageResponse,
    CompactionResponse,
    CompactionsQuery,
    CompactionsResponse,
    DeletedResponse,
    Focus,
    Fork,
    HitsResponse,
    ListedSessionResponse,
    ListQuery,
    LogQuery,
    LogResponse,
    NewMessage,
    NewSession,
    PinsResponse,
    SearchParameters,
    SessionResponse,
    SessionsResponse,
    StoredMessageResponse,
    ViewItemResponse,
    ViewResponse,
)
from plimsoll.gateway.sessions.operation import Operation, OperationInput
from plimsoll.gateway.sessions.owner_sessions import OwnerSessions
from plimsoll.sessions import MessageFilter


async def _create(own: OwnerSessions, request: OperationInput) -> BaseModel:
    created = await own.create(title=request.body.title, prompt=request.body.system_prompt)
    return SessionResponse.model_validate(created)


async def _list(own: OwnerSessions, request: OperationInput) -> BaseModel:
    sessions = await own.sessions(**dict(request.query))
    figures = await own.archive.figures([session.id for session in sessions])
    listed = [ListedSessionResponse.of(*pair) for pair in zip(sessions, figures, strict=True)]
    return SessionsResponse(sessions=listed)


async def _read(own: OwnerSessions, request: OperationInput) -> BaseModel:
    return SessionResponse.model_validate(await own.session(request.id))


async def _delete(own: OwnerSessions, request: OperationInput) -> BaseModel:
    return DeletedResponse(id=request.id, kept_for_forks=await own.delete(request.id))


async def _log(own: OwnerSessions, request: OperationInput) -> BaseModel:
    first, after = request.query.first, request.query.first + request.query.limit
    total = (await own.session(request.id)).messages
    page = await own.log(request.id, first, min(after - 1, total))
    messages: list[ClippedMessageResponse] | list[StoredMessageResponse]
    if request.query.clip is not None:
        messages = await asyncio.to_thread(lambda: [clipped(entry, request.query.clip) for entry in page])
    else:
        messages = [StoredMessageResponse.model_validate(entry) for entry in page]
    return LogResponse(messages=messages, next=after if after <= total else None, total=total)


async def _view(own: OwnerSessions, request: OperationInput) -> BaseModel:
    items = [ViewItemResponse.model_validate(item) for item in await own.view(request.id)]
    return ViewResponse(messages=items, tokens=sum(item.tokens for item in items))


async def _compactions(own: OwnerSessions, request: OperationInput) -> BaseModel:
    events = await own.compactions(request.id, limit=request.query.limit)
    return CompactionsResponse.model_validate({"compactions": events})


async def _compact(own: OwnerSessions, request: OperationInput) -> BaseModel:
    return CompactionResponse.model_validate(await own.compact(request.id, request.body.focus))


async def _fork(own: OwnerSessions, request: OperationInput) -> BaseModel:
    forked = await own.fork(request.id, at=request.body.at, title=request.body.title)
    return SessionResponse.model_validate(forked)


async def _pins(own: OwnerSessions, request: OperationInput) -> BaseModel:
    return PinsResponse(pins=await own.pins(request.id))


async def _pin(own: OwnerSessions, request: OperationInput) -> BaseModel:
    return PinsResponse(pins=await own.pin(request.id, request.number))


async def _unpin(own: OwnerSessions, request: OperationInput) -> BaseModel:
    return PinsResponse(pins=await own.unpin(request.id, request.number))


async def _search(own: OwnerSessions, request: OperationInput) -> BaseModel:
    wanted = request.query.model_dump(exclude_unset=True)
    chosen = MessageFilter(
        **{name: wanted.pop(name) for name in ("tool", "file", "errors") if name in wanted}
    )
    accepts = None if chosen.is_empty else chosen
    query = SearchQuery(**wanted, session=request.id or None, accepts=accepts)
    return HitsResponse.model_validate(await own.search(query))


_SESSION_PATH = "/sessions/{id}"
SEND = Operation(
    "send_message",
    "POST",
    f"{_SESSION_PATH}/messages",
    "Run a turn",
    AnswerResponse,
    body=NewMessage,
)
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "create_session",
        "POST",
        "/sessions",
        "Begin a session",
        SessionResponse,
        _create,
        201,
        body=NewSession,
    ),
    Operation(
        "list_sessions",
        "GET",
        "/sessions",
        "List sessions, most recently written first",
        SessionsResponse,
        _list,
        query=ListQuery,
    ),
    Operation(
        "search_everywhere",
        "GET",
        "/search",
        "Search all sessions",
        HitsResponse,
        _search,
        query=SearchParameters,
    ),
    Operation("read_session", "GET", _SESSION_PATH, "Get a session", SessionResponse, _read),
    Operation("delete_session", "DELETE", _SESSION_PATH, "Remove a session", DeletedResponse, _delete),
    Operation(
        "read_log",
        "GET",
        f"{_SESSION_PATH}/messages",
        "The whole log, in pages",
        LogResponse,
        _log,
        query=LogQuery,
    ),
    SEND,
    Operation("read_view", "GET", f"{_SESSION_PATH}/view", "What the model sees", ViewResponse, _view),
    Operation(
        "read_compactions",
        "GET",
        f"{_SESSION_PATH}/compactions",
        "List compactions",
        CompactionsResponse,
        _compactions,
        query=CompactionsQuery,
    ),
    Operation(
        "compact_session",
        "POST",
        f"{_SESSION_PATH}/compact",
        "Compact now",
        CompactionResponse,
        _compact,
        body=Focus,
    ),
    Operation(
        "fork_session",
        "POST",
        f"{_SESSION_PATH}/fork",
        "Fork a session",
        SessionResponse,
        _fork,
        201,
        body=Fork,
    ),
    Operation("list_pins", "GET", f"{_SESSION_PATH}/pins", "List pinned messages", PinsResponse, _pins),
    Operation("pin_message", "PUT", f"{_SESSION_PATH}/pins/{{number}}", "Pin a message", PinsResponse, _pin),
    Operation(
        "unpin_message",
        "DELETE",
        f"{_SESSION_PATH}/pins/{{number}}",
        "Unpin a message",
        PinsResponse,
        _unpin,
    ),
    Operation(
        "search_session",
        "GET",
        f"{_SESSION_PATH}/search",
        "Search a session",
        HitsResponse,
        _search,
        query=SearchParameters,
    ),
    *INSPECTION,
)
