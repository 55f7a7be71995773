"""Resolves the main model: the settings and the environment in, one endpoint out, with the reasons.

    configured ─► keys in the environment ─► Ollama on this machine ─► the embedded model

A model that the user named is never replaced by another: a model without a key is an error that names the variable.
Each step states in one sentence why it was chosen or not.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from plimsoll.errors import MissingKey, UnknownModel
from plimsoll.models.providers import ProviderFacts, providers
from plimsoll.providers.endpoint import Endpoint, in_mode, is_private
from plimsoll.providers.keys import address_of, custom_endpoint, endpoint_of, find_key
from plimsoll.providers.listing import served_models
from plimsoll.providers.local.model import embedded_model, is_fetched, is_model_file, model_path
from plimsoll.settings.model import ModelSettings

Probe = Callable[[str], Awaitable[tuple[str, ...] | None]]


@dataclass(frozen=True, slots=True)
class ResolutionStep:
    """One possible source, and why it was chosen or not."""

    taken: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """The chosen endpoint, and how it was found."""

    endpoint: Endpoint
    explanation: tuple[ResolutionStep, ...]

    def sentences(self) -> tuple[str, ...]:
        """The explanation as sentences, in the order of the search."""
        return tuple(step.sentence for step in self.explanation)


class _MainModelSearch:
    """One resolution in progress."""

    def __init__(self, settings: ModelSettings, environ: Mapping[str, str], home: Path, probe: Probe) -> None:
        self.settings, self.environ, self.home, self.probe = settings, environ, home, probe
        self.steps: list[ResolutionStep] = []

    def passed(self, sentence: str) -> None:
        self.steps.append(ResolutionStep(False, sentence))

    def found(self, endpoint: Endpoint, sentence: str) -> Resolution:
        return Resolution(endpoint, (*self.steps, ResolutionStep(True, sentence)))


async def resolve(
    settings: ModelSettings, environ: Mapping[str, str], *, home: Path, probe: Probe = served_models
) -> Resolution:
    """The endpoint for the main model; `probe` lists the models of a server, or returns None if there is none."""
    found = await _found(_MainModelSearch(settings, environ, home, probe))
    return replace(found, endpoint=in_mode(found.endpoint, settings.api_mode))


async def _found(search: _MainModelSearch) -> Resolution:
    settings = search.settings
    if settings.base_url is not None:
        return await _at_address(search, settings.base_url)
    if settings.provider != "auto":
        return await _named(
            search, providers()[settings.provider], settings.name, f"model.provider is {settings.provider}"
        )
    if settings.name is not None:
        return await _by_name(search, settings.name)
    search.passed("Neither model.provider nor model.base_url nor model.name is set.")
    return await _unconfigured(search)


async def _at_address(search: _MainModelSearch, address: str) -> Resolution:
    """Resolve a configured address."""
    endpoint, key = custom_endpoint(search.settings, search.environ)
    reason = f"model.base_url is {address}, so requests go there"
    reason += f" with the key in {key.variable}" if key else " without a key"
    if not endpoint.model and is_private(address):
        names = await search.probe(address)
        if names:
            endpoint = replace(endpoint, model=names[0])
            reason += f"; no model is set, so its first model answers, {names[0]}"
    return search.found(endpoint, f"{reason}.")


async def _unconfigured(search: _MainModelSearch) -> Resolution:
    """Resolve without configuration: keys, then Ollama, then the embedded model."""
    for facts in providers().values():
        if not facts.keys:
            continue
        key = find_key(facts, search.environ)
        if key is not None:
            reason = f"{key.variable} is set, so {facts.title} answers with its default, {facts.model}."
            return search.found(_hosted(search, facts, facts.model or ""), reason)
        search.passed(f"{facts.key_names} is not set, so {facts.title} is not available.")
    ollama = providers()["ollama"]
    address = address_of(ollama, search.environ)
    names = await search.probe(address)
    if names:
        reason = f"Ollama runs at {address}, so its first model answers, {names[0]}."
        return search.found(Endpoint("ollama", address, "openai", model=names[0]), reason)
    search.passed(
        f"No Ollama answers at {address}." if names is None else f"Ollama at {address} has no model."
    )
    return _local(search, None, "No other model is available")


async def _by_name(search: _MainModelSearch, name: str) -> Resolution:
    """Resolve a model name without a provider."""
    prefix, slash, _ = name.partition("/")
    if is_model_file(name) or (slash and prefix == "local"):
        return _local(search, name.removeprefix("local/"), f"model.name is {name}")
    owner = providers().get(prefix) if slash else _family(name)
    if owner is None:
        return (_routed(search, name) if slash else None) or await _unclaimed(search, name)
    if not owner.keys or find_key(owner, search.environ):
        return await _named(search, owner, name, f"model.name is {name}")
    search.passed(f"{name} belongs to {owner.title}, but {owner.key_names} is not set.")
    routed = _routed(search, f"{owner.vendor}/{name.removeprefix(owner.name + '/')}")
    if routed is not None:
        return routed
    too = "" if owner.router else f" (or {_router().key_names}, as {_router().title} serves it too)"
    raise MissingKey(f"{name} is served by {owner.title}, which needs a key: set {owner.key_names}{too}.")


def _router() -> ProviderFacts:
    return next(facts for facts in providers().values() if facts.router)


def _routed(search: _MainModelSearch, name: str) -> Resolution | None:
    """The model as `vendor/model` at the router, if there is a key for it."""
    router = _router()
    if find_key(router, search.environ) is None:
        return None
    reason = f"{router.keys[0].variable} is set, and {router.title} serves {name}."
    return search.found(_hosted(search, router, name), reason)


async def _unclaimed(search: _MainModelSearch, name: str) -> Resolution:
    """Resolve a name that no known provider owns: Ollama, if it has it."""
    address = address_of(providers()["ollama"], search.environ)
    names = await search.probe(address) or ()
    if name in names or f"{name}:latest" in names:
        return search.found(
            Endpoint("ollama", address, "openai", model=name), f"Ollama at {address} has {name}."
        )
    if name.lower() == embedded_model().name:
        return _local(search, None, f"model.name is {name}")
    state = "has other models" if names else "does not answer or has no model"
    raise UnknownModel(
        f"No provider is known for {name}, and Ollama at {address} {state}. "
        "Check the name (`plimsoll models list`), or set model.provider or model.base_url."
    )


async def _named(search: _MainModelSearch, facts: ProviderFacts, name: str | None, reason: str) -> Resolution:
    """Resolve a provider that is named directly or by the model's name."""
    if facts.name == "local":
        return _local(search, name and name.removeprefix("local/"), reason)
    if facts.name == "ollama":
        return await _ollama(search, name, reason)
    if find_key(facts, search.environ) is None:
        raise MissingKey(
            f"{facts.title} needs a key, and {reason}: set {facts.key_names} in the environment."
        )
    wanted = name or facts.model or ""
    default = "" if name else f"; no model is set, so its default answers, {wanted}"
    return search.found(_hosted(search, facts, wanted), f"{reason}, so {facts.title} answers{default}.")


