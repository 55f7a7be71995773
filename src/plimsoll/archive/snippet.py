"""The piece of a text around what was found, and a matcher that cannot run away.

    … cfg = parse_config(path) …
            └──────────┘          marks are places within the snippet

A pattern may take exponential time; every search has a deadline, and a pattern that
is no pattern is the person's mistake.
"""

from collections.abc import Callable

import regex

from plimsoll.archive.query import SearchHit, SearchQuery, terms_of, word_pattern
from plimsoll.errors import UserError

SNIPPET = 160
MOST_MARKS = 8
_BEFORE = 48  # characters shown ahead of the first match
Places = list[tuple[int, int]]
Matcher = Callable[[str, float], Places]  # a text and the seconds left; the places that match, none: no match


def matcher_for(query: SearchQuery) -> Matcher:
    """What tells whether a text fits, and where."""
    if query.mode == "regex":
        return _patterns([query.text], regex.MULTILINE)
    if query.mode == "substring":
        return _patterns([regex.escape(query.text, literal_spaces=True)], regex.IGNORECASE)
    return _patterns([regex.escape(term.text, literal_spaces=True) for term in terms_of(query.text)], regex.I)


def marker_for(query: SearchQuery) -> Matcher:
    """What finds the places to mark in a text that an index of words has found."""
    return _patterns([word_pattern(query.text)], regex.IGNORECASE)


def _patterns(patterns: list[str], flags: int) -> Matcher:
    compiled = [_compiled(pattern, flags) for pattern in patterns]

    def places(text: str, seconds: float) -> Places:
        found: Places = []
        for one in compiled:
            here: Places = []
            for match in one.finditer(text, timeout=max(seconds, 0.001), concurrent=True):
                here.append(match.span())
                if len(here) == MOST_MARKS:
                    break
            if not here:
                return []
            found += here
        return sorted(found)

    return places


def _compiled(pattern: str, flags: int) -> "regex.Pattern[str]":
    try:
        return regex.compile(pattern, flags)
    except regex.error as error:
        raise UserError(f"{pattern!r} is no regular expression: {error}.") from error


def cut(text: str, places: Places) -> tuple[str, tuple[tuple[int, int], ...]]:
    """At most `SNIPPET` characters around the first place, and the places within them."""
    first = places[0][0] if places else 0
    start = max(0, first - _BEFORE)
    end = min(len(text), start + SNIPPET)
    lead, trail = "… " if start else "", " …" if end < len(text) else ""
    shift = len(lead) - start
    marks = tuple((max(a, start) + shift, min(b, end) + shift) for a, b in places if a < end and b > start)
    return lead + text[start:end].replace("\n", " ").replace("\t", " ") + trail, marks


def hit(session: str, sequence: int, role: str, time: float, text: str, places: Places) -> SearchHit:
    """A message that was found, with the piece of it to show."""
    snippet, marks = cut(text, places)
    return SearchHit(session, sequence, role, time, snippet, marks)
