"""Forwards a client's other requests to its upstream: embeddings, audio, images, files, batches.

    client ─► listed in `dialects/forwarded.toml`? ─► limits ─► upstream ─► piece by piece ─► client

Bodies and replies pass unchanged; only headers that concern keys, accounts and connections are handled as in any
request. The upstream path is built from the list, never copied from the client's path.

Files and batches belong to the account of the upstream key. Callers with gateway keys may use them only with their
own provider key: with the gateway's, each could read what the others have stored.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext

from starlette.routing import Route

from plimsoll.agent.compaction_record import record_of
from plimsoll.dialects import Dialect, Usage, dialect_of, dialects
from plimsoll.dialects.forwarded import ForwardedPath, forwarded_paths, forwarded_url
from plimsoll.errors import ProviderError, UserError
from plimsoll.gateway.asgi import Receive, Scope, Send, caller_in
from plimsoll.gateway.dropin.client_request import ClientRequest
from plimsoll.gateway.dropin.failures import failures_sent
from plimsoll.gateway.dropin.metering import MARGIN, max_spending
from plimsoll.gateway.dropin.request_handler import RequestHandler, Reserve
from plimsoll.gateway.dropin.shared_account import refuse_shared_account
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.http.body import (
    LARGE_BYTES,
    Refused,
    bad_request,
    parse_body,
    read_body,
    require_model_name,
)
from plimsoll.gateway.http.disconnects import until_disconnect
from plimsoll.gateway.http.masking import StreamMask, masking
from plimsoll.gateway.telemetry.request_facts import current_key, note_upstream, note_usage
from plimsoll.gateway.upstream.headers import returned_headers
from plimsoll.gateway.upstream.pool import UpstreamResponse
from plimsoll.gateway.upstream.target import Target
from plimsoll.models import card_for
from plimsoll.settings.gateway import GatewaySection

_BYTES_PER_TOKEN = 4  # of JSON, if no usage is reported
_SOUND_BYTES_PER_TOKEN = 500  # 16 000 bytes and 32 tokens a second (models/media.py)
_MAX_READ = 1_000_000  # bytes of a reply that are searched for usage
_JSON = b"application/json"


def forward_routes(
    handler: Callable[[], RequestHandler], limits: GatewaySection, reserve: Reserve
) -> list[Route]:
    """A route for each listed path; dialects may share one."""
    endpoint = ForwardEndpoint(handler, limits, reserve)
    methods: dict[str, set[str]] = {}
    for dialect in dialects():
        for item in forwarded_paths(dialect.name):
            methods.setdefault(item.path, set()).update(item.methods)
    return [Route(path, endpoint, methods=sorted(listed)) for path, listed in methods.items()]


class ForwardEndpoint:
    """All forwarded paths as one ASGI application."""

    def __init__(
        self, handler: Callable[[], RequestHandler], limits: GatewaySection, reserve: Reserve
    ) -> None:
        self._handler, self._limits, self._reserve = handler, limits, reserve

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = tuple(scope["headers"])
        dialect, method = dialect_of(scope["path"], headers), scope["method"]
        async with failures_sent(send, dialect):
            listed, path, model = _listed(dialect, method, scope["path"])
            raw = await read_body(receive, headers, self._limits)
            request = ClientRequest(
                dialect,
                raw,
                await self._body(raw, dict(headers)),
                headers,
                caller_in(scope).archive_owner,
                scope.get("query_string", b""),
                scope["path"],
            )
            forwarded = _Forwarded(request, method, listed, path, model)
            await until_disconnect(self._serve(forwarded, send), receive)

    async def _body(self, raw: bytes, named: dict[bytes, bytes]) -> dict[str, object]:
        """The body if it is JSON within the limits; empty for any other."""
        if not raw or not named.get(b"content-type", _JSON).lower().startswith(_JSON):
            return {}
        if len(raw) < LARGE_BYTES:
            return parse_body(raw, self._limits)
        return await asyncio.to_thread(parse_body, raw, self._limits)

    async def _serve(self, forwarded: "_Forwarded", send: Send) -> None:
        request, handler = forwarded.request, self._handler()
        target = await handler.target(request)
        _require_reachable(forwarded, target)
        send = masking(send, target.secrets)
        async with failures_sent(send, request.dialect), self._room(forwarded):
            await self._forward(forwarded, target, send)

    def _room(self, forwarded: "_Forwarded") -> AbstractAsyncContextManager[None]:
        """Reserve the request in the caller's limits."""
        owner = current_key()
        if owner is None:
            return nullcontext()
        return self._reserve(
            owner, max_spending(card_for(forwarded.model), round(MARGIN * forwarded.tokens) + 1, 0)
        )

    async def _forward(self, forwarded: "_Forwarded", target: Target, send: Send) -> None:
        request, handler = forwarded.request, self._handler()
        url = forwarded_url(target.dialect, target.endpoint.base_url, forwarded.path)
        content_type = request.named.get(b"content-type") if request.raw else None
        call = handler.call(request, target, url, request.raw, forwarded.method, content_type, same=True)
        note_upstream(
            time.perf_counter(), call.provider, forwarded.model, call.origin.host, target.dialect.name
        )
        answer = await handler.pool.send(call, handler.whole_reply_seconds)
        usage: Usage | None = None
        try:
            usage = await _relay(send, answer, request.dialect, target.secrets)
        finally:
            answer.close()
            if answer.status < 300 and (usage or forwarded.tokens):
                used = usage or Usage(prompt_tokens=forwarded.tokens, completion_tokens=0)
                note_usage(record_of(card_for(forwarded.model), used, model=forwarded.model))


