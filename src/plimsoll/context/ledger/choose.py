"""Choose the entries that are most likely needed next, within a token budget.

The weight of a term is the probability that the agent will need it: typed before, seen
recently, made of the words of the newest request or of the recent messages. Entries are
chosen by their gain per token: a term counts once, and fully only if plain words explain
it. Terms in the messages that stay add nothing.
"""

import heapq
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import mul
from typing import NamedTuple

from plimsoll.context.ledger.entries import CONSTRAINTS, MUST, QUOTE, LedgerEntry
from plimsoll.context.ledger.evidence import JOINT, Evidence, EvidenceLine, TermUse
from plimsoll.context.ledger.weights import weights as line_weights
from plimsoll.models import estimate_tokens

_MUST_SHARE = 0.6
_WISHES_SHARE = 0.25  # of the budget that rules leave, for wishes and rules files
# Lines of a huge conversation to compare: about thirty times as many as a summary quotes.
_MAX_LINES = 12_000
_LINES_OF_A_TERM = 2
_PART = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}(?![a-z])")
_READ = 4_000  # characters of a message; longer ones quote documents
_FADES_AFTER = 150.0  # messages after which recency drops to a third


class CurrentWork(NamedTuple):
    """What is being worked on, by the messages that stay, the agent's last words and the newest request."""

    names: AbstractSet[str]  # the last parts of the terms that stay
    parts: AbstractSet[str]  # the words that these terms consist of, and those that the agent said last
    asked: AbstractSet[str]  # the words of the newest request


def current_work(kept: AbstractSet[str], request: str, last_said: str) -> CurrentWork:
    """The current work by the terms `kept` in the context, the newest request and the agent's last words."""
    names = {term.rsplit("/", 1)[-1] for term in kept}
    parts = _parts_of(" ".join((*kept, last_said[:_READ])))
    return CurrentWork(names, parts, _parts_of(request[:_READ]))


def term_weights(
    evidence: Evidence, newest: int, kept: AbstractSet[str], request: str = "", last_said: str = ""
) -> dict[str, float]:
    """The probability from 0 to 1 that each term is needed next, for terms that do not stay in the context."""
    odds = line_weights().terms
    base, factors = odds.base, odds.factors
    work = current_work(kept, request, last_said)
    weights = {}
    for term, use in evidence.uses.items():
        if term not in kept:
            score = base + sum(map(mul, factors, known_about(term, use, newest - use.last, work)))
            weights[term] = 1 / (1 + math.exp(-score))
    return weights


def known_about(term: str, use: TermUse, age: int, work: CurrentWork) -> tuple[float, ...]:
    """The features of a term that predict whether it is needed next, in the order of `TermOdds.factors`."""
    parts = _parts_of(term)
    return (
        math.log1p(use.typed),
        math.log1p(use.said + use.asked),
        math.log1p(use.sources),
        float(not (use.typed or use.said or use.asked)),
        math.exp(-age / _FADES_AFTER),
        float(term.rsplit("/", 1)[-1] in work.names),
        len(parts & work.parts) / len(parts) if parts else 0.0,
        len(parts & work.asked) / len(parts) if parts else 0.0,
    )


def _parts_of(text: str) -> set[str]:
    """The words of a text and of its names: `loadConfig` and `load_config` consist of load and config."""
    return {part.lower().rstrip("s") for part in _PART.findall(text)}


def likely_lines(
    lines: Collection[EvidenceLine], weights: Mapping[str, float], most: int = _MAX_LINES
) -> Collection[EvidenceLine]:
    """All lines; if there are too many, the best two of each of the most likely terms. In original order."""
    if len(lines) <= most:
        return lines
    unsaid = 1 - line_weights().said_share
    every = list(lines)
    gains = (sum(weights.get(term, 0.0) for term in line.terms) for line in every)
    worth = [
        gain * (1 if line.says else unsaid) / (len(line.text) + 1)
        for gain, line in zip(gains, every, strict=True)
    ]
    seen: dict[str, int] = {}
    taken: list[int] = []
    for number in sorted(range(len(every)), key=worth.__getitem__, reverse=True):
        line = every[number]
        if any(seen.get(term, 0) < _LINES_OF_A_TERM for term in line.terms):
            for term in line.terms:
                seen[term] = seen.get(term, 0) + 1
            taken.append(number)
            if len(taken) == most:
                break
    explaining = {every[number].context for number in taken} - {""}
    chosen = set(taken).union(number for number, line in enumerate(every) if line.text in explaining)
    return [every[number] for number in sorted(chosen)]


