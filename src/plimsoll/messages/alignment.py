"""Aligns one list with another, in order.

    places    0  1  2  3  4  5
    fits      {1, 3, 5}  {}  {1, 3, 5}  {5}      candidate places of each entry
    chain        1       -       3       5

A chain is strictly ascending. The best chain has the most certain fits, then the most fits, then
the highest confidence, then the most pairs of entries that were adjacent before. On a tie, the
chain nearest to the end wins.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class AlignmentCandidate(NamedTuple):
    """A possible place of an entry, with a confidence: 3 is certain, 2 likely, 1 possible."""

    place: int
    confidence: int


class _Step(NamedTuple):
    """The best chain that starts with an entry at a place; the tuple order ranks chains."""

    score: int
    place: int
    entry: int


Link: TypeAlias = tuple[int, int]  # an entry and its place


def best_alignment(candidates: Sequence[Sequence[AlignmentCandidate]], places: range) -> list[int | None]:
    """Return the place of each entry in the best chain; None for entries outside it."""
    weights = _weights(len(candidates))
    tree = _Highest(places)
    scores: dict[Link, int] = {}
    following: dict[Link, Link | None] = {}
    for entry in range(len(candidates) - 1, -1, -1):
        steps = []
        for place, confidence in candidates[entry]:
            later = tree.best_after(place)
            score, next_step = (later.score, (later.entry, later.place)) if later else (0, None)
            neighbour = (entry + 1, place + 1)
            if neighbour in scores and scores[neighbour] + 1 > score:
                score, next_step = scores[neighbour] + 1, neighbour
            elif neighbour == (len(candidates), places.stop) and score == 0:
                score = 1  # ending at the last place counts as adjacent
            score += weights[confidence] + (entry == 0 and place == places.start)
            steps.append(_Step(score, place, entry))
            scores[entry, place], following[entry, place] = score, next_step
        for step in steps:
            tree.add(step)
    found: list[int | None] = [None] * len(candidates)
    first = tree.best_after(places.start - 1)
    link = (first.entry, first.place) if first else None
    while link is not None:
        found[link[0]] = link[1]
        link = following[link]
    return found


def _weights(entries: int) -> tuple[int, int, int, int]:
    """Weights by confidence: one certain fit outweighs any number of less certain ones."""
    unit = entries + 2  # more than the number of adjacent pairs, both ends included
    possible = unit * unit
    return 0, possible, possible + unit, possible * unit * 2


class _Highest:
    """A Fenwick tree of maxima, indexed from the last place, that finds the best step after a place."""

    def __init__(self, places: range) -> None:
        self._stop = places.stop
        self._best: list[_Step | None] = [None] * (len(places) + 1)

    def add(self, step: _Step) -> None:
        index = self._stop - step.place
        while index < len(self._best):
            known = self._best[index]
            if known is None or known < step:
                self._best[index] = step
            index += index & -index

    def best_after(self, place: int) -> _Step | None:
        """Return the best step at a place after this one."""
        index = self._stop - place - 1
        best: _Step | None = None
        while index > 0:
            known = self._best[index]
            if known is not None and (best is None or best < known):
                best = known
            index -= index & -index
        return best
