"""Measures one compaction: which needed and stated facts are left.

    history + continuation ──► prepare ──► MeasurementCase ─┐
    history ──► any compactor ──► result ───────────────────┴► measure ──► Measurement

`prepare` reads the whole conversation and runs once per cut; `measure` reads only the result. Nothing here calls a
model or reads a clock or a file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from plimsoll.messages import Message, Violation, Wire, validate
from plimsoll.quality.fabricated import fabrications
from plimsoll.quality.needed import FactGrade, NeededFact, grade, needed_facts
from plimsoll.quality.stated import StatedFact, kept, stated_facts
from plimsoll.quality.terms import Reading
from plimsoll.quality.texts import joined, tokens


@dataclass(frozen=True, slots=True)
class MeasurementCase:
    """The facts that one cut is measured by."""

    tokens: int
    messages: int
    needed: tuple[NeededFact, ...]
    stated: tuple[StatedFact, ...]

    @property
    def far(self) -> int:
        """The number of needed facts that the last messages do not contain; if 0, there is nothing to measure."""
        return sum(fact.is_far for fact in self.needed)


@dataclass(frozen=True, slots=True)
class Measurement:
    """The result of measuring one compaction."""

    prepared: MeasurementCase
    tokens: int
    messages: int
    grades: tuple[FactGrade, ...]
    stated: tuple[tuple[StatedFact, bool], ...]
    violations: tuple[Violation, ...]
    fabricated: tuple[str, ...]


def prepare(
    history: Sequence[Message], continuation: Sequence[Message], generic: frozenset[str] = frozenset()
) -> MeasurementCase:
    """Collect everything that does not depend on the compaction."""
    needed = tuple(needed_facts(history, continuation, generic))
    return MeasurementCase(tokens(history), len(history), needed, tuple(stated_facts(history)))


def measure(
    prepared: MeasurementCase,
    history: Sequence[Message],
    result: Sequence[Message],
    own: frozenset[str] = frozenset(),
) -> Measurement:
    """Check which facts the result contains, and whether both wire formats accept it."""
    context = Reading(joined(result))
    found = kept(prepared.stated, context)
    both = {(v.index, v.code): v for wire in get_args(Wire) for v in validate(result, wire)}
    return Measurement(
        prepared,
        tokens(result),
        len(result),
        tuple(grade(prepared.needed, context)),
        tuple(zip(prepared.stated, found, strict=True)),
        tuple(both.values()),
        tuple(fabrications(history, result, own)),
    )
