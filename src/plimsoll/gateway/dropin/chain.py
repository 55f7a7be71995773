"""By what a conversation is known: a running hash over its messages.

    h1 = H(root, m1) ── h2 = H(h1, m2) ── h3 = H(h2, m3)      the same beginning, the same hashes

A client that keeps its history sends the same beginning again, so the longest known hash says which
conversation it is and where it goes on; where an earlier message was edited, everything from there on is
unknown. Cache markers do not count, as clients move them, and a text counts like one text block. The root
holds who asks, so that two callers never meet, and the name that the client gave, if it gave one.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

from plimsoll.dialects import Dialect
from plimsoll.gateway.dropin.client_request import SESSION_HEADER
from plimsoll.gateway.http.jsontext import write_sorted
from plimsoll.gateway.upstream.headers import caller_of

SIZE = 16


def root_of(caller: bytes, dialect: str, session: bytes = b"") -> bytes:
    """Where the chain of a conversation begins."""
    return blake2b(b"\0".join((caller, dialect.encode(), session)), digest_size=SIZE).digest()


def root_for(named: Mapping[bytes, bytes], dialect: Dialect) -> bytes:
    """Where the chain of a request with these headers begins."""
    carriers = (SESSION_HEADER, *(name.encode() for name in dialect.session_headers))
    session = next(filter(None, (named.get(name, b"").strip() for name in carriers)), b"")
    return root_of(caller_of(named), dialect.name, session)


def chain_of(root: bytes, said: Iterable[dict[str, Any]]) -> list[bytes]:
    """One hash for each message without cache markers, over it and everything before it."""
    chain, digest = [], root
    for message in said:
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
    # Most messages are a role and a text, and a long history has thousands of them.
    role = str(message.get("role")).encode("utf-8", "surrogatepass")
    return b"%d:%b%d:%b%b" % (len(role), role, len(rest), rest, content.encode("utf-8", "surrogatepass"))


def _is_text(block: Any) -> bool:
    if not isinstance(block, dict) or block.keys() != {"type", "text"}:
        return False
    return block["type"] == "text" and isinstance(block["text"], str)