def choose(
    entries: Sequence[LedgerEntry],
    weights: Mapping[str, float],
    budget: int,
    first: Iterable[LedgerEntry] = (),
    first_budget: int = 0,
    covered: Mapping[str, bool] | None = None,
) -> list[LedgerEntry]:
    """The chosen entries within about `budget` tokens, in their original order.

    Constraints are chosen before all others, then `first` up to `first_budget`. `covered` are the terms of a model's
    text, and whether plain words explain them there.
    """
    basket = _Selection(entries, weights, covered or {})
    ruled = [entry for entry in entries if entry.section == CONSTRAINTS]
    basket.fill((entry for entry in ruled if entry.value >= MUST), budget)
    basket.fill(list(first), min(basket.used + first_budget, budget))
    needed = sorted(
        (entry for entry in entries if entry.value >= MUST and not entry.parent),
        key=lambda entry: -entry.value,
    )
    basket.fill(needed, basket.used + int((budget - basket.used) * _MUST_SHARE))
    wished = sorted(
        (entry for entry in ruled if entry.value < MUST), key=lambda one: (-one.value, -one.order)
    )
    basket.fill(wished, basket.used + int((budget - basket.used) * _WISHES_SHARE))
    basket.fill_best(entries, budget)
    return [entry for entry in entries if entry in basket.chosen]


