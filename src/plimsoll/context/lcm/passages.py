"""Finds passages: candidates from the archive's index, the best excerpt of each, best first.

    pattern ──► matching messages ──► the window with most of the words ──► grouped by leaf

Tool-call arguments are searched like all other text. If no message contains all words of a
query, those with the most words come first.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from plimsoll.archive import SearchHit, SearchQuery
from plimsoll.archive.encoding import searchable
from plimsoll.archive.query import has_words, terms_of
from plimsoll.context.lcm.node_store import NodeStore
from plimsoll.messages import Message, call_name, text_of, tool_calls

WIDTH = 300  # characters of a passage
PREFIX = "lcm_"  # of the engine's tool names
_CANDIDATES = 60  # messages to examine
_WORDS = 8  # words of a query to use if no message contains all
_PLACES = 200  # occurrences of one word in one message


@dataclass(frozen=True, slots=True)
class Passage:
    """An excerpt of a message and the number of query words in it."""

    session: str
    sequence: int
    role: str
    time: float
    text: str
    score: float


def passages(store: NodeStore, query: SearchQuery, count: int, width: int = WIDTH) -> list[Passage]:
    """At least `count` passages if available, best first; for a pattern, newest first."""
    if query.mode == "words" and has_words(query.text):
        found = (_passage(store, word, query.text, width) for word in _by_words(store, query, count))
        # The sort is stable: equal passages keep the order of the index.
        return sorted((passage for passage in found if passage), key=lambda item: -item.score)
    plain = query if query.mode == "regex" else replace(query, mode="substring")
    hits = list(_pages(store, replace(plain, order="newest"), count))
    return [_matching(store, hit, width) for hit in hits]


def best_window(text: str, words: Sequence[str], width: int) -> tuple[str, float]:
    """The excerpt with the most words, and its score."""
    places = sorted(
        (match.start(), n)
        for n, word in enumerate(words)
        for match in _first(re.finditer(re.escape(word), text, re.IGNORECASE))
    )
    if not places:
        return _cut(text, 0, width), 0.0
    # Frequent words do not help to locate a passage.
    weight = [1.0 / (1 + sum(1 for _, other in places if other == n)) + 1.0 for n in range(len(words))]
    best, best_score, start = (places[0][0], places[0][0]), 0.0, 0
    for end, (last, _) in enumerate(places):
        while places[start][0] < last - width * 2 // 3:
            start += 1
        score = sum(weight[n] for n in {n for _, n in places[start : end + 1]})
        if score > best_score:
            best, best_score = (places[start][0], last), score
    middle = (best[0] + best[1]) // 2
    return _cut(text, max(0, middle - width // 2), width), best_score


def _by_words(store: NodeStore, query: SearchQuery, count: int) -> list[SearchHit]:
    """Messages with all words; if these are too few, also those with some."""
    ranked = replace(query, order="relevance", limit=_CANDIDATES)
    hits = {(hit.session, hit.sequence): hit for hit in store.search(ranked).hits}
    words = sorted((term.text for term in terms_of(query.text)), key=len, reverse=True)[:_WORDS]
    if len(hits) >= count or len(words) < 2:
        return list(hits.values())
    hits_by_place: dict[tuple[str, int], list[SearchHit]] = {}
    for word in words:
        for item in store.search(replace(ranked, text=_quoted(word), limit=_CANDIDATES)).hits:
            hits_by_place.setdefault((item.session, item.sequence), []).append(item)
    more = sorted(hits_by_place, key=lambda key: -len(hits_by_place[key]))[:_CANDIDATES]
    return [*hits.values(), *(hits_by_place[key][0] for key in more if key not in hits)]


def _pages(store: NodeStore, query: SearchQuery, count: int) -> Iterator[SearchHit]:
    """Hits until there are enough, page by page."""
    found, page = 0, store.search(replace(query, limit=max(1, count)))
    while True:
        yield from page.hits
        found += len(page.hits)
        if found >= count or page.next is None or not page.complete:
            return
        page = store.search(replace(query, limit=count - found, cursor=page.next))


def _passage(store: NodeStore, hit: SearchHit, text: str, width: int) -> Passage | None:
    """The best excerpt of a message; None for a call of these tools, which only repeats the query."""
    words = [token for term in terms_of(text) for token in term.tokens]
    message = _message(store, hit)
    if message is None or _only_looks(message):
        return None
    piece, score = best_window(searchable(message), words, width)
    return Passage(hit.session, hit.sequence, hit.role, hit.time, piece, score)


def _matching(store: NodeStore, hit: SearchHit, width: int) -> Passage:
    """The excerpt around the first match, which the archive marks in its shorter snippet."""
    message = _message(store, hit)
    whole = searchable(message) if message else hit.snippet
    marked = hit.snippet[slice(*hit.marks[0])] if hit.marks else ""
    # The snippet has spaces instead of line breaks, so search for a match across lines in the same form.
    at = whole.replace("\n", " ").replace("\t", " ").find(marked)
    middle = max(0, at) + len(marked) // 2
    piece = _cut(whole, max(0, middle - width // 2), width)
    return Passage(hit.session, hit.sequence, hit.role, hit.time, piece, 1.0)


def _message(store: NodeStore, hit: SearchHit) -> Message | None:
    found = store.messages(hit.sequence, hit.sequence, hit.session)
    return found[0].message if found else None


def _only_looks(message: Message) -> bool:
    calls = tool_calls(message)
    return bool(calls) and not text_of(message) and all(call_name(call).startswith(PREFIX) for call in calls)


def _first(matches: Iterator[re.Match[str]]) -> Iterator[re.Match[str]]:
    for n, match in enumerate(matches):
        if n == _PLACES:
            return
        yield match


def _cut(text: str, start: int, width: int) -> str:
    end = min(len(text), start + width)
    start = max(0, min(start, end - width))
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _quoted(word: str) -> str:
    return f'"{word}"' if '"' not in word else word