async def _ollama(search: _MainModelSearch, name: str | None, reason: str) -> Resolution:
    address = address_of(providers()["ollama"], search.environ)
    if name is not None:
        model = name.removeprefix("ollama/")
        return search.found(
            Endpoint("ollama", address, "openai", model=model), f"{reason}, so Ollama answers."
        )
    names = await search.probe(address)
    if not names:
        state = "does not answer" if names is None else "has no model"
        raise UnknownModel(
            f"Ollama at {address} {state}, and {reason}. Start it with `ollama serve`, fetch a model with "
            "`ollama pull`, or set model.name."
        )
    sentence = f"{reason}; no model is set, so Ollama's first model answers, {names[0]}."
    return search.found(Endpoint("ollama", address, "openai", model=names[0]), sentence)


def _local(search: _MainModelSearch, name: str | None, reason: str) -> Resolution:
    if name is not None and is_model_file(name):
        path = Path(name).expanduser()
        return search.found(
            Endpoint("local", "", "openai", model=str(path)), f"{reason}, so {path} is served here."
        )
    if name is not None and name.lower() not in ("local", embedded_model().name):
        raise UnknownModel(
            f"{name} is not a model on this machine, and {reason}. Set a file that ends in .gguf, or the "
            f"embedded model, {embedded_model().name}; or set model.provider to the provider of {name}."
        )
    missing = "" if is_fetched(search.home) else " (not installed: run `plimsoll models fetch`)"
    endpoint = Endpoint("local", "", "openai", model=str(model_path(search.home)))
    return search.found(endpoint, f"{reason}, so the embedded model answers{missing}.")


def _hosted(search: _MainModelSearch, facts: ProviderFacts, name: str) -> Endpoint:
    address, key = address_of(facts, search.environ), find_key(facts, search.environ)
    return endpoint_of(facts, address, name, key)


def _family(name: str) -> ProviderFacts | None:
    """The provider whose model names match."""
    words = name.lower().replace("-", " ").replace(":", " ").split()
    return next(
        (
            facts
            for facts in providers().values()
            if words and words[0] in facts.families and facts.elsewhere.isdisjoint(words)
        ),
        None,
    )
