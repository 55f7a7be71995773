"""Masks known secrets, such as a request's key or the value of an environment variable, whole or in part.

    "Incorrect API key provided: sk-abc…"   ->   "Incorrect API key provided: [key]"

Providers echo keys: the whole key, only its beginning, only its end. All of these are masked, and so is anything
else that looks like a key.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from urllib.parse import quote

from plimsoll.secrets.names import is_secret_variable

MASK = "[key]"
_SHORTEST_PIECE = 8  # shorter pieces of a key are often ordinary words
_SHORTEST_KEY = 16  # shorter keys, such as `ollama`, are words that a model may write
# Characters that JSON writers escape as \u00XX: System.Text.Json in upper case, Gson in lower case.
_ESCAPED_UPPER, _ESCAPED_LOWER = "+&<>'`", "=&<>'"
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


@lru_cache(maxsize=64)
def written_forms(secret: str) -> tuple[str, ...]:
    """How a secret may be written in a JSON document or a URL: plain first, then with characters escaped."""
    upper = {ord(char): f"\\u{ord(char):04X}" for char in _ESCAPED_UPPER}
    lower = {ord(char): f"\\u{ord(char):04x}" for char in _ESCAPED_LOWER}
    forms = (secret, secret.replace("/", "\\/"), secret.translate(upper), secret.translate(lower))
    return tuple(dict.fromkeys((*forms, quote(secret, safe=""))))


def without_whole_keys(document: str, keys: Iterable[str]) -> str:
    """A JSON document or an event without these keys, however they are written. All other text stays."""
    for key in keys:
        if len(key) >= _SHORTEST_KEY:
            for form in written_forms(key):
                document = document.replace(form, MASK)
    return document


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
