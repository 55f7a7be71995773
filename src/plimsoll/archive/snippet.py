"""The snippet around a match, and a matcher with a time limit.

    … cfg = parse_config(path) …
            └──────────┘          marks are positions within the snippet

A pattern may take exponential time: `plimsoll.patterns` bounds it before it is compiled, and every search has a
deadline.
"""

import time
from collections.abc import Callable
from itertools import islice

import regex

from plimsoll.archive.query import SearchHit, SearchQuery, terms_of, word_pattern
from plimsoll.patterns import compiled

SNIPPET = 160  # characters
MAX_MARKS = 8  # matches to mark in one text
_BEFORE = 48  # characters shown ahead of the first match
_WORD = (
    20  # a snippet is up to that much shorter on each side, so that it does not begin or end inside a word
)
_PROBE_SECONDS = 0.1  # of CPU time, after which a search is a slow one
_LEAST_SECONDS = 0.001
Places = list[tuple[int, int]]
Countdown = Callable[[], float]  # the seconds left
Matcher = Callable[[str, float], Places]  # a text and the seconds left ─► matching positions; empty: no match


def matcher_for(query: SearchQuery) -> Matcher:
    """A predicate that finds the matches of a query in a text."""
    if query.mode == "regex":
        return _matcher([compiled(query.text, regex.MULTILINE)])
    if query.mode == "substring":
        return _matcher([_literal(query.text)])
    return _matcher([_literal(term.text) for term in terms_of(query.text)])


def marker_for(query: SearchQuery) -> Matcher:
    """A matcher for the positions to mark in a text that the word index found."""
    return _matcher([regex.compile(word_pattern(query.text), regex.IGNORECASE)])


def _matcher(patterns: "list[regex.Pattern[str]]") -> Matcher:
    def places(text: str, seconds: float) -> Places:
        left = countdown(seconds)
        found: Places = []
        for pattern in patterns:
            own = _within(pattern, text, left)
            if not own:
                return []
            found += own
        return sorted(found)

    return places


def _within(pattern: "regex.Pattern[str]", text: str, left: Countdown) -> Places:
    """The matches; raises `TimeoutError` when the time is up.

    The library's timeout counts the CPU time of the whole process. On a busy machine that is a small part of the time
    that passes, with busy threads beside it more than that. A first, short search shows which share it is.
    """
    probe = min(_PROBE_SECONDS, max(left(), _LEAST_SECONDS))
    started, used = time.monotonic(), time.process_time()
    try:
        return _first_matches(pattern, text, probe)
    except TimeoutError:
        if left() <= 0:
            raise
        share = (time.process_time() - used) / max(time.monotonic() - started, _LEAST_SECONDS)
    return _first_matches(pattern, text, max(left() * share, _LEAST_SECONDS))


def _first_matches(pattern: "regex.Pattern[str]", text: str, cpu_seconds: float) -> Places:
    found = pattern.finditer(text, timeout=cpu_seconds, concurrent=True)
    return [match.span() for match in islice(found, MAX_MARKS)]


def countdown(seconds: float) -> Countdown:
    """A function that returns the remaining seconds."""
    ends = time.monotonic() + seconds
    return lambda: ends - time.monotonic()


def _literal(text: str) -> "regex.Pattern[str]":
    return regex.compile(regex.escape(text, literal_spaces=True), regex.IGNORECASE)


def cut(text: str, places: Places) -> tuple[str, tuple[tuple[int, int], ...]]:
    """At most `SNIPPET` characters around the first position, and the positions within them."""
    first, past = places[0] if places else (0, 0)
    start = max(0, first - _BEFORE)
    end = min(len(text), start + SNIPPET)
    if start:
        start = next((n + 1 for n in range(start - 1, min(first, start + _WORD)) if text[n].isspace()), start)
    if end < len(text):
        end = next((n for n in range(end, max(past, end - _WORD), -1) if text[n].isspace()), end)
    start_mark, end_mark = "… " if start else "", " …" if end < len(text) else ""
    shift = len(start_mark) - start
    marks = tuple((max(a, start) + shift, min(b, end) + shift) for a, b in places if a < end and b > start)
    return start_mark + text[start:end].replace("\n", " ").replace("\t", " ") + end_mark, marks


def hit(session: str, sequence: int, role: str, time: float, text: str, places: Places) -> SearchHit:
    """A search hit with its snippet."""
    snippet, marks = cut(text, places)
    return SearchHit(session, sequence, role, time, snippet, marks)
