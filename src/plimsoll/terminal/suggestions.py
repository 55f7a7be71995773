"""Suggests the known model whose name is closest to a misspelt one."""

import difflib

from plimsoll.models import shipped_cards

_ALIKE = 0.5  # 1 is the same name


def nearest_model(name: str) -> str | None:
    """The name of a similar card, or None."""
    known = [card.name for card in shipped_cards()]
    return next(iter(difflib.get_close_matches(name.lower(), known, n=1, cutoff=_ALIKE)), None)
