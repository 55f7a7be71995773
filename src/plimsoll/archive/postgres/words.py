"""Text and queries in the form that PostgreSQL's text search accepts.

    Übergröße in src/loader.py ──► 'ubergroße':1 'in':2 'src':3 'loader':4 'py':5
    load_settings conf*        ──► 'load' & 'settings' & 'conf':*

Words are split here, not by the server, whose parser keeps `src/loader.py` in one piece. Otherwise
this matches its configuration `simple`: no stemming, no stop words. A vector stores few positions
per word, so phrases and the ends of very long words are checked in the text itself. Pure.
"""

import re
import unicodedata
from collections.abc import Callable

from plimsoll.archive.encoding import storable
from plimsoll.archive.query import Term, terms_of

LONGEST_WORD = 200  # indexed characters of a word; enough to distinguish nearly all
MAX_BYTES = 262_144  # of a text with a vector; a vector has at most a megabyte, positions included
_ACCENTS = re.compile("[\u0300-\u036f]")
_DOTLESS = str.maketrans({"\u0130": "i", "\u0131": "i"})  # case-insensitive patterns match both as an i


def words_of(text: str) -> list[str]:
    """The words of a text, in order, without case and accents."""
    return Term(_plain(storable(text))).tokens


def vector_of(text: str) -> str | None:
    """A `tsvector` with the words of a text and their positions; None if they do not fit."""
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        return None
    places: dict[str, list[str]] = {}
    for place, word in enumerate(words_of(text), start=1):
        places.setdefault(word[:LONGEST_WORD], []).append(str(place))
    return " ".join(f"'{word}':{','.join(where[:255])}" for word, where in places.items())


def expression_of(text: str) -> str:
    """A `tsquery` for texts with all words of a query, in any order."""
    pieces: dict[str, None] = {}
    for term in terms_of(text):
        words = words_of(term.text)
        for number, word in enumerate(words, start=1):
            pieces[f"'{word[:LONGEST_WORD]}'{':*' if term.prefix and number == len(words) else ''}"] = None
    return " & ".join(pieces)


def phrases_in(query: str) -> Callable[[str], bool]:
    """A predicate: whether a text contains every word and phrase of a query."""
    wanted = [f" {' '.join(words_of(term.text))}{'' if term.prefix else ' '}" for term in terms_of(query)]

    def matches(text: str) -> bool:
        spaced = f" {' '.join(words_of(text))} "
        return all(phrase in spaced for phrase in wanted)

    return matches


def folded(text: str) -> str:
    """The text case-folded, so that a case-insensitive search finds the same in both."""
    return storable(text).translate(_DOTLESS).casefold()


def like(literal: str) -> str:
    """A LIKE pattern for folded texts that contain a literal."""
    escaped = re.sub(r"([\\%_])", r"\\\1", folded(literal))
    return f"%{escaped}%"


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text.lower())))
