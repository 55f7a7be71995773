"""The providers of `providers.toml` as value objects: address, dialect, key variables, default models.

A provider is one table in that file; no other file lists providers. The settings list them in file order.
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
        """The names of the variables that may hold a key, for use in a sentence."""
        return " or ".join(key.variable for key in self.keys)


@cache
def providers() -> Mapping[str, ProviderFacts]:
    """Every provider by name, in the order in which Plimsoll searches for keys."""
    text = files("plimsoll.models").joinpath("providers.toml").read_text(encoding="utf-8")
    return MappingProxyType({name: _facts(name, row) for name, row in tomllib.loads(text).items()})


def summary_model_of(provider: str) -> str | None:
    """The default summary model of a provider; None if it has none or is not listed."""
    facts = providers().get(provider)
    return facts.summary_model if facts else None


def window_at(provider: str) -> int | None:
    """The window that a provider imposes on all of its models."""
    facts = providers().get(provider)
    return facts.window if facts else None


def provider_at(base_url: str) -> ProviderFacts | None:
    """The provider of an address; None if the address is unknown."""
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
    fields = {
        **row,
        **lists,
        "elsewhere": frozenset(row.get("elsewhere", ())),
        "headers": tuple(row.get("headers", {}).items()),
        "keys": tuple(KeyVariable(**key) for key in row.get("keys", ())),
    }
    return ProviderFacts(name, **{"vendor": name, **fields})
