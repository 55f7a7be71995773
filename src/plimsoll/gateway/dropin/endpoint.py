"""The drop-in endpoints as ASGI applications. They apply limits, and cancel the request of a disconnected client."""

from collections.abc import Callable, Coroutine
from typing import Any

from plimsoll.dialects import Dialect
from plimsoll.dialects.addresses import path_segment
from plimsoll.errors import UserError
from plimsoll.gateway.asgi import Receive, Scope, Send, caller_in
from plimsoll.gateway.dropin.body_reader import BodyReader
from plimsoll.gateway.dropin.chain import root_for
from plimsoll.gateway.dropin.client_request import ClientRequest
from plimsoll.gateway.dropin.failures import failures_sent
from plimsoll.gateway.http.array_stream import as_json_array
from plimsoll.gateway.http.body import bad_request, read_body, require_model_name
from plimsoll.gateway.http.disconnects import until_disconnect
from plimsoll.settings.gateway import GatewaySection

Serve = Callable[[ClientRequest, Send], Coroutine[Any, Any, None]]


class DropInEndpoint:
    """One path; `reader` reads bodies, `serve` answers requests.

    With `finishes`, a request continues when its client disconnects.
    """

    def __init__(
        self,
        dialect: Dialect,
        limits: GatewaySection,
        reader: Callable[[], BodyReader],
        serve: Serve,
        finishes: bool = False,
    ) -> None:
        self._dialect, self._limits, self._reader, self._serve = dialect, limits, reader, serve
        self._finishes = finishes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = tuple(scope["headers"])
        named, query = dict(headers), scope.get("query_string", b"")
        if self._dialect.is_array_stream(scope["path"], query):
            send = as_json_array(send)
        async with failures_sent(send, self._dialect):
            _require_model(self._dialect.model_of({}, scope["path"]))
            raw = await read_body(receive, headers, self._limits)
            root = root_for(named, self._dialect)
            body, analysis = await self._reader().read(raw, self._dialect, root, self._limits)
            owner = caller_in(scope).archive_owner
            request = ClientRequest(self._dialect, raw, body, headers, owner, query, scope["path"], analysis)
            if self._finishes:  # sending to a disconnected client has no effect
                await self._serve(request, send)
            else:
                await until_disconnect(self._serve(request, send), receive)


def _require_model(model: str) -> None:
    """Refuse a model in the path that is no model name. Empty if the path names none."""
    if not model:
        return
    require_model_name(model)
    try:
        path_segment(model)
    except UserError as error:
        raise bad_request(str(error)) from None
