"""Aggregates the measurements of many compactions.

Shares are over all facts of all cuts, so a cut with many facts has more weight; `stated` is the weighted mean over
kinds. Thirds divide a history by characters: a fact is early if it was last stated in the first third.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from plimsoll.quality.measure import Measurement
from plimsoll.quality.needed import FactGrade
from plimsoll.quality.stated import StatedFact, weighted

THIRDS = ("early", "middle", "late")


@dataclass(frozen=True, slots=True)
class QualityFigures:
    """One row of a results table; a share is None if there is nothing to count."""

    cuts: int
    tokens_before: float
    tokens: float
    far_facts: int
    far_present: float | None
    far_grounded: float | None
    near_facts: int
    near_present: float | None
    near_grounded: float | None
    stated: float | None
    kinds: dict[str, float]
    counts: dict[str, int]
    thirds_stated: dict[str, float]
    thirds_grounded: dict[str, float]
    valid: float
    fabrications: int


def figures(measured: Sequence[Measurement]) -> QualityFigures:
    """The figures of several cuts."""
    grades = [grade for measurement in measured for grade in measurement.grades]
    far = [grade for grade in grades if grade.fact.is_far]
    near = [grade for grade in grades if not grade.fact.is_far]
    stated = [pair for measurement in measured for pair in measurement.stated]
    kinds = shares(stated)
    far_present, far_grounded = _kept(far)
    near_present, near_grounded = _kept(near)
    count = len(measured) or 1
    return QualityFigures(
        cuts=len(measured),
        tokens_before=sum(measurement.prepared.tokens for measurement in measured) / count,
        tokens=sum(measurement.tokens for measurement in measured) / count,
        far_facts=len(far),
        far_present=far_present,
        far_grounded=far_grounded,
        near_facts=len(near),
        near_present=near_present,
        near_grounded=near_grounded,
        stated=weighted(kinds) if kinds else None,
        kinds=kinds,
        counts=_counts(stated),
        thirds_stated=_thirds_stated(stated),
        thirds_grounded=_thirds_grounded(far),
        valid=sum(not measurement.violations for measurement in measured) / count,
        fabrications=sum(len(measurement.fabricated) for measurement in measured),
    )


def share(found: Iterable[bool]) -> float | None:
    """The share of true values; None if there are none."""
    values = list(found)
    return sum(values) / len(values) if values else None


def shares(stated: Iterable[tuple[StatedFact, bool]]) -> dict[str, float]:
    """The share of kept facts, by kind."""
    found: dict[str, list[bool]] = defaultdict(list)
    for fact, is_kept in stated:
        found[fact.kind].append(is_kept)
    return {kind: sum(values) / len(values) for kind, values in sorted(found.items())}


def third_of(at: float) -> str:
    """The third of the history that contains a position."""
    return THIRDS[min(2, int(at * 3))]


def _kept(grades: Sequence[FactGrade]) -> tuple[float | None, float | None]:
    """The shares that are present and grounded."""
    return share(grade.is_present for grade in grades), share(grade.is_grounded for grade in grades)


def _counts(stated: Iterable[tuple[StatedFact, bool]]) -> dict[str, int]:
    return dict(sorted(Counter(fact.kind for fact, _ in stated).items()))


def _thirds_stated(stated: Sequence[tuple[StatedFact, bool]]) -> dict[str, float]:
    parts = {name: [pair for pair in stated if third_of(pair[0].at) == name] for name in THIRDS}
    return {name: weighted(shares(part)) for name, part in parts.items() if part}


def _thirds_grounded(far: Sequence[FactGrade]) -> dict[str, float]:
    parts = {name: share(g.is_grounded for g in far if third_of(g.fact.last_at) == name) for name in THIRDS}
    return {name: part for name, part in parts.items() if part is not None}
