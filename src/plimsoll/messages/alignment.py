"""Aligns one list with another, in order.

    places    0  1  2  3  4  5
    fits      {1, 3, 5}  {}  {1, 3, 5}  {5}      where each entry may have stood
    chain        1       -       3       5

A chain is ascending and takes no place twice. Of all chains the one counts with the most
surest fits, then with the most fits, then with the surer ones, then with the most pairs
of neighbours that were neighbours before; of equal ones the one nearest to the end.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class AlignmentCandidate(NamedTuple):
    """A place where an entry may have stood; 3 is certain, 2 likely, 1 possible."""

    place: int
    surety: int


class _Step(NamedTuple):
    """The best chain that begins with an entry at a place; the greater of two is the better one."""

    score: int
    place: int
    entry: int


Link: TypeAlias = tuple[int, int]  # an entry and its place


def best_alignment(fits: Sequence[Sequence[AlignmentCandidate]], places: range) -> list[int | None]:
    """For each entry its place in the best chain; None for those that are not in it."""
    weights = _weights(len(fits))
    tree = _Highest(places)
    scores: dict[Link, int] = {}
    following: dict[Link, Link | None] = {}
    for entry in range(len(fits) - 1, -1, -1):
        steps = []
        for place, surety in fits[entry]:
            later = tree.behind(place)
            score, then = (later.score, (later.entry, later.place)) if later else (0, None)
            neighbour = (entry + 1, place + 1)
            if neighbour in scores and scores[neighbour] + 1 > score:
                score, then = scores[neighbour] + 1, neighbour
            elif neighbour == (len(fits), places.stop) and score == 0:
                score = 1  # the end is a neighbour too
            score += weights[surety] + (entry == 0 and place == places.start)
            steps.append(_Step(score, place, entry))
            scores[entry, place], following[entry, place] = score, then
        for step in steps:
            tree.add(step)
    found: list[int | None] = [None] * len(fits)
    first = tree.behind(places.start - 1)
    link = (first.entry, first.place) if first else None
    while link is not None:
        found[link[0]] = link[1]
        link = following[link]
    return found


def _weights(entries: int) -> tuple[int, int, int, int]:
    """What a fit counts by its surety: one of a kind outweighs all of the lesser kinds together."""
    most = entries + 2  # neighbours of a chain, both ends included, and one more
    possible = most * most
    return 0, possible, possible + most, possible * most * 2


class _Highest:
    """The best step after a place: a tree of maxima over the places from the end."""

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

    def behind(self, place: int) -> _Step | None:
        """The best step at a later place than this one."""
        index = self._stop - place - 1
        best: _Step | None = None
        while index > 0:
            known = self._best[index]
            if known is not None and (best is None or best < known):
                best = known
            index -= index & -index
        return best