class _Forwarded:
    """A forwarded request; `path` is the upstream path."""

    def __init__(
        self, request: ClientRequest, method: str, listed: ForwardedPath, path: str, model: str
    ) -> None:
        self.request, self.method, self.listed, self.path = request, method, listed, path
        named = request.body.get("model")
        self.model = model or (named if isinstance(named, str) else "")

    @property
    def tokens(self) -> int:
        """Approximate tokens of the request."""
        size = len(self.request.raw)
        return size // (_BYTES_PER_TOKEN if self.request.body else _SOUND_BYTES_PER_TOKEN)


def _listed(dialect: Dialect, method: str, path: str) -> tuple[ForwardedPath, str, str]:
    """The listed path that matches the client's path, the upstream path, and the model in it."""
    for item in forwarded_paths(dialect.name):
        if method in item.methods and (values := item.values(path)) is not None:
            model = values.get("model", "")
            require_model_name(model)
            try:
                return item, item.written(values), model
            except UserError as error:
                raise bad_request(str(error)) from None
    raise Refused(404, "not_found_error", f"{dialect.title} clients cannot use {method} {path[:200]} here.")


def _require_reachable(forwarded: _Forwarded, target: Target) -> None:
    """Refuse paths that the upstream does not have, or that would expose other callers' objects."""
    if all(path.path != forwarded.listed.path for path in forwarded_paths(target.dialect.name)):
        raise Refused(
            404,
            "not_found_error",
            f"The upstream uses {target.dialect.title}'s format and has no {forwarded.listed.path}.",
        )
    if forwarded.listed.stored:
        refuse_shared_account(
            forwarded.request, target, "Files and batches belong to the account of the upstream's key"
        )


async def _relay(
    send: Send, answer: UpstreamResponse, dialect: Dialect, secrets: Sequence[str]
) -> Usage | None:
    """Pass a reply on in pieces. Returns the usage that it reports."""
    headers = returned_headers(answer.headers)
    named = dict(answer.headers)
    # Masking keeps the length.
    headers += [(name, named[name]) for name in (b"content-length",) if name in named]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    mask, read = StreamMask(secrets), bytearray()
    is_json = named.get(b"content-type", b"").lower().startswith(_JSON)
    try:
        while piece := await answer.read_chunk():
            if is_json and len(read) <= _MAX_READ:
                read += piece
            if ready := mask.feed(piece):
                await send({"type": "http.response.body", "body": ready, "more_body": True})
    except ProviderError:
        return None  # the reply has begun; the client sees that it is incomplete
    await send({"type": "http.response.body", "body": mask.rest()})
    return _usage_in(bytes(read), dialect) if len(read) <= _MAX_READ else None


def _usage_in(body: bytes, dialect: Dialect) -> Usage | None:
    try:
        reply = jsontext.read(body) if body else None
    except (ValueError, RecursionError):
        return None
    return dialect.usage(reply.get(dialect.usage_field)) if isinstance(reply, dict) else None
