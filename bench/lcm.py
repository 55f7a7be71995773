"""The lossless engine on recorded conversations: what the model sees, and what its search brings back.

    .venv/bin/python bench/lcm.py [CUTS]

Each conversation is cut behind a person's turn and compacted in a window of 64 000 tokens, without a model. Far facts
are those that the recorded agent typed behind the cut from memory. Two questions, each with a bar:

    in context   is the share present, and grounded, no worse than the compressor's at its tokens? Compacted once, and
                 replayed with a compaction at every threshold on the way
    reachable    is a fact in the replayed context, or in the answers of `lcm_grep` to queries made of words that
                 stood beside it, never of the fact itself, within 600 tokens of answers?

No worse means: by not more than one standard error of the sample.
"""

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent / "quality"))

from corpus import DATA, SETS, Cut, cuts, generic_terms, sample

from figures import report
from plimsoll import ContextCompressor, ContextEngine
from plimsoll.context.lcm import LcmEngine
from plimsoll.models import estimate_messages_tokens_rough, estimate_tokens
from plimsoll.quality import NeededFact, Reading, grade, joined, needed_facts, places_of, read_text, tokens

WINDOW = 64_000
CUTS = 60
PROCESSES = 2
REACHABLE = 0.97
MAX_TOKENS = 600  # of answers for one fact
WAYS = ("once", "replayed")
ENGINES = ("compressor", "lcm")
BESIDE = 100  # characters on either side of a fact
WORDS = 4
LIMIT = 2  # hits of each answer
_WORD = re.compile(r"[a-z0-9]{4,}")
Message = dict[str, Any]
Name = tuple[str, str]  # how it was compacted, and by whom
Row = tuple[str, str, str, bool]


@dataclass(frozen=True, slots=True)
class Measured:
    """One cut: sizes, shares by engine, and the far facts that could be reached."""

    facts: int
    sizes: dict[Name, int]
    present: dict[Name, int]
    grounded: dict[Name, int]
    reached: int
    spent: list[int]


def main(most: int = CUTS) -> int:
    """Measure and compare with the bars; 1 where one is missed."""
    if not DATA.exists():
        print(
            f"bench: the recorded conversations are not there ({DATA}), so nothing was measured.",
            file=sys.stderr,
        )
        return 1
    every = sample([cut for name in SETS for cut in cuts(DATA, name)], most)
    with ProcessPoolExecutor(PROCESSES) as pool:
        found = [one for one in pool.map(measured, every) if one.facts]
    return shown(found)


def measured(cut: Cut) -> Measured:
    """One cut with both engines."""
    far = [fact for fact in needed_facts(cut.history, cut.continuation, generic_terms(DATA)) if fact.is_far]
    if not far:
        return Measured(0, {}, {}, {}, 0, [])
    plain = ContextCompressor(context_length=WINDOW).compress(list(cut.history))
    grown = replayed(ContextCompressor(context_length=WINDOW), cut.history)
    kept, lossless = of_size(grown, lambda engine: replayed(engine, cut.history))
    views = {
        ("once", "compressor"): plain,
        ("once", "lcm"): of_size(plain, lambda engine: engine.compress(list(cut.history)))[0],
        ("replayed", "compressor"): grown,
        ("replayed", "lcm"): kept,
    }
    grades = {name: grade(far, Reading(joined(view))) for name, view in views.items()}
    look = Look(lossless, cut.history)
    reached, spent = 0, []
    for one in grades["replayed", "lcm"]:
        if one.is_present:
            reached += 1
            continue
        is_found, cost = look.for_fact(one.fact)
        reached += is_found
        spent.append(cost)
    return Measured(
        len(far),
        {name: tokens(view) for name, view in views.items()},
        {name: sum(one.is_present for one in graded) for name, graded in grades.items()},
        {name: sum(one.is_grounded for one in graded) for name, graded in grades.items()},
        reached,
        spent,
    )


def of_size(
    other: Sequence[Message], compacted: Callable[[LcmEngine], list[Message]]
) -> tuple[list[Message], LcmEngine]:
    """The view of the lossless engine at about as many tokens: aimed at once, and once more by the difference."""
    target = size = estimate_messages_tokens_rough(list(other))
    for _ in range(2):
        engine = LcmEngine(context_length=WINDOW)
        engine.budget = replace(engine.budget, target=max(1, target))
        view = compacted(engine)
        target += size - estimate_messages_tokens_rough(view)
    return view, engine


