"""Which headers and parameters are sent upstream, which headers are returned to the client, and whose key is sent.

    client ──► all but keys, hop-by-hop headers, and those for the gateway ──► upstream
               with the gateway's key, also none that names an account
    client ◄── all but hop-by-hop headers and cookies ◄── upstream

Between different dialects, only the upstream's own headers are sent: the other provider's have no meaning there.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes

from plimsoll.dialects import key_headers
from plimsoll.gateway.asgi import CALLER_HEADER, Header

if TYPE_CHECKING:  # a worker process imports this module, and needs no HTTP client
    from plimsoll.providers import Endpoint

_CONNECTION = frozenset(
    {b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te"}
    | {b"trailer", b"transfer-encoding", b"upgrade", b"http2-settings", b"content-length", b"host", b"expect"}
)
# An answer is read while it is relayed, so it must not be compressed.
_NOT_SENT = _CONNECTION | {b"accept-encoding", b"content-encoding", b"cookie", b"x-session-id", b"forwarded"}
_NOT_RETURNED = _CONNECTION | {b"set-cookie", b"content-encoding", b"date", b"server", b"alt-svc"}
_OURS = (b"x-plimsoll", b"x-forwarded-")
# With the gateway's key, a header or parameter that names an account would choose which of the operator's accounts is
# billed, and a second key would be the client's. Words in names: OpenAI-Organization, x-goog-user-project, api-key,
# access_token, $userProject.
_ACCOUNT_WORDS = frozenset(
    {
        b"account",
        b"apikey",
        b"auth",
        b"authorization",
        b"billing",
        b"credential",
        b"credentials",
        b"customer",
        b"key",
        b"org",
    }
    | {b"organisation", b"organization", b"project", b"secret", b"subscription", b"team", b"tenant", b"token"}
    | {b"workspace"}
)
_NO_ACCOUNT = frozenset({b"idempotency-key", b"pagetoken", b"page_token", b"next_page_token"})
_NAME_WORD = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_QUERY = "!$%&'()*+,-./:;=?@_~"  # characters that a query may contain unescaped (RFC 3986)


def client_key(headers: Mapping[bytes, bytes]) -> str:
    """The key that a client sent, in any header; empty if none."""
    for name, prefix in key_headers().items():
        value = headers.get(name, b"").decode("latin-1").strip()
        if value and prefix:
            scheme, _, key = value.partition(" ")
            value = key.strip() if scheme.lower() == prefix else ""
        if value:
            return value
    return ""


def caller_of(headers: Mapping[bytes, bytes]) -> bytes:
    """Identifies a caller without storing its key, so that callers cannot read each other's conversations."""
    own = b"\0".join(headers.get(name, b"") for name in key_headers())
    # A caller with a gateway key is identified by it; the key itself is no longer in the headers.
    identity = own + b"\0" + headers[CALLER_HEADER] if CALLER_HEADER in headers else own
    return blake2b(identity, digest_size=16).digest()


def sent_headers(
    endpoint: "Endpoint",
    client: Iterable[Header],
    same_dialect: bool,
    content_type: bytes | None = b"application/json",
) -> tuple[Header, ...]:
    """The headers of a request to an upstream; without a content type if there is no body."""
    named, headers = dict(client), dict(_own_headers(endpoint))
    if same_dialect:
        asking = endpoint.wire.beta_header.encode()
        betas = [value for value in (named.get(asking), headers.get(asking)) if value]
        unsent, has_own_key = _unsent(), endpoint.key is not None
        headers |= {
            name: value
            for name, value in named.items()
            if name not in unsent
            and not name.startswith(_OURS)
            and not (has_own_key and _names_account(name))
        }
        if betas:
            headers[asking] = b",".join(dict.fromkeys(betas))
    if endpoint.key is None:
        headers |= _client_keys(endpoint, named, same_dialect)
    headers[b"accept-encoding"] = b"identity"
    headers.pop(b"content-type", None)
    if content_type is not None:
        headers[b"content-type"] = content_type
    return tuple(headers.items())


def sent_query(endpoint: "Endpoint", query: bytes) -> str:
    """The query of a request to an upstream, with its question mark; empty if there is none."""
    if endpoint.key is not None:
        names = (unquote_to_bytes(pair.partition(b"=")[0]) for pair in query.split(b"&"))
        pairs = zip(query.split(b"&"), names, strict=True)
        query = b"&".join(pair for pair, name in pairs if not _names_account(name))
    return f"?{quote(query, safe=_QUERY)}" if query else ""


@lru_cache(256)
def _own_headers(endpoint: "Endpoint") -> tuple[Header, ...]:
    """The headers that the endpoint itself needs."""
    return tuple(
        (name.lower().encode(), value.encode()) for name, value in endpoint.request_headers().items()
    )


@cache
def _without_keys(keys: tuple[bytes, ...]) -> frozenset[bytes]:
    return _NOT_SENT.union(keys)


def _unsent() -> frozenset[bytes]:
    """The headers of a client that do not go upstream as they are."""
    return _without_keys(tuple(key_headers()))


def _names_account(name: bytes) -> bool:
    """Whether a header or a parameter chooses a provider account or contains a key."""
    words = {word.lower() for word in _NAME_WORD.findall(name)}
    return name.lower() not in _NO_ACCOUNT and not _ACCOUNT_WORDS.isdisjoint(words)


def returned_headers(upstream: Iterable[Header]) -> list[Header]:
    """The headers of an upstream's answer that the client gets."""
    return [(name, value) for name, value in upstream if name not in _NOT_RETURNED]


def _client_keys(
    endpoint: "Endpoint", client: Mapping[bytes, bytes], same_dialect: bool
) -> dict[bytes, bytes]:
    """The client's own key, as it was sent or in the other dialect's header."""
    if same_dialect:
        return {name: client[name] for name in key_headers() if name in client}
    key = client_key(client)
    if not key:
        return {}
    name, value = endpoint.wire.auth(key)
    return {name.encode(): value.encode("latin-1")}
