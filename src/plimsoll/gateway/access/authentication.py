"""Authenticates every request before it reaches a path.

    always          a browser's request from another site's page: 403, unless gateway.allowed_origins has its origin
    no key needed   a foreign host name (DNS rebinding): 403, else admitted
    key needed      missing or wrong: 401 · read-only key for anything but reading: 403 ·
                    limit reached: 429 with Retry-After · else admitted

    Authorization: Bearer plim-…   ·   x-api-key: plim-…   ·   x-plimsoll-key: plim-… next to the client's own key

The gateway's key is removed here and never reaches an upstream. Endpoints find the caller in
`scope["state"]["caller"]` and in a header that only this module writes.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from plimsoll.archive import OPERATOR, Owner
from plimsoll.archive.key_format import is_key
from plimsoll.dialects import dialect_of, key_headers
from plimsoll.errors import PlimsollError, UsageLimitReached
from plimsoll.gateway.access.key_cache import KeyCache
from plimsoll.gateway.access.key_policy import KeyPolicy, is_loopback
from plimsoll.gateway.access.usage_limits import refusal_of
from plimsoll.gateway.asgi import ANONYMOUS, CALLER_HEADER, App, Caller, Header, Receive, Scope, Send
from plimsoll.gateway.http.problems import PROBLEM_PATHS, Problem, send_problem
from plimsoll.gateway.http.responses import send_error
from plimsoll.gateway.telemetry.request_facts import current, note_refusal

SHELL_PATH = "/inspect"  # a page without data, the only one that another site may link to
OPEN_PATHS = frozenset({"/healthz", "/readyz", SHELL_PATH, "/inspect/app.js", "/inspect/app.css"})
KEY_HEADER = b"x-plimsoll-key"
# Headers that only this module writes, or that it has checked and an upstream does not need.
_TAKEN_OUT = frozenset(
    {CALLER_HEADER, b"origin", b"sec-fetch-site", b"sec-fetch-mode", b"sec-fetch-dest", b"sec-fetch-user"}
)
_OWN_SITES = frozenset(
    {"none", "same-origin"}
)  # Sec-Fetch-Site of the address bar and of the gateway's own pages
_KEY_REQUIRED = (
    "This gateway needs its own key: send `Authorization: Bearer plim-…` or `x-api-key: plim-…`. The operator "
    "creates one with `plimsoll gateway keys add NAME`."
)
_KEY_UNKNOWN = "This key is unknown or revoked. `plimsoll gateway keys list` shows the valid keys."
_READ_ONLY = (
    "The key {name!r} is read-only: it can only read sessions. `plimsoll gateway keys add NAME` creates a "
    "key that can write."
)
_READING = frozenset({"GET", "HEAD"})
METRICS_PATH = "/metrics"
_NOT_THE_OPERATORS = (
    "The metrics add up the requests of all keys. They need a key that `plimsoll gateway keys add NAME --read-only "
    "operator` creates."
)
# What a read-only key may read. Every other path asks the upstream, with the gateway's own key.
_READABLE = (*PROBLEM_PATHS, SHELL_PATH, METRICS_PATH)
_BEARER: tuple[Header, ...] = ((b"www-authenticate", b"Bearer"),)
_RETRY_SOON: tuple[Header, ...] = ((b"retry-after", b"2"),)
_TITLES = {401: "No key", 403: "Not from here", 429: "Too much", 503: "Not now"}


class _Refusal(Exception):
    """A rejected request: the error that the client gets, and a label for the metrics."""

    def __init__(
        self, status: int, word: str, message: str, code: str | None = None, headers: Sequence[Header] = ()
    ) -> None:
        super().__init__(message)
        self.status, self.word, self.message, self.code, self.headers = status, word, message, code, headers


class Authentication:
    """ASGI middleware. `origins` are the web pages that may use the gateway."""

    def __init__(self, app: App, key_policy: KeyPolicy, host: str, origins: Sequence[str] = ()) -> None:
        self._app, self._key_policy, self._host = app, key_policy, host.lower()
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        take_key_out_of_query(scope)
        key, headers = without_gateway_key(scope["headers"])
        try:
            caller = await self._caller(scope, key)
        except _Refusal as why:
            note_refusal(why.word)
            await _send(scope, send, why)
            return
        if caller.owner is not None:
            headers.append((CALLER_HEADER, caller.owner.encode()))
        facts = current()
        if facts is not None:
            facts.caller = caller
        # Changed in place, so that the telemetry middleware sees the outcome of the request.
        scope["headers"] = headers
        scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)

    async def _caller(self, scope: Scope, key: str) -> Caller:
        self._refuse_other_pages(scope)
        if scope["path"] in OPEN_PATHS:
            return ANONYMOUS
        if self._key_policy.key_cache is None:
            raise _Refusal(
                503, "starting", "The gateway is starting. Try again in a moment.", headers=_RETRY_SOON
            )
        if not self._key_policy.is_keyed:
            self._refuse_other_hosts(scope)
            return ANONYMOUS
        is_reading = scope["method"] in _READING and scope["path"].startswith(_READABLE)
        caller = await self._with_key(key, self._key_policy.key_cache, is_reading)
        if scope["path"] == METRICS_PATH and caller.reads != OPERATOR:
            raise _Refusal(403, "metrics", _NOT_THE_OPERATORS)
        return caller

    async def _with_key(self, text: str, key_cache: KeyCache, is_reading: bool) -> Caller:
        if not text:
            raise _Refusal(401, "key", _KEY_REQUIRED, "invalid_api_key", _BEARER)
        try:
            key = await key_cache.find(text)
            if key is None:
                raise _Refusal(401, "key", _KEY_UNKNOWN, "invalid_api_key", _BEARER)
            if key.reads is not None and not is_reading:
                raise _Refusal(403, "read-only", _READ_ONLY.format(name=key.name), "read_only_key")
            await key_cache.admit(key)
        except UsageLimitReached as error:
            code, headers = refusal_of(error)
            raise _Refusal(429, error.limit, str(error), code, headers) from None
        except PlimsollError as error:
            detail = "The gateway cannot check keys: its archive does not answer. Try again in a moment."
            raise _Refusal(503, "archive", detail, headers=_RETRY_SOON) from error
        return Caller(key.id, key.name, None if key.reads is None else Owner(key.reads))

    def _refuse_other_pages(self, scope: Scope) -> None:
        """Refuse requests that a page of another site makes a browser send, on every path, with or without keys.

        Browsers name the site in Sec-Fetch-Site, older ones only in Origin. A page can forge neither.
        """
        if is_own_page(scope):
            return
        origins = _values(scope, b"origin")
        if origins and all(origin in self._origins for origin in origins):
            return
        if origins and "*" in self._origins and self._key_policy.is_keyed:
            return
        source = f"Pages of {origins[0][:200]!r}" if origins else "Links and pages of other sites"
        raise _Refusal(
            403,
            "origin",
            f"{source} may not use this gateway. Add their origin to gateway.allowed_origins.",
        )

    def _refuse_other_hosts(self, scope: Scope) -> None:
        """Without keys, refuse host names that an attacker may have pointed at this machine (DNS rebinding)."""
        if not is_own_host(scope, self._host):
            host = next(iter(_values(scope, b"host")))
            detail = f"Without keys, the gateway does not serve {host[:200]!r}. Set gateway.keys to required."
            raise _Refusal(403, "host", detail)


def is_own_page(scope: Scope) -> bool:
    """Whether the request does not come from a page of another site. Such a page may only link to the empty shell."""
    sites = _values(scope, b"sec-fetch-site")
    if all(site.lower() in _OWN_SITES for site in sites) if sites else not _values(scope, b"origin"):
        return True
    is_opened = (_values(scope, b"sec-fetch-mode"), _values(scope, b"sec-fetch-dest")) == (
        ["navigate"],
        ["document"],
    )
    return is_opened and scope["path"] == SHELL_PATH and scope["method"] == "GET"


def is_own_host(scope: Scope, own: str) -> bool:
    """Whether every host name in the request is this machine or the address that the gateway listens on."""
    hosts = [_host_name(host) for host in _values(scope, b"host") if host]
    return all(host and (host == own or is_loopback(host)) for host in hosts)


@lru_cache(maxsize=256)
def _host_name(host: str) -> str:
    """The host name in a Host header without its port; empty if there is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _values(scope: Scope, name: bytes) -> list[str]:
    """All values of a header."""
    return [value.decode("latin-1").strip() for item, value in scope["headers"] if item == name]


