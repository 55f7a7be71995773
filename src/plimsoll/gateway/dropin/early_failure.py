"""Detects overflows that a provider reports in a stream with status 200, before any content.

    response.created ─► response.in_progress ─┬─► response.failed     the request is compacted and sent again
                                              └─► anything else       the stream goes to the client, whole

Only dialects that name their `opening_events` report overflows this way.
"""

from collections.abc import Iterable

from plimsoll.dialects import Dialect, SseEvent, SseParser
from plimsoll.dialects.interfaces import Body
from plimsoll.errors import ContextOverflow, MalformedReply
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.upstream.pool import UpstreamResponse
from plimsoll.providers import classify

STATUS = 400  # of an overflow without a stream
_OPENING = 1_000_000  # bytes of opening events to read; OpenAI repeats the tools in them


async def overflow_in(answer: UpstreamResponse, dialect: Dialect) -> bytes | None:
    """The body of the overflow error that a stream begins with. Closes the answer and sets its status.

    None if it begins with anything else; the answer can then be read from its start.
    """
    if not dialect.opening_events:
        return None
    chunks: list[bytes] = []
    try:
        error = await _error_in(answer, dialect, chunks)
    except BaseException:  # also when the client disconnects
        answer.close()
        raise
    body = jsontext.write(error) if error else b""
    if error and isinstance(classify(STATUS, body, dialect=dialect), ContextOverflow):
        answer.close()
        answer.status = STATUS
        return body
    answer.unread(chunks)
    return None


async def _error_in(answer: UpstreamResponse, dialect: Dialect, chunks: list[bytes]) -> Body | None:
    """The error in the first event after the opening; appends the pieces it read to `chunks`."""
    parser, size = SseParser(), 0
    while size < _OPENING and (piece := await answer.read_chunk()):
        chunks.append(piece)
        size += len(piece)
        is_decided, error = _decision(parser.feed(piece), dialect)
        if is_decided:
            return error
    return None


def _decision(events: Iterable[SseEvent], dialect: Dialect) -> tuple[bool, Body | None]:
    """Whether a stream has passed its opening, and the error that it reports there."""
    for event in events:
        try:
            data = event.decoded()
        except MalformedReply:
            return True, None
        if data is not None and data.get("type") not in dialect.opening_events:
            return True, dialect.error_in(data)
    return False, None
