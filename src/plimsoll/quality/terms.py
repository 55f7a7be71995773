"""Finds terms (exact words that cannot be guessed) and plain words (which explain them).

    "fixed in src/app.py by load_config, ticket PLM-4711, see the parser notes"
     terms   src/app.py · load_config · PLM-4711
     plain   fixed · ticket · parser · notes

The measure shares no code with the engine. Otherwise, the engine's extractors would judge themselves.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise

_CANDIDATE = re.compile(
    r"""https?://[^\s"'<>)\]`\\…]+       # an address
      | [\w.@~+-]*(?:/[\w.@~+-]+)+       # a path
      | [\w@-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,4}\b   # a file, a chain of names
      | \b[A-Z][A-Z0-9]*-\d+\b           # a ticket
      | \b[A-Za-z_]\w*                   # a symbol
      | \b[0-9a-f]{7,40}\b               # a commit
      | \b\d{5,}\b                       # a long number""",
    re.VERBOSE,
)
_TICKET = re.compile(r"[A-Z][A-Z0-9]*-\d+")
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_ABBREVIATION = re.compile(r"[A-Za-z]\.[A-Za-z]\.?")
_CODE = re.compile(r"(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{6,10}")
_SHORTEST, _LONGEST = 4, 200
# A separate word, not part of a path, a call, or a name with a dot or a dash. Words in Latin letters have at least
# four letters, capital only at the beginning; those of other scripts have two.
_PLAIN = re.compile(
    r"""(?<![^\W\d_])(?<![_./@~$\-0-9])
        (?:[A-Za-z][a-z]{3,}+|(?=[A-Za-z]*+[^\W\d_A-Za-z])[^\W\d_]{2,}+)
        (?![^\W\d_])(?![_/@~$(=\-0-9])(?!\.[^\W_])""",
    re.VERBOSE,
)
STOP_WORDS = frozenset({
    "about", "also", "been", "both", "could", "does", "done", "down", "each", "from", "have", "here", "into",
    "just", "might", "more", "most", "only", "other", "over", "same", "should", "some", "such", "than",
    "that", "their", "then", "there", "these", "they", "this", "those", "under", "very", "were", "what",
    "when", "where", "which", "will", "with", "would", "your", "func", "return", "string", "error", "type",
    "const", "import", "package", "true", "false", "null", "none", "self", "bool", "class", "public",
    "private", "static", "void", "struct", "else", "elif", "case", "switch", "break", "while", "async",
    "await", "export", "function",
})  # fmt: skip


def terms_in(text: str) -> set[str]:
    """The paths, file names, symbols, ids, addresses and long numbers of a text."""
    found = set()
    for candidate in set(_CANDIDATE.findall(text)):
        is_address = candidate.startswith("http")
        term = candidate.rstrip(".,;:") if is_address else candidate.strip(".-+").lstrip("/~.")
        if _is_term(term):
            found.add(term)
    return found


def _is_term(term: str) -> bool:
    """Whether the shape of a candidate distinguishes it from ordinary words."""
    if not _SHORTEST <= len(term) <= _LONGEST:
        return False
    if term.startswith("http"):
        return len(term) > len("https://x.y")
    if "/" in term:
        return any(map(str.isalpha, term)) and not term.replace("/", "").isdigit()
    if _TICKET.fullmatch(term):
        return True
    if "." in term:
        return re.search(r"[A-Za-z]", term) is not None and not _ABBREVIATION.fullmatch(term)
    if _COMMIT.fullmatch(term) and not term.isdigit():
        return any(sign.isdigit() for sign in term)
    return term.isdigit() or "_" in term.strip("_") or _is_mixed(term)


def _is_mixed(term: str) -> bool:
    """Whether a term is `camelCase`, or a longer mix of letters and digits."""
    neighbours = list(pairwise(term))
    if any(left.islower() and right.isupper() for left, right in neighbours) or _CODE.fullmatch(term):
        return True
    return len(term) >= 6 and any(
        left.isalnum() and right.isalnum() and left.isdigit() != right.isdigit() for left, right in neighbours
    )


def places_of(term: str, text: str) -> Iterator[int]:
    """The positions of a term as a whole word: `app.py` does not occur in `myapp.py`."""
    size, place = len(term), text.find(term)
    while place >= 0:
        before = text[place - 1 : place] if place else ""
        after = text[place + size : place + size + 1]
        joins_before = before.isalnum() and term[0].isalnum()
        joins_after = after.isalnum() and term[-1].isalnum()
        if not joins_before and not joins_after:
            yield place
        place = text.find(term, place + 1)


class Reading:
    """A text with the positions of its plain words, for fast lookup of the words around a term."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts: list[int] = []
        self._ends: list[int] = []
        self.words: list[str] = []
        for match in _PLAIN.finditer(text):
            word = match[0].lower()
            if word not in STOP_WORDS:
                self._starts.append(match.start())
                self._ends.append(match.end())
                self.words.append(word)

    def word_places(self) -> dict[str, list[int]]:
        """The positions of each plain word, in order."""
        places: dict[str, list[int]] = {}
        for word, start in zip(self.words, self._starts, strict=True):
            places.setdefault(word, []).append(start)
        return places

    def words_between(self, start: int, end: int) -> list[str]:
        """The plain words that lie entirely between two positions, in order."""
        return self.words[bisect_left(self._starts, start) : bisect_right(self._ends, end)]

    def words_around(self, place: int, size: int, distance: int) -> set[str]:
        """The plain words within a distance of the term at a position, without the term's own."""
        before = self.words_between(place - distance, place)
        return {*before, *self.words_between(place + size, place + size + distance)}
