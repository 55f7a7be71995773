"""What a model accepts in Google's wire format.

`EXACT` allows everything in the format, so that a round trip loses nothing; `rules_for(model)` returns the
rules of that model.
"""

import re
from dataclasses import dataclass

_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class GeminiRules:
    """Differences between models with this wire format."""

    thoughts: bool = True  # thought parts are sent back
    signed_calls: bool = False  # the first call of every step needs a signature
    response_parts: bool = True  # function responses may contain images
    levels: bool = True  # the effort may be a word, not only a budget
    thinks: bool = True  # thinking is accepted at all


EXACT = GeminiRules()


def rules_for(model: str) -> GeminiRules:
    """The rules of a model by name; models other than Gemini accept everything."""
    found = _VERSION.search(model.lower())
    if found is None:
        return EXACT
    version = (int(found[1]), int(found[2] or 0))
    is_third = version >= (3, 0)
    return GeminiRules(
        thoughts=False,
        signed_calls=is_third,
        response_parts=is_third,
        levels=is_third,
        thinks=version >= (2, 5),
    )
