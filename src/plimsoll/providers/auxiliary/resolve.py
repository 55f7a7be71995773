"""Resolves the summary models from the settings and the environment, in the order in which they are tried.

    configured ─┐
                ├─► main ─► none: the summary is extracted without a model
    auto ───────┘
     └ the cheap sibling of the main model, if it has one

Models on this machine are used only if they are configured: a small model must not write summaries unasked. Each step
states its reason.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from plimsoll.errors import UserError
from plimsoll.models import ModelCard
from plimsoll.models.providers import providers, summary_model_of, window_at
from plimsoll.providers.endpoint import Endpoint, is_private, model_at
from plimsoll.providers.keys import find_key
from plimsoll.providers.listing import served_models
from plimsoll.providers.local.model import DEFAULT_CONTEXT, model_path
from plimsoll.providers.resolve import Probe, ResolutionStep, resolve
from plimsoll.settings.context import AuxiliaryCompressionSettings
from plimsoll.settings.model import ModelSettings

Role = Literal["configured", "auto", "main"]
_SECTION = "auxiliary.compression"
_KEYS = re.compile(r"\bmodel\.(name|provider|base_url)\b")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model that may write summaries."""

    endpoint: Endpoint
    card: ModelCard
    window: int  # tokens that prompt and answer may take together
    role: Role

    @property
    def title(self) -> str:
        """The model and its provider, for a sentence."""
        if self.endpoint.embedded:
            return f"{Path(self.endpoint.model).stem} on this machine"
        facts = providers().get(self.endpoint.provider)
        where = facts.title if facts and self.endpoint.provider != "local" else self.endpoint.base_url
        return f"{self.endpoint.model or 'the model'} at {where}"


@dataclass(frozen=True, slots=True)
class AuxiliaryResolution:
    """The summary models in the order in which they are tried, and how they were found."""

    candidates: tuple[Candidate, ...]
    explanation: tuple[ResolutionStep, ...]
    main: Candidate | None = None  # the conversation's own model, if the summary may read its cache
    asked: str = "auto"  # what the settings ask for

    @property
    def headline(self) -> str:
        """The first summary model and the reason, in one line."""
        because = next((step.sentence for step in self.explanation if step.taken), "")
        title = self.candidates[0].title if self.candidates else "no model"
        return f"{self.asked} → {title}, because {because}"

    def sentences(self) -> tuple[str, ...]:
        """The explanation as sentences, in the order of the search."""
        return tuple(step.sentence for step in self.explanation)


async def resolve_auxiliary(
    settings: AuxiliaryCompressionSettings,
    main: ModelSettings,
    environ: Mapping[str, str],
    *,
    home: Path,
    probe: Probe = served_models,
) -> AuxiliaryResolution:
    """The summary models; none if nothing is configured and no key is set."""
    search = _SummaryModelSearch(settings, main, environ, home, probe)
    own = await search.main_candidate()
    first = await search.first(own)
    chain = [candidate for candidate in (first, own) if candidate is not None]
    if first and own and first.endpoint == own.endpoint:
        chain = [first]
    elif first and own:
        search.passed(f"If {first.title} fails, {own.title} is used.")
    if not chain:
        search.taken(search.no_candidate())
    elif first is None:
        search.taken("it is the main model and the configured model is not available")
    reads_cache = own if not search.is_named or (first and own and first.endpoint == own.endpoint) else None
    return AuxiliaryResolution(tuple(chain), tuple(search.steps), reads_cache, search.asked)


