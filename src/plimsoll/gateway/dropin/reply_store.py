"""Restores conversations of clients that send only new messages and the id of the reply that they continue.

    request   1                   ─► reply a         kept: a = 1, answer
    request   3, continues a      ─► reply b         kept: b = a, 3, answer
    upstream  1, answer, 3

The gateway writes the whole conversation into the request, so that it is recognised and compacted like any other and
can go to a stateless upstream. Replies are stored in their owner's archive, so any process finds them, even after a
restart. For an unknown reply (too old, or another caller's), the request goes upstream unchanged.
"""

import logging
from collections.abc import Callable
from dataclasses import replace

from plimsoll.archive import Owner
from plimsoll.archive.replies import ReplyArchive
from plimsoll.dialects import Reply
from plimsoll.errors import PlimsollError
from plimsoll.gateway.dropin.client_request import ClientRequest
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.upstream.headers import caller_of

log = logging.getLogger(__name__)


class ReplyStore:
    """The replies that callers may continue. `replies_of` opens those of one owner."""

    def __init__(self, replies_of: Callable[[Owner], ReplyArchive]) -> None:
        self._replies_of = replies_of

    async def expanded(self, request: ClientRequest) -> ClientRequest:
        """The request with the whole conversation, if it continues a known reply."""
        continued = request.dialect.continues(request.body)
        if not continued:
            return request
        try:
            history = await self._replies_of(request.owner).history(_name(request, continued))
        except PlimsollError as error:
            log.warning("a reply was not looked up: %s", error)
            return request
        if not history:
            return request
        earlier = [message for body in history for message in jsontext.read(body.encode())]
        body = request.dialect.expanded(request.body, earlier)
        return replace(
            request,
            body=body,
            raw=jsontext.write(body),
            analysis=None,
            continues=continued,
            earlier=len(earlier),
        )

    async def keep(self, request: ClientRequest, reply: Reply) -> None:
        """Store a reply that the caller may continue."""
        if not reply.id:
            return
        answer = request.dialect.written([reply.message], request.model)
        added = [*request.messages[request.earlier :], *answer]
        before = _name(request, request.continues) if request.continues else ""
        try:
            await self._replies_of(request.owner).keep(
                _name(request, reply.id), before, jsontext.write(added).decode()
            )
        except PlimsollError as error:
            log.warning("a reply was not kept: %s", error)


def _name(request: ClientRequest, reply: str) -> str:
    """The name of a reply. It includes the caller, because callers without gateway keys share an owner."""
    return f"{request.dialect.name}/{caller_of(request.named).hex()}/{reply}"
