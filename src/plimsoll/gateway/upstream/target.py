"""Chooses the upstream of a client's request, and whose key is sent.

    configured (model.base_url, model.provider, model.name)   that one, for every client
    nothing configured, and a key for the client's provider   Anthropic for Anthropic's dialect, OpenAI for
      in the environment or in the client's request           OpenAI's
    nothing at all                                            Ollama on this machine; with `--demo` the embedded model

The gateway's own key for an upstream takes precedence over the client's. If it has none, the client's key goes to
that upstream and nowhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from plimsoll.assembly import is_embedded
from plimsoll.dialects import Dialect, dialect_at, dialects
from plimsoll.dialects.addresses import path_segment
from plimsoll.errors import MissingKey, UserError
from plimsoll.providers import (
    Endpoint,
    ProviderFacts,
    address_of,
    connect,
    find_key,
    in_mode,
    model_at,
    provider_at,
    providers,
    resolve,
)
from plimsoll.secrets import written_forms
from plimsoll.settings.model import ModelSettings


@dataclass(frozen=True)
class Target:
    """An upstream. Its endpoint's model is used if a client names none."""

    endpoint: Endpoint

    @cached_property
    def url(self) -> str:
        """The URL for its own model."""
        return self.endpoint.url

    @cached_property
    def dialect(self) -> Dialect:
        """The upstream's dialect."""
        return self.endpoint.wire

    def for_client(self, dialect: Dialect) -> "Target":
        """The same upstream in the client's dialect, if it speaks that too."""
        facts = providers().get(self.endpoint.provider)
        if facts is None or dialect.name not in facts.also or self.endpoint.dialect != facts.dialect:
            return self
        return Target(replace(self.endpoint, dialect=dialect.name))

    def url_for(self, model: str, is_stream: bool) -> str:
        """The URL for a model."""
        return self.dialect.url(self.endpoint.base_url, model, is_stream)

    def count_url(self, model: str) -> str:
        """The URL that counts the tokens of a request."""
        return self.dialect.count_url(self.endpoint.base_url, model)

    def endpoint_for(self, dialect: Dialect, betas: str) -> Endpoint:
        """The endpoint for a client of this dialect that requests these betas."""
        if dialect is not self.dialect or not betas:
            return self.endpoint
        return replace(self.endpoint, headers=(*self.endpoint.headers, (dialect.beta_header, betas)))

    @property
    def models_url(self) -> str:
        """The URL of the upstream's list of models."""
        return self.dialect.models_url(self.endpoint.base_url)

    def model_url(self, name: str) -> str:
        """The URL of one model; raises `UserError` for a name that would change the path."""
        return f"{self.models_url}/{path_segment(name)}"

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """The keys that must never reach a client, in each form that an upstream may write."""
        return written_forms(self.endpoint.key) if self.endpoint.key else ()


_NO_UPSTREAM = (
    "none. Clients that send their provider's key are served by that provider. To serve others, set OPENAI_API_KEY, "
    "ANTHROPIC_API_KEY or model.base_url, or try `plimsoll gateway --demo`, which answers with a small model on this "
    "machine."
)


