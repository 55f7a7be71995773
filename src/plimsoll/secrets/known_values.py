"""Masks known secrets, such as a request's key or the value of an environment variable, whole or in part.

    "Incorrect API key provided: sk-abc…"   ->   "Incorrect API key provided: [key]"

Providers echo keys: the whole key, only its beginning, only its end. All of these are masked, and so is anything
else that looks like a key.
"""

import re
from collections.abc import Iterable, Mapping

from plimsoll.secrets.names import is_secret_variable

MASK = "[key]"
_SHORTEST_PIECE = 8  # shorter pieces of a key are often ordinary words
# Keys that are already truncated or masked: `sk-ab…9f`, `Bearer abcd****`.
_LOOKS_LIKE_A_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|nvapi|hf|gh[pousr]|github_pat|plim)[-_][A-Za-z0-9*_\-.…]{8,}"
    r"|\bAIza[A-Za-z0-9*_\-.…]{8,}"
    r"|(?<=Bearer )[A-Za-z0-9*_\-.~+/=]{8,}"
)


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without these secrets and without anything that looks like one."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = _without(text, secret)
    return _LOOKS_LIKE_A_KEY.sub(MASK, text)


def without_values(text: str, environment: Mapping[str, str]) -> str:
    """The text without the values of variables whose names mark them as secret."""
    values = {
        value
        for name, value in environment.items()
        if len(value) >= _SHORTEST_PIECE and is_secret_variable(name)
    }
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, MASK)
    return text


def _without(text: str, secret: str) -> str:
    text = text.replace(secret, MASK)
    for length in range(len(secret) - 1, _SHORTEST_PIECE - 1, -1):
        text = text.replace(secret[:length], MASK).replace(secret[-length:], MASK)
    return text