class _SummaryModelSearch:
    """One resolution in progress."""

    def __init__(
        self,
        settings: AuxiliaryCompressionSettings,
        main: ModelSettings,
        environ: Mapping[str, str],
        home: Path,
        probe: Probe,
    ) -> None:
        self.settings, self.main, self.environ = settings, main, environ
        self.home, self.probe = home, probe
        self.steps: list[ResolutionStep] = []
        self.main_is_named = bool(main.base_url or main.name or main.provider != "auto")
        self.has_key = any(find_key(facts, environ) for facts in providers().values())
        own_place = bool(settings.base_url) or settings.provider not in ("auto", "main")
        self.is_named = own_place or settings.model is not None
        self._own_place = own_place

    @property
    def asked(self) -> str:
        """What the settings ask for."""
        settings = self.settings
        return settings.model or settings.base_url or settings.provider

    def passed(self, sentence: str) -> None:
        self.steps.append(ResolutionStep(False, sentence))

    def taken(self, reason: str) -> None:
        self.steps.append(ResolutionStep(True, reason))

    def no_candidate(self) -> str:
        if self.is_named or self.main_is_named:
            return "the configured model is not available; code writes the summary"
        names = [key.variable for facts in providers().values() for key in facts.keys[:1]]
        return (
            f"none is configured and no key is set ({', '.join(names)}); code writes the summary. "
            f"Set a key, or {_SECTION}.provider"
        )

    async def main_candidate(self) -> Candidate | None:
        """The main model, if it is named or a key determines it."""
        wanted = self.main_is_named or self.has_key or self.settings.provider == "main"
        if not wanted:
            return None
        try:
            found = await resolve(self.main, self.environ, home=self.home, probe=self.probe)
        except UserError as error:
            self.passed(f"The main model is not available: {error}")
            if not self.has_key:
                return None
            found = await resolve(ModelSettings(), self.environ, home=self.home, probe=self.probe)
        if found.endpoint.embedded and not self.main_is_named:
            self.passed("The embedded model writes summaries only if it is configured.")
            return None
        if self._is_unnamed(found.endpoint):
            self.passed(
                f"model.base_url is {found.endpoint.base_url} and no model is set, so no summary is requested there. "
                f"Set model.name, or {_SECTION}.provider to main and {_SECTION}.model."
            )
            return None
        return self._candidate(found.endpoint, "main")

    def _is_unnamed(self, endpoint: Endpoint) -> bool:
        """Whether every request would lack a model. A server of your own often needs none."""
        named = endpoint.model or (self.settings.model and self.settings.provider == "main")
        return not named and not endpoint.embedded and not is_private(endpoint.base_url)

    async def first(self, own: Candidate | None) -> Candidate | None:
        """The model that is tried first."""
        if self._own_place or (self.settings.model and self.settings.provider == "auto"):
            return await self._configured(own)
        if own is None:
            return None
        if self.settings.model:
            self.taken(f"{_SECTION}.provider is main and {_SECTION}.model is {self.settings.model}")
            return self._candidate(_with_model(own.endpoint, self.settings.model), "configured")
        if self.settings.provider == "main":
            self.taken(f"{_SECTION}.provider is main")
            return own
        return self._sibling(own)

    async def _configured(self, own: Candidate | None) -> Candidate | None:
        settings = self.settings
        provider = "auto" if settings.provider == "main" else settings.provider
        name = settings.model
        if name is None and settings.base_url is None:
            # A provider without a model means the model that `auto` would choose there.
            if own and own.endpoint.provider == provider and self.main.base_url is None:
                return replace(self._sibling(own), role="configured")
            name = summary_model_of(provider)
        wanted = ModelSettings(
            name=name, provider=provider, base_url=settings.base_url, api_mode=settings.api_mode
        )
        try:
            found = await resolve(wanted, self.environ, home=self.home, probe=self.probe)
        except UserError as error:
            self.passed(_KEYS.sub(_in_section, str(error)))
            return None
        for step in found.explanation[:-1]:
            self.passed(_KEYS.sub(_in_section, step.sentence))
        self.taken(_KEYS.sub(_in_section, found.explanation[-1].sentence).rstrip("."))
        return self._candidate(found.endpoint, "configured")

    def _sibling(self, own: Candidate) -> Candidate:
        provider = own.endpoint.provider
        name = summary_model_of(provider) if self.main.base_url is None else None
        facts = providers().get(provider)
        key = find_key(facts, self.environ) if facts else None
        reason = f"{key.variable} is set" if key else f"the main model is {own.title}"
        if name is None:
            self.taken(f"{reason} and no cheaper sibling of it is known there")
            return own
        sibling = self._candidate(_with_model(own.endpoint, name), "auto")
        if own.card.known and own.card.prices.input <= sibling.card.prices.input:
            self.taken(f"{reason} and the main model is as cheap as {name}")
            return own
        self.taken(reason)
        return sibling

    def _candidate(self, endpoint: Endpoint, role: Role) -> Candidate:
        card = self.main.model_copy(update={"name": endpoint.model}).card()
        stated = self.main.context_length if role == "main" else None
        return Candidate(endpoint, card, self._window(endpoint, card, stated), role)

    def _window(self, endpoint: Endpoint, card: ModelCard, stated: int | None) -> int:
        if endpoint.embedded:
            is_shipped = Path(endpoint.model) == model_path(self.home)
            return (
                min(stated or DEFAULT_CONTEXT, DEFAULT_CONTEXT) if is_shipped else stated or DEFAULT_CONTEXT
            )
        if stated and not card.known:
            return stated
        window = window_at(endpoint.provider)
        limits = (card.prompt_limit, stated, None if stated else window)
        return min(limit for limit in limits if limit is not None)


def _with_model(endpoint: Endpoint, name: str) -> Endpoint:
    """Another model at the same endpoint."""
    facts = providers().get(endpoint.provider)
    model, headers = model_at(endpoint.provider, name)
    return replace(endpoint, model=model, headers=(*(facts.headers if facts else ()), *headers))


def _in_section(found: re.Match[str]) -> str:
    return f"{_SECTION}.{'model' if found[1] == 'name' else found[1]}"
