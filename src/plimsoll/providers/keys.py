"""Keys and addresses from the environment, by the names that everybody uses.

    ANTHROPIC_API_KEY ─► x-api-key        OPENAI_API_KEY ─► Authorization: Bearer        OLLAMA_HOST ─► address

A key is looked at only to be sent; sentences name its variable.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from plimsoll.errors import MissingKey
from plimsoll.models.settings import ModelSettings
from plimsoll.providers.catalogue import Dialect, ProviderFacts, Sent, provider_at, providers
from plimsoll.providers.endpoint import Endpoint, is_private, model_at

ANYBODY = ("PLIMSOLL_API_KEY", "OPENAI_API_KEY")  # for an address that is no provider's
_OLLAMA_PORT = 11_434


@dataclass(frozen=True, slots=True)
class FoundKey:
    """A key that is set, and where."""

    variable: str
    value: str = field(repr=False)
    sent: Sent = "bearer"


def find_key(facts: ProviderFacts, environ: Mapping[str, str]) -> FoundKey | None:
    """The first key that is set for a provider."""
    for key in facts.keys:
        value = environ.get(key.variable, "").strip()
        if value:
            return FoundKey(key.variable, value, key.sent)
    return None


def address_of(facts: ProviderFacts, environ: Mapping[str, str]) -> str:
    """Where a provider is reached: its variable, or its usual address."""
    for variable in facts.addresses:
        value = environ.get(variable, "").strip()
        if value:
            return _ollama_address(value) if facts.name == "ollama" else value
    return facts.base_url


def custom_endpoint(settings: ModelSettings, environ: Mapping[str, str]) -> Endpoint:
    """The endpoint at an address that the person gave."""
    address = settings.base_url or ""
    facts = providers().get(settings.provider) or provider_at(address)
    key = find_key(facts, environ) if facts else None
    key = key or _key_for_anybody(settings.provider, environ)
    if key is None and not is_private(address):
        names = facts.key_names if facts and facts.keys else ANYBODY[0]
        raise MissingKey(f"{address} needs a key: set {names} in the environment.")
    model, headers = model_at(facts.name if facts else settings.provider, settings.name or "")
    return Endpoint(
        provider=facts.name if facts else settings.provider if settings.provider != "auto" else "custom",
        base_url=address,
        dialect=_dialect(address, facts),
        key=key.value if key else None,
        model=model or (facts.model if facts else None) or "",
        headers=(*(facts.headers if facts else ()), *headers),
        sent=key.sent if key else "bearer",
    )


def _key_for_anybody(provider: str, environ: Mapping[str, str]) -> FoundKey | None:
    own = (f"{provider.upper().replace('-', '_')}_API_KEY",) if provider != "auto" else ()
    for variable in (*own, *ANYBODY):
        value = environ.get(variable, "").strip()
        if value:
            return FoundKey(variable, value)
    return None


def _dialect(address: str, facts: ProviderFacts | None) -> Dialect:
    if facts is not None:
        return facts.dialect
    # Several providers offer Anthropic's wire beside OpenAI's, under this path.
    return (
        "anthropic"
        if urlsplit(address).path.rstrip("/").endswith(("/anthropic", "/v1/messages"))
        else "openai"
    )


def _ollama_address(value: str) -> str:
    """OLLAMA_HOST as Ollama itself reads it: scheme and port may be missing, and 0.0.0.0 is for listening."""
    parts = urlsplit(value if "://" in value else f"http://{value}")
    host = parts.hostname or "127.0.0.1"
    host = "127.0.0.1" if host == "0.0.0.0" else f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}:{parts.port or _OLLAMA_PORT}/v1"
