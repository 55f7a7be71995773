"""Settings for some models only: `models.<pattern>` overrides the general settings for every model that it matches.

    models:
      "gpt-*": {threshold: 0.7}
      gpt-5: {window: 200000}          gpt-5 has both

Each value comes from the most specific pattern that states it: a name without wildcards before any pattern, then the
pattern with the most non-wildcard characters, then the one that is written first. A flag on the command line
overrides them all.
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from plimsoll.settings.context import ModelOverrides
from plimsoll.settings.section import Section

# The general setting that each field overrides.
GENERAL = {
    "threshold": ("compression", "threshold"),
    "target_ratio": ("compression", "target_ratio"),
    "target_tokens": ("compression", "target_tokens"),
    "window": ("model", "context_length"),
    "summary_model": ("auxiliary", "compression", "model"),
}
AnySection = TypeVar("AnySection", bound=Section)
_WILDCARDS = frozenset("*?[]")


def overrides_for(models: Mapping[str, ModelOverrides], name: str) -> dict[str, Any]:
    """The values that apply to a model, by field."""
    chosen: dict[str, Any] = {}
    for pattern in sorted(matching(models, name), key=_rank):
        stated = models[pattern].model_dump(exclude_none=True)
        chosen = {**stated, **chosen}
    return chosen


def matching(models: Mapping[str, ModelOverrides], name: str) -> Iterator[str]:
    """The patterns that a model's name matches, with or without a router's prefix such as `openai/`."""
    spellings = {name.casefold(), name.casefold().rpartition("/")[2]}
    for pattern in models:
        if any(fnmatchcase(spelling, pattern.casefold()) for spelling in spellings):
            yield pattern


def _rank(pattern: str) -> tuple[bool, int]:
    """The most specific pattern first."""
    return any(character in _WILDCARDS for character in pattern), -len(_literal(pattern))


def _literal(pattern: str) -> str:
    return "".join(character for character in pattern if character not in _WILDCARDS)


def replaced(section: AnySection, path: tuple[str, ...], value: Any) -> AnySection:
    """The section with another value at a path below it."""
    name, *rest = path
    below = replaced(getattr(section, name), tuple(rest), value) if rest else value
    return section.model_copy(update={name: below})