class Targets:
    """The upstreams of one gateway, each resolved once. `demo`: the embedded model may answer."""

    def __init__(
        self, settings: ModelSettings, environ: Mapping[str, str], home: Path, demo: bool = False
    ) -> None:
        self._settings, self._environ, self._home, self._demo = settings, environ, home, demo
        self._found: dict[str, Target] = {}

    async def for_client(self, dialect: Dialect, has_own_key: bool) -> Target:
        """The upstream for clients of this dialect."""
        name = self._name(dialect, has_own_key)
        if name not in self._found:
            self._found[name] = Target(await self._endpoint(name))
        return self._found[name].for_client(dialect)

    async def known(self) -> None:
        """Raise if the configured upstream cannot be resolved; others are resolved when a client uses them."""
        usual = dialects()[0]
        if self._name(usual, False) != "unconfigured":
            await self.for_client(usual, False)

    async def descriptions(self) -> list[str]:
        """One line per dialect that names its upstream. Sends requests only to Ollama on this machine."""
        lines = {}
        for dialect in sorted(dialects(), key=lambda dialect: dialect.title):
            lines[dialect.title] = await self._described(self._name(dialect, False))
        if len(set(lines.values())) == 1:
            return [f"upstream: {next(iter(lines.values()))}"]
        return [f"upstream of {title} clients: {line}" for title, line in lines.items()]

    async def _described(self, name: str) -> str:
        if name not in ("configured", "unconfigured"):
            found = _without_key(providers()[name], self._settings, self._environ)
            return f"{found.base_url} ({found.provider}, with the key from the environment)"
        try:
            endpoint = (await resolve(self._settings, self._environ, home=self._home)).endpoint
        except MissingKey:
            facts = _facts(self._settings)
            place = self._settings.base_url or (address_of(facts, self._environ) if facts else "")
            return f"{place} (clients bring their own keys)"
        except UserError as error:
            return f"none. {error} Clients that send their provider's key are served."
        if not self._demo and is_embedded(endpoint, self._home):
            return _NO_UPSTREAM
        if endpoint.embedded:
            return f"{Path(endpoint.model).stem} on this machine{', a demonstration' if self._demo else ''}"
        return f"{endpoint.base_url} ({endpoint.provider})"

    def _name(self, dialect: Dialect, has_own_key: bool) -> str:
        settings = self._settings
        if settings.base_url is not None or settings.provider != "auto" or settings.name is not None:
            return "configured"
        own = providers().get(dialect.provider)
        return own.name if own and (has_own_key or find_key(own, self._environ)) else "unconfigured"

    async def _endpoint(self, name: str) -> Endpoint:
        if name not in ("configured", "unconfigured"):
            return _without_key(providers()[name], self._settings, self._environ)
        try:
            found = (await resolve(self._settings, self._environ, home=self._home)).endpoint
        except MissingKey:
            facts, settings = _facts(self._settings), self._settings
            found = _without_key(facts, settings, self._environ) if facts else _at_address(settings)
            return in_mode(found, settings.api_mode)
        require_demo(found, self._home, self._demo)
        if found.embedded:
            client = await connect(found, home=self._home, context_length=self._settings.context_length)
            await client.aclose()
            return client.endpoint
        return found


def require_demo(endpoint: Endpoint, home: Path, demo: bool) -> None:
    """Raise `UserError` if the embedded model would answer without being asked for."""
    if not demo and is_embedded(endpoint, home):
        raise UserError(
            "No upstream is configured: set OPENAI_API_KEY, ANTHROPIC_API_KEY or model.base_url for the gateway, or "
            "send your provider's key with the request. To try the gateway with the small embedded model, start "
            "it with `plimsoll gateway --demo`."
        )


def _facts(settings: ModelSettings) -> ProviderFacts | None:
    """The provider that the settings choose."""
    if settings.base_url is not None:
        return provider_at(settings.base_url) or providers().get(settings.provider)
    if settings.provider != "auto":
        return providers()[settings.provider]
    words = (settings.name or "").lower().replace("/", "-").split("-")
    named = (facts for facts in providers().values() if words[0] in (facts.name, *facts.families))
    return next(named, None)


def _without_key(facts: ProviderFacts, settings: ModelSettings, environ: Mapping[str, str]) -> Endpoint:
    """A provider's endpoint, with the key from the environment if there is one."""
    key = find_key(facts, environ)
    model, headers = model_at(facts.name, settings.name or facts.model or "")
    return Endpoint(
        provider=facts.name,
        base_url=settings.base_url or address_of(facts, environ),
        dialect=facts.dialect,
        key=key.value if key else None,
        model=model,
        headers=(*facts.headers, *headers),
        sent=key.sent if key else "bearer",
    )


def _at_address(settings: ModelSettings) -> Endpoint:
    """A configured address without a known provider, to which clients bring their own keys."""
    base_url = settings.base_url or ""
    name = settings.provider if settings.provider != "auto" else "custom"
    return Endpoint(name, base_url, dialect_at(base_url).name, model=settings.name or "")
