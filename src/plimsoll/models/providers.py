"""Who serves models, and how each is reached: the facts of `providers.toml` as value objects.

A provider is one table in that file; nothing else lists them. The settings name them in the order of the file.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class KeyVariable:
    """An environment variable that may hold a key, and the header that carries it."""

    variable: str
    sent: str = "bearer"


@dataclass(frozen=True, slots=True)
class ProviderFacts:
    """What Plimsoll knows about one provider."""

    name: str
    title: str
    dialect: str
    base_url: str
    also: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    model: str | None = None
    summary_model: str | None = None
    window: int | None = None
    families: tuple[str, ...] = ()
    elsewhere: frozenset[str] = frozenset()
    headers: tuple[tuple[str, str], ...] = ()
    keys: tuple[KeyVariable, ...] = ()
    router: bool = False
    vendor: str = ""

    @property
    def key_names(self) -> str:
        """The variables that may hold a key, for a sentence."""
        return " or ".join(key.variable for key in self.keys)


@cache
def providers() -> Mapping[str, ProviderFacts]:
    """Every provider by its name, in the order in which keys are looked for."""
    text = files("plimsoll.models").joinpath("providers.toml").read_text(encoding="utf-8")
    return MappingProxyType({name: _facts(name, row) for name, row in tomllib.loads(text).items()})


def summary_model_of(provider: str) -> str | None:
    """The cheap model of a provider; None for a provider that is not listed too."""
    facts = providers().get(provider)
    return facts.summary_model if facts else None


def window_at(provider: str) -> int | None:
    """The window that a provider gives its models whatever they could take."""
    facts = providers().get(provider)
    return facts.window if facts else None


def provider_at(base_url: str) -> ProviderFacts | None:
    """The provider that an address belongs to; None for an address of no known provider."""
    host = (urlsplit(base_url).hostname or "").lower()
    return next(
        (
            facts
            for facts in providers().values()
            if any(host == domain or host.endswith("." + domain) for domain in facts.hosts)
        ),
        None,
    )


def _facts(name: str, row: dict[str, Any]) -> ProviderFacts:
    lists = {field: tuple(value) for field, value in row.items() if isinstance(value, list)}
    given = {
        **row,
        **lists,
        "elsewhere": frozenset(row.get("elsewhere", ())),
        "headers": tuple(row.get("headers", {}).items()),
        "keys": tuple(KeyVariable(**key) for key in row.get("keys", ())),
    }
    return ProviderFacts(name, **{"vendor": name, **given})
