"""Suggests the names that are closest to a misspelt one: models, slash commands."""

import difflib
from collections.abc import Collection

from plimsoll.models import shipped_cards

_ALIKE = 0.5  # 1 is the same name
_CLOSE = 0.2  # names that are that much less alike than the closest one are not meant
_SHOWN = 3


def nearest_model(name: str) -> str | None:
    """The name of a similar card, or None."""
    return next(iter(similar_names(name.lower(), [card.name for card in shipped_cards()])), None)


def similar_names(name: str, known: Collection[str]) -> list[str]:
    """The names that may have been meant, the closest first."""
    found = difflib.get_close_matches(name, known, _SHOWN, _ALIKE)
    alike = [difflib.SequenceMatcher(None, other, name).ratio() for other in found]
    return [other for other, ratio in zip(found, alike, strict=True) if ratio >= alike[0] - _CLOSE]
