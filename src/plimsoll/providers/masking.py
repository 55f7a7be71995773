"""Keys are taken out of every text before a person, a log or an error sees it.

    "Incorrect API key provided: sk-abc…"   ->   "Incorrect API key provided: [key]"

Providers echo keys: whole, only the beginning, only the end. All of these go,
and so does whatever looks like a key of anybody.
"""

import re
from collections.abc import Iterable

MASK = "[key]"
_SHORTEST_PIECE = 8  # shorter pieces of a key are words of ordinary text too often
_LOOKS_LIKE_A_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|nvapi|hf|gh[pousr]|github_pat)[-_][A-Za-z0-9*_\-.…]{8,}"
    r"|\bAIza[A-Za-z0-9*_\-.…]{8,}"
    r"|(?<=Bearer )[A-Za-z0-9*_\-.~+/=]{8,}"
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]+")


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without these secrets and without anything that looks like one."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = _without(text, secret)
    return _LOOKS_LIKE_A_KEY.sub(MASK, text)


def one_line(text: str, longest: int = 300) -> str:
    """The text on one line, cut where it is long, with nothing that a terminal would act on."""
    flat = " ".join(_CONTROL.sub(" ", text).split())
    return flat if len(flat) <= longest else flat[: longest - 1].rstrip() + "…"


def _without(text: str, secret: str) -> str:
    text = text.replace(secret, MASK)
    for length in range(len(secret) - 1, _SHORTEST_PIECE - 1, -1):
        text = text.replace(secret[:length], MASK).replace(secret[-length:], MASK)
    return text
