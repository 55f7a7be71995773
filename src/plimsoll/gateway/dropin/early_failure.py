"""Overflows that a provider reports inside a stream with a good status, before it has said anything.

    response.created ─► response.in_progress ─┬─► response.failed     the request is compacted and sent again
                                              └─► anything else       the stream goes to the client, whole

Only dialects that name their `opening_events` report them like that.
"""

from collections.abc import Iterable

from plimsoll.dialects import Dialect, SseEvent, SseParser
from plimsoll.dialects.interfaces import Body
from plimsoll.errors import ContextOverflow, MalformedReply
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.upstream.pool import Answer
from plimsoll.providers import classify

STATUS = 400  # under which providers report an overflow without a stream
_OPENING = 1_000_000  # bytes of opening events that are looked at; OpenAI repeats the tools in them


async def overflow_in(answer: Answer, dialect: Dialect) -> bytes | None:
    """The body of the overflow that a stream begins with, which ends the answer with the status of one.

    None where it begins with anything else: then the answer is read from its start.
    """
    if not dialect.opening_events:
        return None
    taken: list[bytes] = []
    try:
        error = await _error_in(answer, dialect, taken)
    except BaseException:  # also a client that has left
        answer.close()
        raise
    body = jsontext.write(error) if error else b""
    if error and isinstance(classify(STATUS, body, dialect=dialect), ContextOverflow):
        answer.close()
        answer.status = STATUS
        return body
    answer.put_back(taken)
    return None


async def _error_in(answer: Answer, dialect: Dialect, taken: list[bytes]) -> Body | None:
    """The error of the first event behind the opening; `taken` gets the pieces that were read."""
    parser, size = SseParser(), 0
    while size < _OPENING and (piece := await answer.piece()):
        taken.append(piece)
        size += len(piece)
        is_decided, error = _decision(parser.feed(piece), dialect)
        if is_decided:
            return error
    return None


def _decision(events: Iterable[SseEvent], dialect: Dialect) -> tuple[bool, Body | None]:
    """Whether a stream has got past its opening, and the error that it reports there."""
    for event in events:
        try:
            data = event.decoded()
        except MalformedReply:
            return True, None
        if data is not None and data.get("type") not in dialect.opening_events:
            return True, dialect.error_in(data)
    return False, None
