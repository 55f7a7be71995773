"""Finds passwords that a sentence in another language than English states.

    密码是x7Kd9f2        Le mot de passe est x7Kd9f2        hasło: x7Kd9f2

`languages.toml` lists the words for a password and the words that connect them with it.
"""

import re
import tomllib
from functools import cache
from importlib.resources import files

from plimsoll.secrets.assigned import MARK
from plimsoll.secrets.contexts import ContextPattern, in_lower_case
from plimsoll.secrets.value_checks import is_not_secret, is_stated_password

_LETTER = re.compile("[À-ʯͰ-᷿぀-퟿]")  # a quick check, as symbols and arrows are frequent
_CAPITAL_WITHIN = re.compile(r"\A[A-Za-z]*?[a-z][A-Z][A-Za-z]*\Z")
_MIDDLE = r"(?:[^\n:=：]{0,60}?)"
_VALUE = r"[ \t]{0,4}[\"'`“”「『«„]?[ \t]?(?P<value>[!-&(-~]{5,100}+)"


def without_passwords_in_other_languages(text: str, lowered: str) -> str:
    """The text without stated passwords; the same object if there are none."""
    for part in _words()[0]:
        if part in lowered:
            found = _step(part).applied(text, lowered)
            text, lowered = found, lowered if found is text else in_lower_case(found)
    if text.isascii() or not _LETTER.search(text) or not any(word in text for word in _words()[1]):
        return text
    found, count = _pattern(ascii_only=False).subn(_stated, text)
    return found if count else text


@cache
def _step(part: str) -> ContextPattern:
    return ContextPattern(part, (part,), _pattern(ascii_only=True), _stated)


@cache
def _words() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What to search for: parts of the words in ASCII; the other words without their first letter if it has cases."""
    others = (word for word in _table()["words"] if not word.isascii())
    return tuple(_table()["parts"]), tuple(
        word[1:] if word[0].upper() != word[0].lower() else word for word in others
    )


@cache
def _table() -> dict[str, list[str]]:
    return tomllib.loads(files("plimsoll.secrets").joinpath("languages.toml").read_text("utf-8"))


@cache
def _pattern(*, ascii_only: bool) -> re.Pattern[str]:
    every = (word for word in _table()["words"] if word.isascii() == ascii_only)
    words = "|".join(re.escape(word) for word in sorted(every, key=len, reverse=True))
    joined = "|".join(re.escape(word) for word in _table()["joined"])
    spaced = "|".join(re.escape(word) for word in _table()["spaced"])
    return re.compile(
        rf"(?P<before>(?:{words}){_MIDDLE}(?:[ \t]{{0,4}}(?:{joined})|[ \t](?:{spaced})[ \t:]))(?P<gap>)"
        + _VALUE,
        re.IGNORECASE,
    )


def _stated(found: re.Match[str]) -> str:
    value = found["value"].rstrip(".,;:!?)")
    # After such a word, capitals within a word suffice.
    if not (is_stated_password(value) or _CAPITAL_WITHIN.search(value)) or is_not_secret(value):
        return found[0]
    start = found.start("value") - found.start()
    return f"{found[0][:start]}{MARK}{found['value'][len(value) :]}"
