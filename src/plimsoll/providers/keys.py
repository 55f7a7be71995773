"""Keys and addresses from the environment, in the usual variables.

    ANTHROPIC_API_KEY ─► x-api-key        OPENAI_API_KEY ─► Authorization: Bearer        OLLAMA_HOST ─► address

A key is sent only to its owner: the provider that owns the host, or the one that the user named for an address of no
known provider. Messages name its variable, never its value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from plimsoll.dialects import dialect_at
from plimsoll.errors import MissingKey, SettingError
from plimsoll.models.providers import KeyVariable, ProviderFacts, provider_at, providers
from plimsoll.providers.endpoint import Endpoint, is_loopback, is_private, model_at
from plimsoll.settings.model import Endpoint as Address
from plimsoll.settings.model import ModelSettings

CUSTOM = "custom"  # the provider of an address that belongs to none
GENERIC_VARIABLE = "PLIMSOLL_API_KEY"  # for an address of no known provider
_NEARBY = "OPENAI_API_KEY"  # many local servers ask for it, and it does not leave the machine
_OLLAMA_PORT = 11_434  # Ollama's default


@dataclass(frozen=True, slots=True)
class FoundKey:
    """A key and its variable."""

    variable: str
    value: str = field(repr=False)
    sent: str = "bearer"


def find_key(facts: ProviderFacts, environ: Mapping[str, str]) -> FoundKey | None:
    """The first key that is set for a provider."""
    for key in facts.keys:
        value = environ.get(key.variable, "").strip()
        if value:
            return FoundKey(key.variable, value, key.sent)
    return None


def address_of(facts: ProviderFacts, environ: Mapping[str, str]) -> str:
    """A provider's address: from its variable, or its default."""
    for variable in facts.addresses:
        value = environ.get(variable, "").strip()
        if value:
            return _ollama_address(variable, value) if facts.name == "ollama" else _checked(variable, value)
    return facts.base_url


def custom_endpoint(settings: ModelSettings, environ: Mapping[str, str]) -> tuple[Endpoint, FoundKey | None]:
    """The endpoint at the user's address, and the key that is sent there."""
    address = settings.base_url or ""
    owner = provider_at(address)
    facts = providers().get(settings.provider) or owner or _unknown_provider(settings.provider, address)
    key = find_key(owner, environ) if owner else find_key(facts, environ) or _generic_key(address, environ)
    if key is None and not is_private(address):
        names = owner.key_names if owner else " or ".join(filter(None, (facts.key_names, GENERIC_VARIABLE)))
        raise MissingKey(f"{address} needs a key: set {names} in the environment.")
    endpoint = endpoint_of(facts, address, settings.name or "", key)
    return replace(endpoint, provider=CUSTOM) if facts.name == "auto" else endpoint, key


def endpoint_of(facts: ProviderFacts, address: str, name: str, key: FoundKey | None) -> Endpoint:
    """A provider's model at an address; its default model if the name is empty."""
    model, headers = model_at(facts.name, name)
    return Endpoint(
        provider=facts.name,
        base_url=address,
        dialect=facts.dialect,
        key=key.value if key else None,
        model=model or facts.model or "",
        headers=(*facts.headers, *headers),
        sent=key.sent if key else "bearer",
    )


def _unknown_provider(name: str, address: str) -> ProviderFacts:
    """A provider that is not in the catalogue; its key variable is derived from its name."""
    own = () if name == "auto" else (KeyVariable(f"{name.upper().replace('-', '_')}_API_KEY"),)
    return ProviderFacts(name, name, dialect_at(address).name, address, keys=own)


def _generic_key(address: str, environ: Mapping[str, str]) -> FoundKey | None:
    """The key for hosts of no known provider."""
    for variable in (GENERIC_VARIABLE, _NEARBY) if is_loopback(address) else (GENERIC_VARIABLE,):
        value = environ.get(variable, "").strip()
        if value:
            return FoundKey(variable, value)
    return None


def _checked(variable: str, value: str) -> str:
    """The address in a variable, validated like model.base_url."""
    try:
        return TypeAdapter[str](Address).validate_python(value)
    except ValidationError as error:
        # Without the value, which may be the secret.
        raise SettingError(f"{variable} is invalid: {error.errors()[0]['msg']}.") from None


def _ollama_address(variable: str, value: str) -> str:
    """OLLAMA_HOST as Ollama reads it: scheme, host and port may be missing, and 0.0.0.0 is for listening only."""
    whole = (value if "://" in value else f"http://{value}").replace("://:", "://127.0.0.1:")
    parts = urlsplit(_checked(variable, whole))
    host = parts.hostname or "127.0.0.1"
    host = "127.0.0.1" if host == "0.0.0.0" else f"[{host}]" if ":" in host else host
    try:
        return f"{parts.scheme}://{host}:{parts.port or _OLLAMA_PORT}/v1"
    except ValueError:
        raise SettingError(f"{variable} is invalid: its port must be between 1 and 65535.") from None
