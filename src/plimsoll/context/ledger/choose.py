"""Choose the entries that are most likely needed next, within a token budget.

The weight of a term is how likely the agent will need it: typed before, asked for by
the user, seen lately, about what the recent messages are about. Entries are taken by
what they add for each token: a term counts once, and fully only where plain words say
what it is about. What already stands in the messages that stay adds nothing.
"""

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from plimsoll.context.ledger.entries import CONSTRAINTS, MUST, QUOTE, LedgerEntry
from plimsoll.context.ledger.evidence import Evidence, TermUse
from plimsoll.context.ledger.terms import is_name
from plimsoll.models import estimate_tokens

# Of a term's worth, the share that only a line with plain words around it brings.
_SAID_SHARE = 0.40
_MUST_SHARE = 0.6
_LINES_FIRST = 3_500
_NAMES_MOST = 3_500
_NAMES_SHARE = 0.6  # of what is left, for names that no quoted line brings
_MOST_NAMES = 40
_LEAST_LIKELY = 0.02
_LAST = 1 << 40  # behind all quotes
_RECENT = (80.0, 300.0)  # messages after which the two parts of recency have faded to a third


def term_weights(evidence: Evidence, newest: int, kept: AbstractSet[str]) -> dict[str, float]:
    """How likely each term that does not stay in the context anyway is needed next, from 0 to 1."""
    names = {term.rsplit("/", 1)[-1] for term in kept}
    near = _companions(evidence, kept)
    weights = {}
    for term, use in evidence.uses.items():
        if term not in kept:
            related = 0.8 * (term.rsplit("/", 1)[-1] in names) + 0.4 * (term in near)
            weights[term] = _likely(use, newest - use.last, related)
    return weights


def _likely(use: TermUse, age: int, related: float) -> float:
    score = -3.0 + related
    score += 0.9 * math.log1p(use.typed) + 0.5 * math.log1p(use.said) + 1.0 * math.log1p(use.asked)
    score += 0.2 * math.log1p(use.shown)
    score += 1.2 * math.exp(-age / _RECENT[0]) + 0.8 * math.exp(-age / _RECENT[1])
    if not (use.typed or use.said or use.asked):
        score -= 1.2  # only ever shown by a tool
    return 1 / (1 + math.exp(-score))


def _companions(evidence: Evidence, kept: AbstractSet[str]) -> set[str]:
    """Terms that stood on one line with a term of the messages that stay."""
    near: set[str] = set()
    for line in evidence.lines.values():
        if len(line.terms) > 1 and not kept.isdisjoint(line.terms):
            near.update(line.terms)
    return near


def choose(
    entries: Sequence[LedgerEntry],
    weights: Mapping[str, float],
    budget: int,
    first: Iterable[LedgerEntry] = (),
    first_budget: int = 0,
) -> set[LedgerEntry]:
    """The entries to show, of about `budget` tokens.

    Constraints are taken before all others, then `first` up to `first_budget`.
    """
    basket = _Basket(entries, weights)
    basket.fill((entry for entry in entries if entry.section == CONSTRAINTS), budget)
    basket.fill(list(first), min(basket.used + first_budget, budget))
    needed = sorted((entry for entry in entries if entry.value >= MUST), key=lambda entry: -entry.value)
    basket.fill(needed, basket.used + int((budget - basket.used) * _MUST_SHARE))
    # In a small budget every token goes to lines that say something.
    names = min(_NAMES_MOST, int(max(0, budget - _LINES_FIRST) * _NAMES_SHARE))
    basket.fill_best(entries, budget - names)
    basket.fill(_names(entries, weights, basket), budget)
    basket.fill_best(entries, budget)
    return basket.chosen


def _names(
    entries: Sequence[LedgerEntry], weights: Mapping[str, float], basket: "_Basket"
) -> Iterator[LedgerEntry]:
    """For each file or run, one line of the names in it that nothing else mentions, likeliest first."""
    missing: dict[str, dict[str, None]] = {}
    for entry in entries:
        if entry.parent:
            for term in entry.terms:
                if weights.get(term, 0.0) > _LEAST_LIKELY and not basket.covers(term) and is_name(term):
                    missing.setdefault(entry.parent, {})[term] = None
    told: set[str] = set()
    lines: list[tuple[float, LedgerEntry]] = []
    for parent, found in missing.items():
        names = sorted((term for term in found if term not in told), key=lambda term: -weights[term])[
            :_MOST_NAMES
        ]
        item = basket.item(parent)
        if len(names) < 2 or item is None:
            continue
        told.update(names)
        text = f"{QUOTE}also names {', '.join(names)}"
        worth = sum(weights[name] for name in names) / len(text)
        lines.append((worth, LedgerEntry(item.section, text, _LAST, 0.0, tuple(names), False, parent=parent)))
    return (entry for _, entry in sorted(lines, key=lambda line: -line[0]))


class _Basket:
    """What was chosen so far, what it costs, and which terms it covers."""

    def __init__(self, entries: Sequence[LedgerEntry], weights: Mapping[str, float]) -> None:
        self.chosen: set[LedgerEntry] = set()
        self.used = 0
        self._costs: dict[str, int] = {}
        self._weights = weights
        self._items = {entry.key: entry for entry in entries if entry.key}
        self._labelled: set[LedgerEntry] = (
            set()
        )  # items with quotes, which stand under the item's label as evidence
        self._covered: dict[str, bool] = {}  # term -> whether plain words stand around it

    def covers(self, term: str) -> bool:
        """Whether something chosen mentions a term."""
        return term in self._covered

    def item(self, key: str) -> LedgerEntry | None:
        """The item of this key."""
        return self._items.get(key)

    def fill(self, entries: Iterable[LedgerEntry], limit: int) -> None:
        """Take entries in order while they fit."""
        for entry in entries:
            self._take_if_fits(entry, limit)

    def fill_best(self, entries: Sequence[LedgerEntry], limit: int) -> None:
        """Take whatever adds most for its tokens, again and again; what entries add only ever falls."""
        waiting = [
            (-worth, number)
            for number, entry in enumerate(entries)
            if entry not in self.chosen and (worth := self._worth(entry)) > 0
        ]
        heapq.heapify(waiting)
        while waiting and self.used < limit:
            claimed, number = heapq.heappop(waiting)
            worth = self._worth(entries[number])
            if worth <= 0:
                continue
            if worth < -claimed * 0.999:
                heapq.heappush(waiting, (-worth, number))
                continue
            self._take_if_fits(entries[number], limit)

    def _take_if_fits(self, entry: LedgerEntry, limit: int) -> None:
        if entry in self.chosen or self.used + self._cost(entry) > limit:
            return
        self.used += self._cost(entry)
        item = self._items.get(entry.parent)
        if item is not None:
            self._labelled.add(item)
        for taken in (entry, item):
            if taken is not None and taken not in self.chosen:
                self.chosen.add(taken)
                for term in taken.terms:
                    self._covered[term] = self._covered.get(term, False) or taken.says

    def _worth(self, entry: LedgerEntry) -> float:
        """What an entry adds for each token; a quote brings its item along."""
        gain = self._gain(entry)
        item = self._items.get(entry.parent)
        if item is not None and item not in self.chosen:
            gain += self._gain(item)
        return gain / self._cost(entry)

    def _gain(self, entry: LedgerEntry) -> float:
        gain = entry.value
        for term in entry.terms:
            weight = self._weights.get(term, 0.0)
            covered = self._covered.get(term)
            if covered is None:
                gain += weight if entry.says else weight * (1 - _SAID_SHARE)
            elif not covered and entry.says:
                gain += weight * _SAID_SHARE
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