def replayed(engine: ContextEngine, history: Sequence[Message]) -> list[Message]:
    """The view at the end: compacted on the way at the threshold, and once more at the cut."""
    view: list[Message] = []
    size = 0
    for message in history:
        view.append(message)
        size += estimate_messages_tokens_rough([message])
        if size >= engine.threshold_tokens and message["role"] != "assistant":
            view = engine.compress(view)
            size = estimate_messages_tokens_rough(view)
    return engine.compress(view)


class Look:
    """Searching as a model would: words that it remembers from beside the fact, the rarest first."""

    def __init__(self, engine: LcmEngine, history: Sequence[Message]) -> None:
        self._engine = engine
        self._texts = [read_text(message) for message in history]
        self._often = Counter(word for text in self._texts for word in set(_WORD.findall(text.lower())))

    def for_fact(self, fact: NeededFact) -> tuple[bool, int]:
        """Whether an answer held the fact, and the tokens of all answers."""
        spent = 0
        for query in self._queries(fact.term):
            answer = self._engine.handle_tool_call("lcm_grep", {"pattern": query, "limit": LIMIT})
            cost = estimate_tokens(answer)
            if spent + cost > MAX_TOKENS:
                break
            spent += cost
            hits = (hit["text"] for group in json.loads(answer)["groups"] for hit in group["hits"])
            if any(fact.term in text for text in hits):
                return True, spent
        return False, spent

    def _queries(self, term: str) -> Iterator[str]:
        holding = [text for text in self._texts if next(places_of(term, text), None) is not None]
        parts = set(re.findall(r"\w+", term.lower()))
        seen = set()
        for text in (holding[-1], holding[0], holding[len(holding) // 2]) if holding else ():
            words = [
                word for word in self._beside(term, text) if not any(word in p or p in word for p in parts)
            ]
            query = " ".join(sorted(words, key=lambda word: (self._often[word] or 1, word))[:WORDS])
            if query and query not in seen:
                seen.add(query)
                yield query

    def _beside(self, term: str, text: str) -> set[str]:
        place = next(places_of(term, text))
        before = text[max(0, place - BESIDE) : place].lower()
        behind = text[place + len(term) : place + len(term) + BESIDE].lower()
        # The outermost words may be cut in half.
        return {*_WORD.findall(before)[1:], *_WORD.findall(behind)[:-1]}


def shown(found: Sequence[Measured]) -> int:
    """The table with its bars."""
    facts = sum(one.facts for one in found)
    reached = sum(one.reached for one in found) / facts
    spent = [cost for one in found for cost in one.spent]
    most = max(spent, default=0)
    rows = [row for way in WAYS for row in compared(found, facts, way)]
    report("lcm", "far facts reachable", reached, "share", "higher")
    report("lcm", "tokens of answers, mean", mean(spent) if spent else 0, "tokens")
    rows += [
        ("far facts reachable", f"{reached:.3f}", f">= {REACHABLE}", reached >= REACHABLE),
        ("tokens of answers, most", f"{most:,}", f"<= {MAX_TOKENS}", most <= MAX_TOKENS),
        ("tokens of answers, mean", f"{mean(spent) if spent else 0:,.0f}", "", True),
    ]
    table = Table("", "lcm", "bar", "", title=f"{len(found)} cuts, {facts:,} far facts, window {WINDOW:,}")
    for name, value, bar, held in rows:
        table.add_row(name, value, bar, "held" if held else "MISSED")
    Console(width=100).print(table)
    return 0 if all(row[3] for row in rows) else 1


def compared(found: Sequence[Measured], facts: int, way: str) -> Iterator[Row]:
    """Both engines beside each other."""
    theirs, ours = (mean(one.sizes[way, name] for one in found) for name in ENGINES)
    for engine, size in zip(ENGINES, (theirs, ours), strict=True):
        report("lcm", f"{way}: tokens in context, {engine}", size, "tokens")
    yield f"{way}: tokens in context", f"{ours:,.0f}", f"<= {theirs:,.0f} + 1 %", ours <= theirs * 1.01
    for kind in ("present", "grounded"):
        bar, share = (sum(getattr(one, kind)[way, name] for one in found) / facts for name in ENGINES)
        error = math.sqrt(bar * (1 - bar) / facts)
        for engine, value in zip(ENGINES, (bar, share), strict=True):
            report("lcm", f"{way}: far facts {kind}, {engine}", value, "share", "higher")
        yield f"{way}: far facts {kind}", f"{share:.3f}", f">= {bar:.3f} - {error:.3f}", share >= bar - error


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