class _Selection:
    """The entries chosen so far, their cost, and the terms they cover."""

    def __init__(
        self, entries: Sequence[LedgerEntry], weights: Mapping[str, float], covered: Mapping[str, bool]
    ) -> None:
        self.chosen: set[LedgerEntry] = set()
        self.used = 0
        self._costs: dict[str, int] = {}
        self._weights = weights
        self._said = line_weights().said_share
        self._items = {entry.key: entry for entry in entries if entry.key}
        self._quoted = {(entry.parent, entry.line.text): entry for entry in entries if entry.line}
        self._explained_by: dict[LedgerEntry, list[LedgerEntry]] = {}
        for entry in entries:
            context = self._context_of(entry)
            if context is not None:
                self._explained_by.setdefault(context, []).append(entry)
        self._labelled: set[LedgerEntry] = (
            set()
        )  # items with quotes, which go to the evidence under the item's label
        self._quotes: dict[tuple[str, str], LedgerEntry] = {}  # those chosen, by item and text
        self._covered = dict(covered)  # term -> whether plain words explain it

    def fill(self, entries: Iterable[LedgerEntry], limit: int) -> None:
        """Take entries in order while they fit."""
        for entry in entries:
            self._take_if_fits(entry, limit)

    def fill_best(self, entries: Sequence[LedgerEntry], limit: int) -> None:
        """Repeatedly take the entry with the highest gain per token; gains only decrease."""
        waiting = [
            (-worth, number)
            for number, entry in enumerate(entries)
            if entry not in self.chosen and (worth := self._worth(entry)) > 0
        ]
        heapq.heapify(waiting)
        numbers = {entry: number for number, entry in enumerate(entries) if entry.line and entry.line.context}
        while waiting and self.used < limit:
            claimed, number = heapq.heappop(waiting)
            worth = self._worth(entries[number])
            if worth <= 0 or entries[number] in self.chosen:
                continue
            if worth < -claimed * 0.999:
                heapq.heappush(waiting, (-worth, number))
                continue
            for cheaper in self._take(entries[number], limit):
                heapq.heappush(waiting, (-self._worth(cheaper), numbers[cheaper]))

    def _take(self, entry: LedgerEntry, limit: int) -> list[LedgerEntry]:
        """Take an entry, with the line that explains it if that pays off; return the lines that cost less now."""
        context = self._context_of(entry)
        if context is not None and context not in self.chosen and self._pays_off(entry, context):
            self._take_if_fits(context, limit)
        self._take_if_fits(entry, limit)
        explaining = [one for one in (entry, context) if one in self.chosen and one is not None]
        return [line for one in explaining for line in self._explained_by.pop(one, ())]

    def _take_if_fits(self, entry: LedgerEntry, limit: int) -> None:
        if entry in self.chosen or self.used + self._cost(entry) > limit:
            return
        self.used += self._cost(entry)
        self._drop_parts(entry)
        item = self._items.get(entry.parent)
        if item is not None:
            self._labelled.add(item)
        self._add(entry)
        if item is not None:
            self._add(item)

    def _add(self, entry: LedgerEntry) -> None:
        says = entry.says or self._context_of(entry) in self.chosen
        self.chosen.add(entry)
        for term in entry.terms:
            self._covered[term] = self._covered.get(term, False) or says
        if says and entry.parent in self._items:  # a quote explains the file or command above it
            self._covered.update(dict.fromkeys(self._items[entry.parent].terms, True))
        for one in self._explained_by.get(entry, ()):
            if one in self.chosen:
                self._covered.update(dict.fromkeys(one.terms, True))

    def _context_of(self, entry: LedgerEntry) -> LedgerEntry | None:
        """The quote that explains another one of the same item."""
        if entry.line is None or not entry.line.context:
            return None
        return self._quoted.get((entry.parent, entry.line.context))

    def _drop_parts(self, entry: LedgerEntry) -> None:
        """Remove single quotes of two adjacent lines that are now quoted together."""
        if not entry.parent:
            return
        parts = entry.text.removeprefix(QUOTE).split(JOINT)
        for part in parts if len(parts) > 1 else ():
            alone = self._quotes.pop((entry.parent, part), None)
            if alone is not None:
                self.chosen.discard(alone)
                self.used -= self._tokens(alone.text)
        self._quotes[entry.parent, entry.text.removeprefix(QUOTE)] = entry

    def _worth(self, entry: LedgerEntry) -> float:
        """The gain of an entry per token; a quote includes its item, and the line that explains it."""
        context = self._context_of(entry)
        if context is None or context in self.chosen:
            return self._worth_of(entry, context is not None)
        return max(self._worth_of(entry), self._worth_with(entry, context))

    def _pays_off(self, entry: LedgerEntry, context: LedgerEntry) -> bool:
        return self._worth_with(entry, context) > self._worth_of(entry)

    def _worth_with(self, entry: LedgerEntry, context: LedgerEntry) -> float:
        cost = self._tokens(context.text)
        own = self._cost(entry)
        return (self._worth_of(entry, is_explained=True) * own + self._gain(context)) / (own + cost)

    def _worth_of(self, entry: LedgerEntry, is_explained: bool = False) -> float:
        gain = self._gain(entry, is_explained)
        item = self._items.get(entry.parent)
        if item is not None and item not in self.chosen:
            gain += self._gain(item, entry.says or is_explained)
        elif item is not None and (entry.says or is_explained):
            gain += sum(
                self._said * self._weights.get(term, 0.0)
                for term in item.terms
                if self._covered.get(term) is False
            )
        return gain / self._cost(entry)

    def _gain(self, entry: LedgerEntry, is_explained: bool = False) -> float:
        says = entry.says or is_explained
        gain = entry.value
        for term in entry.terms:
            weight = self._weights.get(term, 0.0)
            covered = self._covered.get(term)
            if covered is None:
                gain += weight if says else weight * (1 - self._said)
            elif not covered and says:
                gain += weight * self._said
        return gain

    def _cost(self, entry: LedgerEntry) -> int:
        item = self._items.get(entry.parent)
        cost = self._tokens(entry.text)
        if item is not None and item not in self.chosen:
            cost += self._tokens(item.text)
        if item is not None and item.value >= MUST and item not in self._labelled:
            cost += self._tokens(item.label)
        return cost

    def _tokens(self, text: str) -> int:
        known = self._costs.get(text)
        if known is None:
            known = self._costs[text] = estimate_tokens(text) + 1
        return known
