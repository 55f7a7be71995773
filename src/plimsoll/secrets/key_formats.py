"""Finds keys by their format.

Every word of 20 characters or more is checked once: its first two characters select the patterns of `shapes.toml`
that can match. A word that matches no pattern is a key if a short prefix is followed by a long random part
(`acme_live_9fK2…`, `acme-4be0…`), unless the prefix is one of an identifier (`toolu_`, `call_`, `msg_`).
"""

import re
import tomllib
from functools import cache
from importlib.resources import files

from plimsoll.secrets.assigned import MARK
from plimsoll.secrets.value_checks import changes, is_very_random, words

_WORD = re.compile(r"(?<![A-Za-z0-9_.-])[A-Za-z0-9_.-]{20,}+")
_PREFIXED = re.compile(
    r"(?P<prefix>[A-Za-z][A-Za-z0-9]{0,11})(?:[._-][A-Za-z0-9]{1,10}+(?=[._-]))?+(?:[._-][A-Za-z0-9]{1,10}+(?=[._-]))?+[._-](?P<body>[A-Za-z0-9]{24,}+)"
)
# Parts of a token of which the last is random, as bot tokens have: `Mu…CA.rs5SPg.utN3…`.
_DOTTED = re.compile(
    r"(?P<first>[A-Za-z0-9_-]{14,}+)(?:\.[A-Za-z0-9_-]{4,20}+(?=\.))?+\.(?P<last>[A-Za-z0-9_-]{24,}+)(?![\w.])"
)
# A random part in the URL-safe alphabet of Base64, after a short prefix.
_URL_SAFE = re.compile(r"(?P<prefix>[A-Za-z][A-Za-z0-9]{1,11})[._-](?P<body>[A-Za-z0-9_-]{32,}+)(?![.(/])")
GENERIC = (_WORD, _PREFIXED, _DOTTED, _URL_SAFE)
_MIN_WITHOUT_CASE = 32  # a body without capital letters must be longer, as it is less distinct
_MIN_CHANGES = 0.42  # one random string in fifty has a lower share; no observed name in code has a higher one
_ULID = re.compile(r"0[0-9A-HJKMNP-TV-Z]{25}")  # ids that begin with a time
_START = 2


@cache
def _by_start() -> dict[str, list[re.Pattern[str]]]:
    text = files("plimsoll.secrets").joinpath("shapes.toml").read_text("utf-8")
    found: dict[str, list[re.Pattern[str]]] = {}
    for row in tomllib.loads(text)["shape"]:
        pattern = re.compile(row["pattern"])
        for start in dict.fromkeys(start[:_START] for start in row["starts"]):
            found.setdefault(start, []).append(pattern)
    return found


def patterns() -> tuple[re.Pattern[str], ...]:
    """All patterns of this module."""
    return (*GENERIC, *dict.fromkeys(one for found in _by_start().values() for one in found))


@cache
def _ids() -> frozenset[str]:
    return frozenset(words("id_prefixes"))


def without_shapes(text: str, _lowered: str) -> str:
    """The text without words that have the form of a key."""
    kept: list[str] = []
    done = 0
    known = _by_start()
    for found in _WORD.finditer(text):
        span = _known(text, found, known) or _unknown(text, found)
        if span:
            kept += [text[done : span[0]], MARK]
            done = span[1]
    return "".join((*kept, text[done:])) if kept else text


def _known(text: str, word: re.Match[str], known: dict[str, list[re.Pattern[str]]]) -> tuple[int, int] | None:
    start, end = word.span()
    while True:
        for pattern in known.get(text[start : start + _START].lower(), ()):
            found = pattern.match(text, start)
            if found:
                return found.span()
        # A key may follow a dot: `x.sk-…`.
        start = text.find(".", start, end) + 1
        if not start:
            return None


def _unknown(text: str, word: re.Match[str]) -> tuple[int, int] | None:
    if word.end() - word.start() < 28:
        return None
    for pattern, is_key in ((_PREFIXED, _is_key), (_URL_SAFE, _is_url_safe_key)):
        found = pattern.match(text, word.start())
        if found and found["prefix"].lower() not in _ids() and is_key(found["body"]):
            return None if _is_in_path(text, found) else found.span()
    found = _DOTTED.match(text, word.start())
    if found and not _is_in_path(text, found) and _is_mixed(found["first"]) and _is_dense(found["last"]):
        return found.span()
    return None


def _is_in_path(text: str, found: re.Match[str]) -> bool:
    """Whether a word is part of a path or a file name."""
    before, after = text[found.start() - 1 : found.start()], text[found.end() : found.end() + 1]
    return before in ("/", "@", "#", "%", "\\") or after in ("/", ".", "(")


def _is_key(body: str) -> bool:
    if body.lower() == body:
        return len(body) >= _MIN_WITHOUT_CASE and is_very_random(body)
    digits = sum(character.isdigit() for character in body)
    if body.upper() == body:
        return digits >= 4 and changes(body) >= _MIN_CHANGES / 2 and not _ULID.fullmatch(body)
    return digits >= 2 and changes(body) >= _MIN_CHANGES


def _is_mixed(part: str) -> bool:
    return part.lower() != part and part.upper() != part and any(character.isdigit() for character in part)


def _is_dense(part: str) -> bool:
    """Whether a part of a token is random by itself: in both cases, or as hexadecimal digits."""
    bare = re.sub("[_-]", "", part)
    return _is_key(bare) if bare.lower() == bare or bare.upper() == bare else is_very_random(bare)


def _is_url_safe_key(body: str) -> bool:
    """Whether 32 or more characters with dashes are random: mixed case, digits, no words between the dashes."""
    bare = re.sub("[_-]", "", body)
    longest = max(map(len, re.split("[_-]", body)))
    return len(bare) >= 30 and longest >= 8 and bare.lower() != bare != bare.upper() and _is_key(bare)
