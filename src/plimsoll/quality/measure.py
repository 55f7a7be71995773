"""One compaction measured: what was needed and stated, and what of it is left.

    history + continuation ──► prepare ──► Prepared ─┐
    history ──► any compactor ──► result ────────────┴► measure ──► Measured

Preparing reads the whole conversation and is done once for each cut; measuring reads only the result. Nothing here
asks a model, reads a clock or a file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from plimsoll.messages import Message, Violation, Wire, validate
from plimsoll.quality.fabricated import fabrications
from plimsoll.quality.needed import Grade, Needed, grade, needed_facts
from plimsoll.quality.stated import Stated, kept, stated_facts
from plimsoll.quality.terms import Reading
from plimsoll.quality.texts import joined, tokens


@dataclass(frozen=True, slots=True)
class MeasurementCase:
    """What is looked for behind one cut."""

    tokens: int
    messages: int
    needed: tuple[Needed, ...]
    stated: tuple[Stated, ...]

    @property
    def far(self) -> int:
        """How many needed facts are absent from the last messages; without any there is nothing to measure."""
        return sum(fact.is_far for fact in self.needed)


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a compactor left of it."""

    prepared: MeasurementCase
    tokens: int
    messages: int
    grades: tuple[Grade, ...]
    stated: tuple[tuple[Stated, bool], ...]
    violations: tuple[Violation, ...]
    fabricated: tuple[str, ...]


def prepare(
    history: Sequence[Message], continuation: Sequence[Message], generic: frozenset[str] = frozenset()
) -> MeasurementCase:
    """Everything that can be known before anybody compacts."""
    needed = tuple(needed_facts(history, continuation, generic))
    return MeasurementCase(tokens(history), len(history), needed, tuple(stated_facts(history)))


def measure(
    prepared: MeasurementCase,
    history: Sequence[Message],
    result: Sequence[Message],
    own: frozenset[str] = frozenset(),
) -> Measurement:
    """What of it stands in the result, and whether both kinds of provider would take it."""
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
