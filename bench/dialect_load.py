"""Load in every dialect, for the gateway's bench: an upstream that answers each in its own words, and its requests.

python bench/dialect_load.py PORT      the upstream alone, in a process of its own
"""

import contextlib
import json
import sys
from functools import cache
from itertools import count

import uvloop

from load import KEY, Upstream, _chunk, _serve
from plimsoll.dialects import ChatRequest, Reply, Usage, dialect_named, dialect_of
from plimsoll.testing.scripted_server.replies import steps_of

OLD, NEW = ("openai", "anthropic"), ("responses", "gemini")
_MODELS = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}
_SAID = {"role": "assistant", "content": "Pier four. " * 8}
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\n"
_ID, _NUMBERED = b"reply-00000000", b"reply-%08d"  # each reply has its own id: some are stored under it


def addresses(port: int) -> dict[str, str]:
    """The environment of a gateway whose clients bring their keys to this upstream."""
    root = f"http://127.0.0.1:{port}"
    return {
        "OPENAI_BASE_URL": f"{root}/v1",
        "ANTHROPIC_BASE_URL": root,
        "GOOGLE_GEMINI_BASE_URL": f"{root}/v1beta",
    }


@cache
def _parts(name: str, size: int, stream: bool) -> tuple[bytes, bytes, bytes]:
    """A request without its number: head, and the body before and after it."""
    dialect, model = dialect_named(name), _MODELS.get(name, "gpt-4.1")
    said = "Ship @: where does it lie? " + "It came in with the tide. " * (size // 26)
    messages = (
        {"role": "system", "content": "You know every ship in the harbour."},
        {"role": "user", "content": said},
    )
    request = ChatRequest(model, messages, max_tokens=500, stream=stream)
    before, _, after = json.dumps(dialect.encode_request(request)).encode().partition(b"@")
    path = dialect.url(dialect.local_url("http://h"), model, stream).removeprefix("http://h")
    key, value = dialect.auth(KEY)
    own = "anthropic-version: 2023-06-01\r\n" if dialect.needs_limit else ""
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n{key}: {value}\r\n{own}"
    return head.encode(), before, after


def dialect_request(name: str, stream: bool, _port: int, number: int, *, size: int = 1_500) -> bytes:
    """A request as bytes; each number is a conversation of its own."""
    head, before, after = _parts(name, size, stream)
    body = before + str(number).encode() + after
    return head + b"content-length: %d\r\n\r\n" % len(body) + body


@cache
def _reply(name: str, stream: bool) -> bytes:
    dialect = dialect_named(name)
    usage = Usage(prompt_tokens=420, completion_tokens=40)
    reply = Reply(message=_SAID, finish_reason="stop", usage=usage, id=_ID.decode(), model="bench")
    if not stream:
        body = json.dumps(dialect.encode_reply(reply, {}, 1_700_000_000)).encode()
        return _HEAD % b"application/json" + b"content-length: %d\r\n\r\n%b" % (len(body), body)
    encoder = dialect.encoder({}, 1_700_000_000, True)
    events = [event for step in steps_of(reply) for event in encoder.encode(step)] + encoder.finish()
    pieces = b"".join(_chunk(event.encode()) for event in events)
    return _HEAD % b"text/event-stream" + b"transfer-encoding: chunked\r\n\r\n" + pieces + b"0\r\n\r\n"


class DialectUpstream(Upstream):
    """Answers every request with the same words, in the dialect of its path."""

    _numbers = count(1)

    def _answer(self, body: bytes) -> None:
        path = self._line.split(b" ")[1].split(b"?")[0].decode()
        is_stream = b'"stream": true' in body or b'"stream":true' in body or b"stream" in self._line
        reply = _reply(dialect_of(path, ()).name, is_stream)
        self._transport.write(reply.replace(_ID, _NUMBERED % next(self._numbers)))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(_serve(int(sys.argv[1]), DialectUpstream))
