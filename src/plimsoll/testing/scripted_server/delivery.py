"""Sends a reply, complete or broken by a fault.

events ──► complete · cut inside an event · with a garbage event · ended by an error · slowly, one by one
"""

import asyncio
import json

from plimsoll.dialects import ChatRequest, Reply, SseEvent
from plimsoll.testing.scripted_server.connection import HttpConnection
from plimsoll.testing.scripted_server.faults import Fault
from plimsoll.testing.scripted_server.provider import ScriptedProvider
from plimsoll.testing.scripted_server.rules.refusal import Refusal

HTML = (
    b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n"
    b"<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"
)


async def refuse(
    connection: HttpConnection, provider: ScriptedProvider, refusal: Refusal, request_id: str
) -> None:
    """Send the error of a rejected request."""
    headers = {**provider.headers(request_id), **refusal.headers}
    await connection.send_json(refusal.status, headers, provider.error_body(refusal, request_id))


async def deliver(
    connection: HttpConnection,
    provider: ScriptedProvider,
    request: ChatRequest,
    reply: Reply,
    request_id: str,
    fault: Fault | None = None,
) -> None:
    """Send a reply, streamed or whole as requested."""
    if fault is not None and fault.kind == "slow":
        await asyncio.sleep(fault.seconds)
    if fault is not None and fault.kind == "html":
        await connection.send(fault.status or 502, {"content-type": "text/html"}, HTML)
    elif request.stream:
        events = provider.events(reply, request)
        await _stream(connection, provider, events, provider.headers(request_id), fault)
    else:
        await _at_once(connection, provider, reply, request_id, fault)


async def _at_once(
    connection: HttpConnection, provider: ScriptedProvider, reply: Reply, request_id: str, fault: Fault | None
) -> None:
    headers = {"content-type": "application/json", **provider.headers(request_id)}
    data = json.dumps(provider.reply_body(reply), ensure_ascii=False).encode("utf-8", "backslashreplace")
    match fault.kind if fault else "":
        case "cut":
            await connection.send_part(200, headers, data, len(data) // 2)
        case "malformed_sse":
            await connection.send(200, headers, provider.garbage)
        case "truncated_json":
            await connection.send(200, headers, data[: len(data) // 2])
        case "stream_error":
            # Without a stream, the error can only be a status.
            await refuse(connection, provider, _breakdown(provider, fault), request_id)
        case _:
            await connection.send(200, headers, data)


async def _stream(
    connection: HttpConnection,
    provider: ScriptedProvider,
    events: list[SseEvent],
    headers: dict[str, str],
    fault: Fault | None,
) -> None:
    kind = fault.kind if fault else ""
    half = len(events) // 2 if fault is None or fault.after is None else min(fault.after, len(events) - 1)
    breaks = kind in ("cut", "truncated_json", "stream_error")
    await connection.begin(headers)
    for index, event in enumerate(events[:half] if breaks else events):
        if fault is not None and fault.between and index:
            await asyncio.sleep(fault.between)
        if kind == "malformed_sse" and index == half:
            await connection.chunk(provider.garbage)
        await connection.chunk(event.encode())
    match kind:
        case "cut":
            data = events[half].encode()
            await connection.chunk(data[: len(data) // 2], is_whole=False)
            connection.close()
            return
        case "truncated_json":
            data = events[half].encode().rstrip()
            await connection.chunk(data[: -max(2, len(data) // 3)] + b"\n\n")
        case "stream_error":
            breakdown = _breakdown(provider, fault)
            await connection.chunk(provider.failure_event(breakdown.kind, breakdown.message).encode())
    await connection.end()


def _breakdown(provider: ScriptedProvider, fault: Fault | None) -> Refusal:
    usual = provider.usual_refusal(provider.breakdown_status)
    if fault is None:
        return usual
    return Refusal(usual.status, fault.type or usual.kind, fault.message or usual.message, code=usual.code)
