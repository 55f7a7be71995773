"""Answers clients' lookups: which models there are, and how many tokens a request has.

GET  /v1/models, /v1/models/{name}      the upstream's list, in the client's dialect
POST /v1/messages/count_tokens          the tokens of the request as it would be sent upstream
"""

from collections.abc import Callable
from typing import Any

from plimsoll.dialects import Dialect, dialect_of
from plimsoll.errors import UserError
from plimsoll.gateway.asgi import Receive, Scope, Send, caller_in
from plimsoll.gateway.dropin.client_request import ClientRequest
from plimsoll.gateway.dropin.failures import failures_sent
from plimsoll.gateway.dropin.request_handler import RequestHandler, without_keys
from plimsoll.gateway.dropin.shared_account import refuse_account_fields
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.http.body import bad_request, require_model_name
from plimsoll.gateway.http.masking import masking
from plimsoll.gateway.http.responses import JSON, send_error, send_whole
from plimsoll.gateway.upstream.headers import returned_headers
from plimsoll.gateway.upstream.target import Target

_LIST_BYTES = 4_000_000


class Models:
    """The list of models, or one model."""

    def __init__(self, handler: Callable[[], RequestHandler]) -> None:
        self._handler = handler

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        headers = tuple(scope["headers"])
        dialect = dialect_of(scope["path"], headers)
        request = ClientRequest(
            dialect, b"", {}, headers, caller_in(scope).archive_owner, scope.get("query_string", b"")
        )
        async with failures_sent(send, dialect):
            target = await self._handler().target(request)
            send = masking(send, target.secrets)
            async with failures_sent(send, dialect):
                await self._list(request, target, scope.get("path_params", {}).get("name", ""), send)

    async def _list(self, request: ClientRequest, target: Target, name: str, send: Send) -> None:
        handler, dialect = self._handler(), request.dialect
        require_model_name(name)
        try:
            url = target.model_url(name) if name else target.models_url
        except UserError as error:
            raise bad_request(str(error)) from None
        answer = await handler.pool.send(handler.call(request, target, url, b"", "GET"))
        body = without_keys(await answer.read_all(_LIST_BYTES), target.secrets)
        if target.dialect is dialect:
            await send_whole(send, answer.status, returned_headers(answer.headers), body)
        elif answer.status >= 300:
            detail = f"The upstream answered {answer.status} to the request for its list of models."
            await send_error(send, dialect, answer.status, detail)
        else:
            names = target.dialect.model_names(_parsed(body))
            await send_whole(send, 200, [JSON], jsontext.write(_listed(dialect, names, bool(name))))


async def count_tokens(handler: RequestHandler, request: ClientRequest, send: Send) -> None:
    """Send how many tokens the request would have upstream."""
    request = await handler.recall.store.prepared(await handler.replies.expanded(request))
    target = await handler.target(request)
    send = masking(send, target.secrets)
    async with failures_sent(send, request.dialect):
        refuse_account_fields(request, target)
        out = handler.outgoing(request, target)
        handler.recognizer.peek(out)
        if out.is_translated:
            await send_whole(send, 200, [JSON], jsontext.write(request.dialect.counted(out.tokens_after)))
            return
        handler.writer.write_now(out)
        call = handler.call(request, target, target.count_url(out.model), out.body)
        answer = await handler.pool.send(call)
        body = without_keys(await answer.read_all(_LIST_BYTES), target.secrets)
        await send_whole(send, answer.status, returned_headers(answer.headers), body)


def _listed(dialect: Dialect, names: list[str], is_one: bool) -> dict[str, Any]:
    """An upstream's models in another dialect."""
    if is_one:
        return dialect.model_body(names[0]) if names else {}
    return dialect.models_body(names)


def _parsed(body: bytes) -> Any:
    try:
        return jsontext.read(body)
    except (ValueError, RecursionError):
        return {}
