"""Clients that go back in their history, behind the real request handler, and what must arrive upstream.

    client ── ASGI, in process ──► gateway ── loopback ──► scripted server

A request is sent for any prefix of a conversation, in any order. What arrives is compared with what was asked.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from gateway_server import settings_for

from plimsoll.context import ContextCompressor
from plimsoll.context.lcm import LcmEngine
from plimsoll.dialects import GEMINI, RESPONSES, ChatRequest, anthropic, dialect_named, openai
from plimsoll.gateway.app import build_app
from plimsoll.messages import Message, validate
from plimsoll.models import estimate_messages_tokens_rough, estimate_tools_tokens
from plimsoll.testing.scripted_server import CapturedRequest, ScriptedServer

THRESHOLD = 0.5
ENGINES = {
    "compressor": lambda window, _account, **rules: ContextCompressor(context_length=window, **rules),
    "lcm": lambda window, _account, **rules: LcmEngine(context_length=window, **rules),
}
_PATHS = {
    "openai": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-2.5-pro:generateContent",
}
_BEARER = (b"authorization", b"Bearer client-key")
_KEYS = {
    "openai": _BEARER,
    "anthropic": (b"x-api-key", b"client-key"),
    "responses": _BEARER,
    "gemini": (b"x-goog-api-key", b"client-key"),
}
_MODELS = {
    "openai": "gpt-4.1",
    "anthropic": "claude-sonnet-4-5",
    "responses": "gpt-4.1",
    "gemini": "gemini-2.5-pro",
}
_CODECS: dict[str, Any] = {
    "openai": openai,
    "anthropic": anthropic,
    "responses": RESPONSES,
    "gemini": GEMINI,
}
_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
_TOOL = {"type": "function", "function": {"name": "read_file", "description": "Read.", "parameters": _SCHEMA}}


def settings_of(server: ScriptedServer, upstream: str, window: int) -> Any:
    return settings_for(
        server,
        upstream,
        model={"context_length": window},
        compression={"protect_last_n": 4, "threshold": THRESHOLD},
    )


class Client:
    """Sends prefixes of conversations to an application in this process."""

    def __init__(self, app: Any, dialect: str, server: ScriptedServer) -> None:
        self._app, self._dialect, self._server = app, dialect, server
        self.compacted = 0
        self.session = ""  # as the last answer named it

    async def ask(self, messages: Sequence[Message]) -> tuple[ChatRequest, CapturedRequest]:
        """Send a request with these messages: as the client said it, and as it arrived upstream."""
        codec = _CODECS[self._dialect]
        asked = ChatRequest(_MODELS[self._dialect], tuple(messages), tools=(_TOOL,), max_tokens=64)
        body = codec.encode_request(asked)
        before = len(self._server.requests)
        status, headers, answer = await self._post(json.dumps(body).encode())
        assert status == 200, answer[:2_000]
        self.session = headers.get(b"x-plimsoll-session", b"").decode()
        self.compacted += headers[b"x-plimsoll-view"] == b"compacted"
        arrived = [seen for seen in self._server.requests[before:] if seen.status == 200]
        assert len(arrived) == 1
        return codec.decode_request(body), arrived[0]

    async def _post(self, body: bytes) -> tuple[int, dict[bytes, bytes], bytes]:
        path = _PATHS[self._dialect]
        headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json"), _KEYS[self._dialect]]
        scope = {
            "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": path,
            "raw_path": path.encode(), "query_string": b"", "headers": headers,
            "client": ("127.0.0.1", 50_000), "server": ("127.0.0.1", 80), "root_path": "",
        }  # fmt: skip
        given = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if given:
                return given.pop()
            await asyncio.Event().wait()
            raise AssertionError("nobody ends this wait")

        async def send(event: Any) -> None:
            sent.append(event)

        await self._app(scope, receive, send)
        whole = b"".join(event.get("body", b"") for event in sent[1:])
        return sent[0]["status"], dict(sent[0]["headers"]), whole


@asynccontextmanager
async def opened(
    settings: Any, home: Path, dialect: str, server: ScriptedServer, engine: str
) -> AsyncIterator[Client]:
    """A gateway on a home folder, from its start to its end, with an engine that writes summaries without a model."""
    app = build_app(settings, environ={}, home=home)
    async with app.state.gateway.opened():
        compactor = app.state.gateway.handler._compactor
        compactor._engine_for = partial(ENGINES[engine], threshold=THRESHOLD, protect_last_n=4)
        yield Client(app, dialect, server)


def request_points(messages: Sequence[Message]) -> list[int]:
    """The lengths of all prefixes that a client sends: those that end with a request or with all results."""
    points, open_calls = [], set[str]()
    for place, message in enumerate(messages, start=1):
        open_calls |= {call["id"] for call in message.get("tool_calls") or ()}
        open_calls.discard(str(message.get("tool_call_id")))
        if message["role"] in ("user", "tool") and not open_calls:
            points.append(place)
    return points


def faults(asked: ChatRequest, arrived: CapturedRequest, window: int) -> list[str]:
    """What is wrong with a request that arrived upstream for one that a client sent."""
    assert arrived.request is not None
    said, seen = list(asked.messages), list(arrived.request.messages)
    found = validate(seen, dialect_named(arrived.dialect).validation)
    wanted, got = _waiting(said), _waiting(seen)
    results, words = _results(wanted), _parts(wanted)
    if _parts(got) != words:
        found.append(f"the newest request is {str(words)[-200:]} and {str(_parts(got))[-200:]} arrived")
    if _results(got) != results and _could_fit(asked, window):
        found.append(f"the newest results fit, and {_results(got)} arrived for {results}")
    if "under handle h:" in str(seen):
        found.append("a handle is named to a model that has no tool to fetch it")
    newest = next((message for message in reversed(said) if message["role"] == "user"), None)
    if newest is not None and not any(_contains(one, newest) for one in seen):
        found.append(f"the newest request {str(newest)[:200]} did not arrive word for word")
    return found


def _waiting(messages: Sequence[Message]) -> list[Message]:
    """The messages after the last one of the assistant."""
    roles = [message["role"] for message in messages]
    start = len(roles) - roles[::-1].index("assistant") if "assistant" in roles else 0
    return [message for message in messages[start:] if message["role"] != "system"]


def _results(messages: Sequence[Message]) -> list[Any]:
    """Without the ids of their calls: one that a client used twice is made unique for a wire that wants it so."""
    return [_plain(message.get("content")) for message in messages if message["role"] == "tool"]


def _parts(messages: Sequence[Message]) -> list[Any]:
    return [part for message in messages if message["role"] == "user" for part in _plain(message["content"])]


def _plain(content: Any) -> list[Any]:
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
    return [{key: value for key, value in part.items() if key != "cache_control"} for part in parts]


def _contains(seen: Message, wanted: Message) -> bool:
    if seen["role"] != "user":
        return False
    parts, run = _plain(seen["content"]), _plain(wanted["content"])
    return any(parts[start : start + len(run)] == run for start in range(len(parts) - len(run) + 1))


def _could_fit(asked: ChatRequest, window: int) -> bool:
    """Whether what no compaction may touch leaves room for the newest results within the threshold."""
    said = list(asked.messages)
    start = len(said) - len(_waiting(said)) - 1  # with the message that called for them
    newest = max((n for n, message in enumerate(said) if message["role"] == "user"), default=0)
    kept = {*range(min(3, len(said))), newest, *range(max(0, start), len(said))}
    needed = estimate_messages_tokens_rough([said[place] for place in sorted(kept)])
    fixed = estimate_tools_tokens(list(asked.tools)) + _EMPTY_SUMMARY + window * 0.05
    return needed * _MARGIN + fixed <= window * THRESHOLD


_EMPTY_SUMMARY = 250  # its first sentence and nine headings
_MARGIN = 1.15  # what the provider counts is up to so much above the estimate
