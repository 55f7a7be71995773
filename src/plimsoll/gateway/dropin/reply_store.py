"""Conversations whose clients send only what is new, and the id of the reply that they continue.

    request   1                   ─► reply a         kept: a = 1, answer
    request   3, continues a      ─► reply b         kept: b = a, 3, answer
    upstream  1, answer, 3

The gateway writes the whole conversation into the request, so that it is recognised and compacted like any other and
can go to an upstream that keeps nothing. A reply that is not known here (it is too old, or another process gave it)
is left to the upstream: the request goes there as it came.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from plimsoll.dialects import Reply
from plimsoll.dialects.interfaces import WireMessage
from plimsoll.gateway.dropin.client_request import ClientRequest
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.upstream.headers import caller_of

Key = tuple[bytes, str, str]  # caller, dialect, id of the reply


@dataclass(frozen=True, slots=True)
class KeptReply:
    """What a request added to a conversation, with its answer."""

    before: Key | None
    messages: tuple[WireMessage, ...]
    weight: int


class ReplyStore:
    """The replies that callers may continue. The one used last is forgotten last."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes, self._weight = most_bytes, 0
        self._kept: OrderedDict[Key, KeptReply] = OrderedDict()

    def expanded(self, request: ClientRequest) -> ClientRequest:
        """The request with the whole conversation, where it continues a reply that is known."""
        continued = request.dialect.continues(request.body)
        if not continued:
            return request
        before = list(self._before(_key(request, continued)))
        if not before or before[-1].before is not None:
            return request
        earlier = [message for kept in reversed(before) for message in kept.messages]
        body = request.dialect.expanded(request.body, earlier)
        return replace(
            request,
            body=body,
            raw=jsontext.write(body),
            analysis=None,
            continues=continued,
            earlier=len(earlier),
        )

    def keep(self, request: ClientRequest, reply: Reply) -> None:
        """Keep a reply that the caller may continue."""
        if not reply.id:
            return
        answer = request.dialect.written([reply.message], request.model)
        added = (*request.said[request.earlier :], *answer)
        before = _key(request, request.continues) if request.continues else None
        kept = KeptReply(before, added, len(jsontext.write(added)))
        self._forget(_key(request, reply.id))
        self._kept[_key(request, reply.id)] = kept
        self._weight += kept.weight
        while self._weight > self._most_bytes:
            self._forget(next(iter(self._kept)))

    def _before(self, key: Key | None) -> Iterator[KeptReply]:
        """The replies of a conversation, the newest first, as far as they are known."""
        while key is not None and (kept := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            yield kept
            key = kept.before

    def _forget(self, key: Key) -> None:
        forgotten = self._kept.pop(key, None)
        if forgotten is not None:
            self._weight -= forgotten.weight


def _key(request: ClientRequest, reply: str) -> Key:
    return caller_of(request.named), request.dialect.name, reply
