"""How to reach a model: address, dialect, key, and the model's name there.

    Endpoint(provider="openrouter", base_url="https://openrouter.ai/api/v1", dialect="openai", model="…")

The key appears in no `repr` and is only sent in a request header.
"""

import re
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from urllib.parse import urlsplit

from plimsoll.dialects import Dialect, dialect_named, dialect_shown_by, dialect_with_mode
from plimsoll.errors import UserError
from plimsoll.models.providers import providers

_LONG_CONTEXT = re.compile(r"\[1m\]$", re.IGNORECASE)
LONG_CONTEXT_HEADER = ("anthropic-beta", "context-1m-2025-08-07")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address."""

    provider: str
    base_url: str
    dialect: str  # its name; `wire` is the dialect itself
    key: str | None = field(default=None, repr=False)
    model: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    sent: str = "bearer"  # the header that carries the key

    def __post_init__(self) -> None:
        if self.key is not None and not (
            self.key.isascii() and self.key.isprintable() and " " not in self.key
        ):
            raise UserError(
                f"The key for {self.provider} contains invalid characters; set its variable again."
            )

    @property
    def embedded(self) -> bool:
        """Whether the model runs on this machine and must be started first; then `model` is the path of its file."""
        return self.provider == "local" and not self.base_url

    @property
    def url(self) -> str:
        """The URL for requests to its model."""
        return self.url_for(is_stream=False)

    def url_for(self, *, is_stream: bool) -> str:
        """The same for a streamed or unstreamed reply."""
        return self.wire.url(self.base_url, self.model, is_stream)

    @property
    def wire(self) -> Dialect:
        """The dialect that the endpoint speaks."""
        return dialect_named(self.dialect)

    @property
    def place(self) -> str:
        """Scheme, host and port: the part of the address that may be shown, because the rest may be secret."""
        parts = urlsplit(self.base_url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{parts.scheme}://{host}" + ("" if parts.port is None else f":{parts.port}")

    @property
    def is_loopback(self) -> bool:
        """Whether the address is on this machine."""
        return is_loopback(self.base_url)

    def header(self, name: str) -> str:
        """The value of one of its headers; values with the same name are joined."""
        return ",".join(value for key, value in self.headers if key == name)

    def request_headers(self) -> dict[str, str]:
        """The headers of a request, including the key."""
        headers = {"content-type": "application/json", **dict(self.headers)}
        if self.key:
            value = f"Bearer {self.key}" if self.sent == "bearer" else self.key
            headers["authorization" if self.sent == "bearer" else self.sent] = value
        return headers


def in_mode(endpoint: Endpoint, api_mode: str) -> Endpoint:
    """The endpoint with this wire format.

    With `auto` it uses its provider's own, unless the address shows another: Google serves OpenAI's too.
    """
    shown = dialect_shown_by(endpoint.base_url) or endpoint.wire
    wire = shown if api_mode == "auto" else dialect_with_mode(api_mode)
    if wire is endpoint.wire and (wire.takes_bearer or endpoint.sent != "bearer"):
        return endpoint
    own = providers().get(wire.provider)
    headers = dict((*(own.headers if own else ()), *endpoint.headers))
    sent = "bearer" if wire.key_prefix else wire.key_header
    return replace(endpoint, dialect=wire.name, sent=sent, headers=tuple(headers.items()))


def is_loopback(base_url: str) -> bool:
    """Whether an address is on this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_private(base_url: str) -> bool:
    """Whether an address is on this machine or its local network, where servers usually need no key."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".lan", ".internal"))


def model_at(provider: str, name: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """A model's name as its provider spells it, and the headers that it needs."""
    own = name.removeprefix(f"{provider}/")
    if provider != "anthropic":
        return own, ()
    # Anthropic's own names have dashes where users and routers write dots.
    short = _LONG_CONTEXT.sub("", own).replace(".", "-")
    return short, (LONG_CONTEXT_HEADER,) if _LONG_CONTEXT.search(own) else ()
