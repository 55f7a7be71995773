"""What the receiver of a request on Google's wire accepts beyond the common ground.

`EXACT` says everything that the wire can say, so that nothing is lost on the way there and back; `rules_for(model)`
says what that model takes.
"""

import re
from dataclasses import dataclass

_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class GeminiRules:
    """Differences between the models that speak this wire."""

    thoughts: bool = True  # thought parts are sent back
    signed_calls: bool = False  # the first call of every step needs a signature
    response_parts: bool = True  # function responses may hold images
    levels: bool = True  # how much to think is a word, not only a budget
    thinks: bool = True  # thinking is accepted at all


EXACT = GeminiRules()


def rules_for(model: str) -> GeminiRules:
    """The rules of a model by its name; one that is not Gemini takes everything."""
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
