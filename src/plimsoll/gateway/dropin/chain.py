"""Identifies conversations by a running hash over their messages.

    h1 = H(root, m1) ── h2 = H(h1, m2) ── h3 = H(h2, m3)      the same prefix, the same hashes

A client that keeps its history sends the same prefix again, so the longest known hash identifies the conversation
and where it continues. After an edited message, all hashes are unknown. Cache markers are ignored, because clients
move them, and a string equals one text block. The root includes the caller, so that callers never share a
conversation, and the session name if the client sends one.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

from plimsoll.dialects import Dialect
from plimsoll.gateway.dropin.client_request import SESSION_HEADER
from plimsoll.gateway.http.jsontext import write_sorted
from plimsoll.gateway.upstream.headers import caller_of

SIZE = 16  # bytes of a hash


def root_of(caller: bytes, dialect: str, session: bytes = b"") -> bytes:
    """The hash that a conversation's chain starts from."""
    return blake2b(b"\0".join((caller, dialect.encode(), session)), digest_size=SIZE).digest()


def root_for(named: Mapping[bytes, bytes], dialect: Dialect) -> bytes:
    """The hash that the chain of a request with these headers starts from."""
    names = (SESSION_HEADER, *(name.encode() for name in dialect.session_headers))
    session = next(filter(None, (named.get(name, b"").strip() for name in names)), b"")
    return root_of(caller_of(named), dialect.name, session)


def chain_of(root: bytes, messages: Iterable[dict[str, Any]]) -> list[bytes]:
    """One hash per message, over it and all messages before it, without cache markers."""
    chain, digest = [], root
    for message in messages:
        digest = blake2b(digest + _bytes(message), digest_size=SIZE).digest()
        chain.append(digest)
    return chain


def _bytes(message: dict[str, Any]) -> bytes:
    content = message.get("content")
    if isinstance(content, list) and len(content) == 1 and _is_text(content[0]):
        content = content[0]["text"]
    if not isinstance(content, str):
        return write_sorted(message)
    rest = (
        write_sorted({key: value for key, value in message.items() if key != "content"})
        if len(message) > 2
        else b""
    )
    # Fast path: most messages are a role and a text, and a long history has thousands of them.
    role = str(message.get("role")).encode("utf-8", "surrogatepass")
    return b"%d:%b%d:%b%b" % (len(role), role, len(rest), rest, content.encode("utf-8", "surrogatepass"))


def _is_text(block: Any) -> bool:
    if not isinstance(block, dict) or block.keys() != {"type", "text"}:
        return False
    return block["type"] == "text" and isinstance(block["text"], str)
