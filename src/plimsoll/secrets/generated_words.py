"""Finds generated passwords near words that speak of an account.

    smbpasswd: ann new password x7Kd9fQ2        user ann x7Kd9fQ2        Password:
                                                                         x7Kd9fQ2

A word of letters in both cases and digits, which change so often that no person chose it as a name, is taken for a
password if its line, or one of the two lines before it, contains a word such as `password`, `login` or `user`.
In the recorded conversations nearly no other word has this form.
"""

import re
from collections.abc import Iterator

from plimsoll.secrets.assigned import MARK
from plimsoll.secrets.value_checks import is_generated, words

_WORD = re.compile(r"(?<![\w/.+=@#%&$\\-])[A-Za-z0-9]{8,64}+(?![\w/+=(\\@-]|\.\w)")
# What is called an id, a hash or a version is not a password.
_IDENTIFIED = re.compile(
    rf"(?i:(?:\b|_)(?:{'|'.join(words('identifying_words'))})s?)[\"'`]?[ \t]{{0,4}}[:=#]?[ \t]{{0,4}}[\"'`]?\Z"
)
_LINES = 3
_LONGEST = 600  # characters before or after the word that speaks of an account


def without_generated_words(text: str, lowered: str) -> str:
    """The text without generated passwords; the same object if there are none."""
    kept: list[str] = []
    done = searched = 0
    for start, end in sorted(_places(text, lowered)):
        if end <= searched:
            continue
        for found in _WORD.finditer(text, max(start, searched), end):
            if is_generated(found[0]) and not _is_identified(text, found.start()):
                kept += [text[done : found.start()], MARK]
                done = found.end()
        searched = end
    return "".join((*kept, text[done:])) if kept else text


def _is_identified(text: str, start: int) -> bool:
    return bool(_IDENTIFIED.search(text, max(0, start - 24), start))


def _places(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Every line with a word that speaks of an account, with the lines after it."""
    for word in words("account_words"):
        at = lowered.find(word)
        while at >= 0:
            start = text.rfind("\n", max(0, at - _LONGEST), at) + 1 or max(0, at - _LONGEST)
            end = at
            for _ in range(_LINES):
                following = text.find("\n", end + 1, at + _LONGEST)
                end = following if following >= 0 else min(len(text), at + _LONGEST)
            yield start, max(end, at + 1)
            at = lowered.find(word, max(end, at + 1))
