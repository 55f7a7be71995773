"""Which headers of a client go upstream, which of an upstream's come back, and whose key is sent.

    client ──► everything but its keys, its connection's own, and what is meant for the gateway ──► upstream
               with the gateway's key, nothing that names an account either
    client ◄── everything but the connection's own and cookies ◄── upstream

Between two dialects only the upstream's own headers are sent: the other provider's would mean nothing there.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b

from plimsoll.dialects import key_headers
from plimsoll.gateway.asgi import CALLER_HEADER, Header
from plimsoll.providers import Endpoint

_CONNECTION = frozenset(
    {b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te"}
    | {b"trailer", b"transfer-encoding", b"upgrade", b"content-length", b"host", b"expect"}
)
# An answer is read on its way, so it must not be compressed.
_NOT_SENT = _CONNECTION | {b"accept-encoding", b"content-encoding", b"cookie", b"x-session-id", b"forwarded"}
_NOT_RETURNED = _CONNECTION | {b"set-cookie", b"content-encoding", b"date", b"server", b"alt-svc"}
_OURS = (b"x-plimsoll", b"x-forwarded-")
# With the gateway's key, a header that names an account would choose whom the gateway's owner is billed as, and
# a second key would be the client's. Words of a header's name: OpenAI-Organization, x-goog-user-project, api-key.
_ACCOUNT_WORDS = frozenset(
    {
        b"account",
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
_NO_ACCOUNT = frozenset({b"idempotency-key"})


def client_key(headers: Mapping[bytes, bytes]) -> str:
    """The key that a client sent, however it sent it; empty where it sent none."""
    for name, prefix in key_headers().items():
        value = headers.get(name, b"").decode("latin-1").strip()
        if value and prefix:
            scheme, _, key = value.partition(" ")
            value = key.strip() if scheme.lower() == prefix else ""
        if value:
            return value
    return ""


def caller_of(headers: Mapping[bytes, bytes]) -> bytes:
    """What tells callers apart without keeping their keys: nobody reads another's conversation."""
    own = b"\0".join(headers.get(name, b"") for name in key_headers())
    # Whoever has a key of the gateway is told by that; its secret is not among the headers any more.
    told = own + b"\0" + headers[CALLER_HEADER] if CALLER_HEADER in headers else own
    return blake2b(told, digest_size=16).digest()


def sent_headers(
    endpoint: Endpoint,
    client: Iterable[Header],
    same_dialect: bool,
    content_type: bytes | None = b"application/json",
) -> tuple[Header, ...]:
    """The headers of the request to an upstream; without a content type where there is no body."""
    named = dict(client)
    headers: dict[bytes, bytes] = {
        name.lower().encode(): value.encode() for name, value in endpoint.request_headers().items()
    }
    if same_dialect:
        asking = endpoint.wire.beta_header.encode()
        betas = [value for value in (named.get(asking), headers.get(asking)) if value]
        unsent = _NOT_SENT.union(key_headers())
        headers |= {
            name: value
            for name, value in named.items()
            if name not in unsent
            and not name.startswith(_OURS)
            and not (endpoint.key is not None and _names_account(name))
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


def _names_account(name: bytes) -> bool:
    """Whether a header chooses an account at a provider, or holds a key."""
    return name not in _NO_ACCOUNT and not _ACCOUNT_WORDS.isdisjoint(name.replace(b"_", b"-").split(b"-"))


def returned_headers(upstream: Iterable[Header]) -> list[Header]:
    """The headers of an upstream's answer that a client gets."""
    return [(name, value) for name, value in upstream if name not in _NOT_RETURNED]


def _client_keys(endpoint: Endpoint, client: Mapping[bytes, bytes], same_dialect: bool) -> dict[bytes, bytes]:
    """The client's own key, as it sent it, or as the other dialect sends keys."""
    if same_dialect:
        return {name: client[name] for name in key_headers() if name in client}
    key = client_key(client)
    if not key:
        return {}
    name, value = endpoint.wire.auth(key)
    return {name.encode(): value.encode("latin-1")}
