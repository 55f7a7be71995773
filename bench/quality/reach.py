"""Whether what left the context can be had again: searched for in the archive, with words that stood near it.

    far fact `parse_config` ──► three rare words beside it ──► Archive.search ──► snippets, then pages of the hits:
                                                                is the term there, and what did reading cost?

The query never holds the fact or a part of it. Up to four queries are made from places where the fact stood; a query
returns ten snippets, and up to eight pages of 8 000 characters of the best hits are read. Reachable is what is
present in the context or found in this way.
"""

import asyncio
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from corpus import Cut
from ours import SizeSettings, compacted

from plimsoll.archive import OPERATOR, Archive, SearchQuery
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.quality import MeasurementCase, NeededFact, Reading, grade, joined, places_of, read_text

PAGE = 8_000
HITS, PAGES, QUERIES = 10, 8, 4
WORDS = 3
BESIDE = 100  # characters
MAX_FACTS = 12  # of each cut
_WORD = re.compile(r"[a-z0-9]{4,}")  # as an index of words has them
Stage = Callable[[str, int], Callable[[], None]]


@dataclass(frozen=True, slots=True)
class Found:
    """One far fact: in the context, found by searching, and the tokens that the search showed."""

    is_present: bool
    is_found: bool
    tokens: int


def run(
    cuts: Sequence[Cut], facts: Mapping[str, MeasurementCase], pool: Executor, stage: Stage
) -> dict[str, Any]:
    """Shares and costs over all far facts."""
    by_conversation: dict[str, list[tuple[Cut, MeasurementCase]]] = defaultdict(list)
    for cut in cuts:
        if facts[cut.name].far:
            by_conversation[cut.conversation].append((cut, facts[cut.name]))
    tick = stage("searching the archive", len(by_conversation))
    found: list[Found] = []
    for part in pool.map(searched, by_conversation.values()):
        found += part
        tick()
    if not found:
        return {}
    lost = [one for one in found if not one.is_present]
    return {
        "facts": len(found),
        "present": round(mean(one.is_present for one in found), 4),
        "reachable": round(mean(one.is_present or one.is_found for one in found), 4),
        "found_by_search": round(mean(one.is_found for one in found), 4),
        "tokens_per_search": round(mean(one.tokens for one in found)),
        "lost_facts": len(lost),
        "lost_found": round(mean(one.is_found for one in lost), 4) if lost else None,
        "lost_tokens_per_search": round(mean(one.tokens for one in lost)) if lost else None,
    }


def searched(cuts: Sequence[tuple[Cut, MeasurementCase]]) -> list[Found]:
    """All cuts of one conversation, on one archive."""
    return asyncio.run(_searched(cuts))


async def _searched(cuts: Sequence[tuple[Cut, MeasurementCase]]) -> list[Found]:
    longest = max((cut for cut, _ in cuts), key=lambda cut: cut.at)
    found: list[Found] = []
    with tempfile.TemporaryDirectory() as scratch:
        async with await SqliteStore.open(Path(scratch) / "archive.db") as store:
            archive = store.for_owner(OPERATOR)
            session = await archive.create_session()
            await archive.append(session.id, longest.history, turn="all")
            for cut, prepared in cuts:
                far = [fact for fact in prepared.needed if fact.is_far]
                # Evenly over the alphabet, so that the bound does not prefer one kind of name.
                some = far[:: -(-len(far) // MAX_FACTS)]
                context = Reading(joined(compacted(SizeSettings(), cut.history)))
                look = _Look(archive, session.id, cut)
                found += [await look.for_fact(one.fact, one.is_present) for one in grade(some, context)]
    return found


class _Look:
    """Searching in the history of one cut."""

    def __init__(self, archive: Archive, session: str, cut: Cut) -> None:
        self._archive, self._session, self._cut = archive, session, cut
        self._texts = [read_text(message) for message in cut.history]
        self._often = Counter(word for text in self._texts for word in set(_WORD.findall(text.lower())))

    async def for_fact(self, fact: NeededFact, is_present: bool) -> Found:
        """Query after query until the term is seen."""
        spent = 0
        for query in self._queries(fact.term):
            is_found, shown = await self._asked(query, fact.term)
            spent += shown
            if is_found:
                return Found(is_present, True, spent // 4)
        return Found(is_present, False, spent // 4)

    def _queries(self, term: str) -> list[str]:
        """Plain words from beside the term where it stood last, then any words beside it there, first and between."""
        holding = [text for text in self._texts if next(places_of(term, text), None) is not None]
        if not holding:
            return []
        parts = set(re.findall(r"\w+", term.lower()))
        places = dict.fromkeys((holding[-1], holding[0], holding[len(holding) // 2]))
        beside = [self._rare(_plain_beside(term, holding[-1]), parts)]
        beside += [self._rare(_all_beside(term, text), parts) for text in places]
        return list(dict.fromkeys(query for query in beside if query))[:QUERIES]

    def _rare(self, words: set[str], parts: set[str]) -> str:
        """The rarest of some words that neither hold a part of the term nor are held by one."""
        usable = [word for word in words if not any(word in part or part in word for part in parts)]
        return " ".join(sorted(usable, key=lambda word: (self._often[word] or 1, word))[:WORDS])

    async def _asked(self, query: str, term: str) -> tuple[bool, int]:
        """Whether a search and a look into its hits shows the term, and the characters that were shown."""
        page = await self._archive.search(
            SearchQuery(query, session=self._session, last=self._cut.at, order="relevance", limit=HITS)
        )
        shown = 0
        for hit in page.hits:
            shown += len(hit.snippet)
            if term in hit.snippet:
                return True, shown
        pages = 0
        for hit in page.hits:
            text = self._texts[hit.sequence - 1]
            for start in range(0, len(text), PAGE):
                if pages == PAGES:
                    return False, shown
                pages += 1
                piece = text[start : start + PAGE]
                shown += len(piece)
                if term in piece:
                    return True, shown
        return False, shown


def _plain_beside(term: str, text: str) -> set[str]:
    return Reading(text).words_around(next(places_of(term, text)), len(term), BESIDE)


def _all_beside(term: str, text: str) -> set[str]:
    place = next(places_of(term, text))
    before, behind = (
        text[max(0, place - BESIDE) : place],
        text[place + len(term) : place + len(term) + BESIDE],
    )
    # The outermost words may be cut in half.
    return {*_WORD.findall(before.lower())[1:], *_WORD.findall(behind.lower())[:-1]}
