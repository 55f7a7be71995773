"""The operations that only an inspector of sessions needs.

    GET    /sessions/{id}/compactions/{number}        POST   /sessions/{id}/compact/preview
    GET    /sessions/{id}/summary                     PUT    /sessions/{id}/summary
    GET    /sessions/{id}/actions                     POST   /sessions/{id}/drop · undo · redo
    GET    /sessions/{id}/export · timeline

Users' actions are those of `plimsoll.sessions`, which the terminal calls too. None of them needs a model.
"""

import asyncio
import io
import json
from typing import Any

from pydantic import BaseModel

from plimsoll.archive import Session
from plimsoll.context.markers import editable_text, is_summary
from plimsoll.gateway.sessions.inspection_models import (
    ActionResponse,
    ActionsResponse,
    CompactionDetailResponse,
    Drop,
    ExportQuery,
    ExportResponse,
    Preview,
    SummaryResponse,
    SummaryText,
)
from plimsoll.gateway.sessions.models import CompactionsQuery, Focus
from plimsoll.gateway.sessions.operation import Operation, OperationInput
from plimsoll.gateway.sessions.owner_sessions import OwnerSessions
from plimsoll.gateway.sessions.timeline import TimelineQuery, TimelineResponse, read_timeline
from plimsoll.messages import Message
from plimsoll.sessions import compaction_detail
from plimsoll.transcripts import ExportFormat, markdown, stored_session, write_stream

_SESSION_PATH = "/sessions/{id}"
_PAGE = 500  # messages of an export per read


async def _compaction(own: OwnerSessions, request: OperationInput) -> BaseModel:
    session = await own.session(request.id)
    return CompactionDetailResponse.of(await compaction_detail(own.archive, session.id, request.number))


async def _preview(own: OwnerSessions, request: OperationInput) -> BaseModel:
    return CompactionDetailResponse.of(await own.preview(request.id, request.body.focus))


async def _drop(own: OwnerSessions, request: OperationInput) -> BaseModel:
    if request.body.preview:
        actions = await own.actions(request.id)
        return ActionResponse.model_validate(await actions.drop(request.body.messages, preview=True))
    async with own.open_actions(request.id) as actions:
        return ActionResponse.model_validate(await actions.drop(request.body.messages))


async def _edit(own: OwnerSessions, request: OperationInput) -> BaseModel:
    text, node = request.body.text, request.body.node
    if request.body.preview:
        actions = await own.actions(request.id)
        return ActionResponse.model_validate(await actions.edit_summary(text, node=node, preview=True))
    async with own.open_actions(request.id) as actions:
        return ActionResponse.model_validate(await actions.edit_summary(text, node=node))


async def _undo(own: OwnerSessions, request: OperationInput) -> BaseModel:
    if request.body.preview:
        return ActionResponse.model_validate(await (await own.actions(request.id)).undo(preview=True))
    async with own.open_actions(request.id) as actions:
        return ActionResponse.model_validate(await actions.undo())


async def _redo(own: OwnerSessions, request: OperationInput) -> BaseModel:
    if request.body.preview:
        return ActionResponse.model_validate(await (await own.actions(request.id)).redo(preview=True))
    async with own.open_actions(request.id) as actions:
        return ActionResponse.model_validate(await actions.redo())


async def _summary(own: OwnerSessions, request: OperationInput) -> BaseModel:
    for item in await own.view(request.id):
        if item.node and is_summary(item.message):
            author = (await own.archive.node(item.node)).details.get("author", "")
            return SummaryResponse(node=item.node, text=editable_text(item.message), author=author)
    return SummaryResponse(node=None, text="", author="")


async def _actions(own: OwnerSessions, request: OperationInput) -> BaseModel:
    await own.session(request.id)
    found = await own.archive.actions(request.id, limit=request.query.limit)
    return ActionsResponse.model_validate({"actions": found})


async def _export(own: OwnerSessions, request: OperationInput) -> BaseModel:
    session, format = await own.session(request.id), request.query.format
    if request.query.view:
        messages = [item.message for item in await own.view(request.id)]
    else:
        messages = await _whole_log(own, session)
    content: dict[str, Any] | str
    if format == "markdown":
        content = "".join(await asyncio.to_thread(list, markdown(messages, session.title)))
    else:
        content = await asyncio.to_thread(_encoded, messages, session, format)
    await (await own.actions(request.id)).exported(format, view=request.query.view)
    return ExportResponse(format=format, content=content)


async def _whole_log(own: OwnerSessions, session: Session) -> list[Message]:
    messages: list[Message] = []
    for first in range(1, session.messages + 1, _PAGE):
        page = await own.log(session.id, first, min(first + _PAGE - 1, session.messages))
        messages += [entry.message for entry in page]
    return messages


def _encoded(messages: list[Message], session: Session, format: ExportFormat) -> dict[str, Any]:
    written = io.BytesIO()
    write_stream(written, [stored_session(session, messages, format)])
    content: dict[str, Any] = json.loads(written.getvalue())
    return content


INSPECTION: tuple[Operation, ...] = (
    Operation(
        "read_compaction",
        "GET",
        f"{_SESSION_PATH}/compactions/{{number}}",
        "A compaction: what it kept, shortened and removed, and the sources of its summary",
        CompactionDetailResponse,
        _compaction,
    ),
    Operation(
        "read_timeline",
        "GET",
        f"{_SESSION_PATH}/timeline",
        "The sizes of everything in a session, without text",
        TimelineResponse,
        read_timeline,
        query=TimelineQuery,
    ),
    Operation(
        "preview_compaction",
        "POST",
        f"{_SESSION_PATH}/compact/preview",
        "What compacting now would do",
        CompactionDetailResponse,
        _preview,
        body=Focus,
    ),
    Operation(
        "read_summary",
        "GET",
        f"{_SESSION_PATH}/summary",
        "The summary in the view",
        SummaryResponse,
        _summary,
    ),
    Operation(
        "edit_summary",
        "PUT",
        f"{_SESSION_PATH}/summary",
        "Edit the summary in the view",
        ActionResponse,
        _edit,
        body=SummaryText,
    ),
    Operation(
        "drop_messages",
        "POST",
        f"{_SESSION_PATH}/drop",
        "Drop messages from the view; the log keeps them",
        ActionResponse,
        _drop,
        body=Drop,
    ),
    Operation(
        "undo_change",
        "POST",
        f"{_SESSION_PATH}/undo",
        "Undo the last compaction or edit",
        ActionResponse,
        _undo,
        body=Preview,
    ),
    Operation(
        "redo_change",
        "POST",
        f"{_SESSION_PATH}/redo",
        "Redo what was undone",
        ActionResponse,
        _redo,
        body=Preview,
    ),
    Operation(
        "list_actions",
        "GET",
        f"{_SESSION_PATH}/actions",
        "List users' actions on a session",
        ActionsResponse,
        _actions,
        query=CompactionsQuery,
    ),
    Operation(
        "export_session",
        "GET",
        f"{_SESSION_PATH}/export",
        "Export a session",
        ExportResponse,
        _export,
        query=ExportQuery,
    ),
)