async def _send(scope: Scope, send: Send, refusal: _Refusal) -> None:
    """Send a refusal in the error format of this path."""
    path = scope["path"]
    if path.startswith(PROBLEM_PATHS):
        await send_problem(
            send, Problem(refusal.status, _TITLES[refusal.status], refusal.message, tuple(refusal.headers))
        )
        return
    dialect = dialect_of(path, scope["headers"])
    await send_error(
        send, dialect, refusal.status, refusal.message, code=refusal.code, headers=refusal.headers
    )


def take_key_out_of_query(scope: Scope) -> None:
    """Move a key from the query to the header of its dialect: queries may be logged, and go upstream unchanged."""
    query = scope.get("query_string", b"")
    if b"=" not in query:
        return
    dialect = dialect_of(scope["path"], scope["headers"])
    kept, keys = [], []
    for pair in query.split(b"&"):
        name, _, value = (unquote(part) for part in pair.decode("latin-1").partition("="))
        if dialect.key_parameter and name == dialect.key_parameter:
            keys.append(value)
        elif not is_key(value):
            kept.append(pair)
    scope["query_string"] = b"&".join(kept)
    if keys:
        header, key = dialect.key_header.encode(), keys[0]
        is_plain = key.isascii() and key.isprintable() and " " not in key  # cannot end a header
        if is_plain and all(name != header for name, _ in scope["headers"]):
            scope["headers"] = [*scope["headers"], (header, (dialect.key_prefix + key).encode())]


def without_gateway_key(headers: Iterable[Header]) -> tuple[str, list[Header]]:
    """The gateway's key, and the headers without it and without those that must not go upstream."""
    kept: list[Header] = []
    found: dict[bytes, str] = {}
    names = (KEY_HEADER, *key_headers())
    for name, value in headers:
        if name in names:
            text = _credential(value)
            if is_key(text) or name == KEY_HEADER:
                found.setdefault(name, text)
                continue
        elif name in _TAKEN_OUT:
            continue
        kept.append((name, value))
    return next((found[name] for name in names if name in found), ""), kept


def _credential(value: bytes) -> str:
    text = value.decode("latin-1").strip()
    scheme, _, rest = text.partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else text
