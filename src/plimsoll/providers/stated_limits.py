"""Whether a window that an upstream states in an error can be believed.

An upstream may quote the request in its error. A number is believed only if the request is large enough to have
exceeded it and does not contain it. A believed number applies for an hour.
"""

import re
import unicodedata

LEARNED_SECONDS = 3_600.0  # a provider that enlarges a window is noticed within an hour
# Share of a stated window that a request must have by our estimate. Estimates of an uncalibrated conversation are off
# by up to a third, and the room for the answer counts too.
PLAUSIBLE = 0.5
_SEPARATOR = re.compile(r"(?<=[0-9])[.,_'\u2019\u202f\xa0 ](?=[0-9])")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")  # full width, Arabic and others, which `int` reads too


def is_plausible(limit: int, tokens: int) -> bool:
    """Whether a request of `tokens` tokens, by our estimate, can have exceeded a window."""
    return tokens >= limit * PLAUSIBLE


def states_number(text: str, number: int) -> bool:
    """Whether a text contains this number, also with separators, in other digits, or within a longer one."""
    digits = _OTHER_DIGIT.sub(lambda found: str(unicodedata.decimal(found[0])), text)
    return str(number) in _SEPARATOR.sub("", digits)
