"""A turn over HTTP: as server-sent events while it runs, or as one response at its end.

    accepted ─ [ compaction ] ─ text ─ text ─ tool_call ─ tool_result ─ text ─ done
                                                                         └─ error

`accepted` means that the message is stored. A failure before that is an HTTP status, a later one is the last event.
A client that disconnects stops the turn or lets it finish, as it chose when it sent the message.
"""

import asyncio
from contextlib import suppress
from typing import Any

from pydantic import BaseModel

from plimsoll.agent import Compacted, Event, Notice, ReasoningReceived, TextReceived, ToolCalled, ToolReturned
from plimsoll.dialects.sse import json_event
from plimsoll.errors import PlimsollError
from plimsoll.gateway.asgi import Receive, Send
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.http.body import disconnected
from plimsoll.gateway.http.problems import Problem, problem_of, send_problem
from plimsoll.gateway.http.responses import EVENTS, JSON, send_whole
from plimsoll.gateway.sessions.models import AnswerResponse, CompactionResponse
from plimsoll.gateway.sessions.operation import OperationInput
from plimsoll.gateway.sessions.owner_sessions import OwnerSessions
from plimsoll.gateway.sessions.turn_events import AcceptedEvent, TextEvent, ToolCallEvent, ToolResultEvent
from plimsoll.messages import Message
from plimsoll.sessions import Exchange

_QUIET_SECONDS = 15.0  # after which a comment keeps the connection alive
_COMMENT = b": the turn goes on\n\n"
_NO_STORE = (b"cache-control", b"no-store")
_STOPPED = Problem(
    409, "Stopped", "The turn was stopped: the session was deleted, or the gateway is shutting down."
)
NamedEvent = tuple[str, dict[str, Any]]


async def take_turn(
    own: OwnerSessions, request: OperationInput, key: str, receive: Receive, send: Send
) -> None:
    """Send the request's message to the session, and respond."""
    events: asyncio.Queue[NamedEvent | None] = asyncio.Queue()

    def emit(event: Event) -> None:
        shown = event_of(event)
        if shown is not None:
            events.put_nowait((shown[0], dict(shown[1])))

    def on_stored(number: int) -> None:
        events.put_nowait(("accepted", dict(AcceptedEvent(session=request.id, number=number))))

    message: Message = {"role": "user", "content": request.body.model_dump()["content"]}
    turn = own.begin(request.id, message, key=key, emit=emit, on_stored=on_stored)
    turn.add_done_callback(lambda _: events.put_nowait(None))
    gone = asyncio.create_task(disconnected(receive))
    answering = asyncio.create_task(
        _streamed(turn, events, send) if request.body.stream else _whole(turn, send)
    )
    try:
        await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done() and request.body.on_disconnect == "cancel":
            turn.cancel()
            await asyncio.wait({turn})
        if answering.done():
            answering.result()
    finally:
        for task in (gone, answering):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(gone, answering, return_exceptions=True)


def event_of(event: Event) -> tuple[str, BaseModel] | None:
    """The name and data of the server-sent event for an agent event; None for events that are not sent."""
    match event:
        case TextReceived(text):
            return "text", TextEvent(text=text)
        case ReasoningReceived(text):
            return "thinking", TextEvent(text=text)
        case ToolCalled(call_id, line):
            return "tool_call", ToolCallEvent(id=call_id, line=line)
        case ToolReturned(call_id, line, seconds, is_error):
            return "tool_result", ToolResultEvent(id=call_id, line=line, seconds=seconds, is_error=is_error)
        case Compacted(compaction):
            return "compaction", CompactionResponse.model_validate(compaction)
        case Notice(sentence):
            return "notice", TextEvent(text=sentence)
        case _:  # usage is in the archive
            return None


async def _whole(turn: "asyncio.Task[Exchange]", send: Send) -> None:
    """Send the answer at the end of the turn."""
    await asyncio.wait({turn})
    name, data = _ending(turn)
    if name == "done":
        await send_whole(send, 200, [JSON, _NO_STORE], jsontext.write(data))
    else:
        await send_problem(send, _problem(turn))


async def _streamed(
    turn: "asyncio.Task[Exchange]", events: "asyncio.Queue[NamedEvent | None]", send: Send
) -> None:
    """Send events as they happen. The status waits for the first one."""
    first = await events.get()
    if first is None and _ending(turn)[0] == "error":
        await send_problem(send, _problem(turn))
        return
    await send({"type": "http.response.start", "status": 200, "headers": [EVENTS, _NO_STORE]})
    happened = first
    while happened is not None:
        await _piece(send, json_event(happened[1], happened[0]).encode())
        happened = await _next(events, send)
    name, data = _ending(turn)
    await _piece(send, json_event(data, name).encode())
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _next(events: "asyncio.Queue[NamedEvent | None]", send: Send) -> NamedEvent | None:
    while True:
        try:
            async with asyncio.timeout(_QUIET_SECONDS):
                return await events.get()
        except TimeoutError:
            await _piece(send, _COMMENT)


async def _piece(send: Send, piece: bytes) -> None:
    await send({"type": "http.response.body", "body": piece, "more_body": True})


def _ending(turn: "asyncio.Task[Exchange]") -> NamedEvent:
    """The last event of a finished turn: `done` with the answer, or `error` with a problem."""
    if not turn.cancelled() and turn.exception() is None and turn.result().ending != "failed":
        return "done", dict(AnswerResponse.of(turn.result()))
    return "error", _problem(turn).as_dict()


def _problem(turn: "asyncio.Task[Exchange]") -> Problem:
    if turn.cancelled():
        return _STOPPED
    error = turn.exception()
    if isinstance(error, PlimsollError):
        return problem_of(error)
    if error is not None:
        raise error
    exchange = turn.result()
    return Problem(
        502,
        "The model did not answer",
        f"Message {exchange.first} of session {exchange.session} got no answer when it was first sent. Send it "
        "again with another Idempotency-Key.",
    )
