"""The model cards that ship with Plimsoll, with the user's overrides.

    cards.toml ──► cards by spelling ──► card_for(name) ──► overrides from the configuration

The file is parsed on the first lookup and cached; importing this module reads nothing.
A name without a card gets `ModelCard(name=<as typed>, known=False)`.
"""

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from plimsoll.errors import SettingError
from plimsoll.models.betas import with_betas
from plimsoll.models.cards import CacheRules, ModelCard, Prices
from plimsoll.models.media_limits import MEDIA_COUNTS, MediaLimits
from plimsoll.models.names import LONG_CONTEXT, Pieces, best_match, pieces_of, spellings

LONG_CONTEXT_WINDOW = 1_000_000  # tokens, for names with a long-context suffix
_COUNTS = frozenset({"window", "output_cap", "input_cap", "long_prompt"})
_PRICE_LISTS = frozenset({"prices", "long_prices"})
_OVERRIDABLE = _COUNTS | _PRICE_LISTS | {"cache_minimum", "preserved_thinking", "efforts", "media"}
_PRICE_NAMES = tuple(field.name for field in fields(Prices))


def card_for(
    name: str, overrides: Mapping[str, Mapping[str, Any]] | None = None, betas: Collection[str] = ()
) -> ModelCard:
    """The card of a model under any of its names; `overrides` maps a typed name or a card name to changed fields.

    `betas` are the prefixes that `limiting_betas` found in a header.

    The fields are `window`, `output_cap`, `input_cap`, `prices` (for long prompts too), `long_prompt`, `long_prices`,
    `cache_minimum`, `preserved_thinking`, `efforts` and `media`; the others keep their shipped values.
    """
    card = with_betas(_shipped(name), betas)
    if not overrides:
        return card
    typed = name.strip().casefold()
    as_card = [key for key in overrides if card.known and pieces_of(key) == pieces_of(card.name)]
    as_typed = [key for key in overrides if key.strip().casefold() == typed]
    # The typed name is more specific, so its override wins.
    for key in (*(key for key in as_card if key not in as_typed), *as_typed):
        card = _changed(card, key, overrides[key])
    return card


def shipped_cards() -> tuple[ModelCard, ...]:
    """Every card in the data file, in file order."""
    return tuple(dict.fromkeys(_cards_by_spelling().values()))


@lru_cache(maxsize=512)
def _shipped(name: str) -> ModelCard:
    match = best_match(name, _cards_by_spelling())
    if match is None:
        return ModelCard(name=name, known=False, states_output_cap=False)
    card, after = match
    return replace(card, window=max(card.window, LONG_CONTEXT_WINDOW)) if LONG_CONTEXT in after else card


@cache
def _cards_by_spelling() -> dict[Pieces, ModelCard]:
    text = files("plimsoll.models").joinpath("cards.toml").read_text(encoding="utf-8")
    found: dict[Pieces, ModelCard] = {}
    for family, section in tomllib.loads(text).items():
        for name, facts in section.pop("cards").items():
            media = {**section.get("media", {}), **facts.get("media", {})}
            card = _card(name, family, {**section, **facts, "media": media})
            for spelling in (name, *facts.get("also", ())):
                for pieces in spellings(spelling):
                    found.setdefault(pieces, card)
    return found


def _card(name: str, family: str, facts: dict[str, Any]) -> ModelCard:
    return ModelCard(
        name=name,
        family=family,
        window=facts["window"],
        output_cap=facts["output_cap"],
        prices=_listed_prices(facts["prices"]),
        long_prompt=facts.get("long_prompt"),
        long_prices=_listed_prices(facts["long_prices"]) if "long_prices" in facts else None,
        cache=CacheRules(facts["style"], facts["minimum"], tuple(facts["lifetimes"])),
        preserved_thinking=facts.get("preserved_thinking", False),
        as_of=facts["as_of"],
        input_cap=facts.get("input_cap"),
        efforts=tuple(facts.get("efforts", ())),
        sampling=facts.get("sampling", True),
        media=MediaLimits(**facts["media"]),
    )


def _listed_prices(listed: list[float]) -> Prices:
    """Prices from `[input, output, cache read, 5m write, 1h write]`; missing ones equal the input price."""
    full = [*map(float, listed), *[float(listed[0])] * (len(_PRICE_NAMES) - len(listed))]
    return Prices(**dict(zip(_PRICE_NAMES, full, strict=True)))


def _changed(card: ModelCard, key: str, changes: Mapping[str, Any]) -> ModelCard:
    if not isinstance(changes, Mapping):
        raise SettingError(f"The override of model {key!r} must be a mapping such as {{window: 128000}}.")
    unknown = sorted(str(fact) for fact in changes if fact not in _OVERRIDABLE)
    if unknown:
        known = ", ".join(sorted(_OVERRIDABLE))
        raise SettingError(
            f"{unknown[0]!r} in the override of model {key!r} is not a field of a model card; use {known}."
        )
    checked: dict[str, Any] = {"known": card.known or "window" in changes}
    if "window" in changes:
        checked["input_cap"] = None  # the user's window is the limit
    if "output_cap" in changes:
        checked["states_output_cap"] = True
    if "prices" in changes and card.long_prices is not None:
        checked["long_prices"] = _prices(
            f"'prices' in the override of model {key!r}", card.long_prices, changes["prices"]
        )
    for fact, value in changes.items():
        checked |= _checked(card, fact, value, f"{fact!r} in the override of model {key!r}")
    return replace(card, **checked)


def _checked(card: ModelCard, fact: str, value: Any, where: str) -> dict[str, Any]:
    """The card fields that one override changes."""
    if fact in _COUNTS:
        return {fact: _count(where, value, at_least=1)}
    if fact in _PRICE_LISTS:
        return {fact: _prices(where, getattr(card, fact) or card.prices, value)}
    if fact == "cache_minimum":
        return {"cache": replace(card.cache, minimum=_count(where, value, at_least=0))}
    if fact == "media":
        return {fact: _media(where, card.media, value)}
    if fact == "efforts":
        return {fact: _words(where, value)}
    if not isinstance(value, bool):
        raise SettingError(f"{where} must be true or false, not {value!r}.")
    return {fact: value}


def _count(where: str, value: Any, at_least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise SettingError(f"{where} must be a whole number of tokens, at least {at_least}, not {value!r}.")
    return value


def _media(where: str, old: MediaLimits, value: Any) -> MediaLimits:
    if not isinstance(value, Mapping) or not set(value) <= set(MEDIA_COUNTS):
        raise SettingError(f"{where} must map some of {', '.join(MEDIA_COUNTS)} to a number.")
    for name, limit in value.items():
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise SettingError(f"{name!r} of {where} must be a whole number, at least 1, not {limit!r}.")
    return old.changed(value)


def _words(where: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise SettingError(f"{where} must be a list of words such as [low, medium, high], not {value!r}.")
    return tuple(value)


def _prices(where: str, old: Prices, value: Any) -> Prices:
    if not isinstance(value, Mapping) or not set(value) <= set(_PRICE_NAMES):
        raise SettingError(f"{where} must map some of {', '.join(_PRICE_NAMES)} to USD per million tokens.")
    for name, price in value.items():
        if isinstance(price, bool) or not isinstance(price, int | float) or not 0 <= price < float("inf"):
            raise SettingError(f"{name!r} of {where} must be a price of 0 or more, not {price!r}.")
    return replace(old, **{name: float(price) for name, price in value.items()})
