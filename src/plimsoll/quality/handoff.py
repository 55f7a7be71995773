"""Checks a hand-off: its sections, the source of their words, and the first next step.

    ## Goal                   section(text, "Goal")          the lines under a heading
    - Ship the parser         says(line, source)             at least half of the source's content words
    ## Next Steps
    - Run `make lint`         taken_up(line, continuation)   whether the recorded agent did this next

The checks use only the text, so that any Markdown summary can be measured. Content words count in any order; in
scripts without spaces, pairs of characters count as words.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from plimsoll.messages import Message
from plimsoll.quality.terms import STOP_WORDS, terms_in
from plimsoll.quality.texts import read_text

TEXT_SHARE, LINE_SHARE = 0.5, 0.6  # of the content words of a source that a text, or one line, must contain
TAKEN_UP_WITHIN = 20  # messages after a cut
_MIN_LETTERS = 3
_SMALL_WORDS = STOP_WORDS | frozenset({
    "and", "are", "but", "can", "did", "for", "get", "got", "had", "has", "her", "him", "his", "how", "its", "let",
    "lets", "like", "may", "not", "now", "off", "one", "our", "out", "see", "she", "the", "too", "two", "use", "was",
    "way", "who", "why", "you", "yes", "any", "all", "want", "please", "need", "them",
})  # fmt: skip


def content_words(text: str) -> set[str]:
    """The words of a text that carry its meaning, in lower case."""
    found: set[str] = set()
    for kind, signs in groupby(unicodedata.normalize("NFC", text).casefold(), _kind_of):
        word = "".join(signs)
        if kind == "unspaced":
            found.update(word[place : place + 2] for place in range(max(1, len(word) - 1)))
        elif kind == "word" and len(word) >= _MIN_LETTERS and word not in _SMALL_WORDS:
            found.add(word)
    return found


def _kind_of(sign: str) -> str:
    if "\u3040" <= sign <= "\u30ff" or "\u3400" <= sign <= "\u9fff":
        return "unspaced"
    return "word" if sign.isalnum() or unicodedata.combining(sign) else "other"


def section(summary: str, title: str) -> list[str]:
    """The lines under a Markdown heading, without bullets, blank lines and `(none)`."""
    found: list[str] = []
    is_inside = False
    for line in summary.splitlines():
        bare = line.strip()
        if bare.startswith("#"):
            is_inside = bare.strip("#* :").casefold() == title.casefold()
        elif is_inside and bare and bare != "(none)":
            found.append(bare.lstrip("-*•·+ "))
    return found


def says(text: str, source: str, min_share: float = TEXT_SHARE) -> bool:
    """Whether a text contains this share of the source's content words; without any, the source itself."""
    wanted = content_words(source)
    if not wanted:
        return bool(source.strip()) and source.strip().casefold() in text.casefold()
    return len(wanted & content_words(text)) >= min_share * len(wanted)


def says_in_a_line(lines: Iterable[str], source: str, min_share: float = LINE_SHARE) -> bool:
    """Whether a single line contains this share of the source's content words."""
    return any(says(line, source, min_share) for line in lines)


def taken_up(step: str, continuation: Sequence[Message]) -> bool:
    """Whether the recorded agent took up a next step: used a name in it, or most of its words.

    Only the agent's own text and arguments count, in the first messages after the cut.
    """
    done = "\n".join(_typed(continuation[:TAKEN_UP_WITHIN]))
    names = terms_in(step)
    return bool(names & terms_in(done)) or (bool(content_words(step)) and says(done, step))


def _typed(messages: Iterable[Message]) -> Iterator[str]:
    return (read_text(message) for message in messages if message.get("role") == "assistant")
