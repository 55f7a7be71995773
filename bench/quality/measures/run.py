"""What the measures share: how many cuts they take, the processes they use, and a list of what went wrong."""

import random
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TypeVar

from bars import Bar

Item = TypeVar("Item")
Result = TypeVar("Result")


def share(found: Iterable[bool]) -> float | None:
    """The share that is true; None where there are none."""
    every = list(found)
    return sum(every) / len(every) if every else None


def shown(name: str, measured: float | None) -> Bar:
    """A figure without a bar."""
    return Bar(name, "", measured, lambda _: True)


@dataclass(slots=True)
class Run:
    """One call of the command."""

    pool: Executor
    takes_all: bool = False
    at_most: int | None = None  # items of each measure, where somebody says so
    failures: dict[str, list[str]] = field(default_factory=dict)

    def sample(self, items: Sequence[Item], most: int) -> list[Item]:
        """A fixed random part of the items; all of them where everything is measured."""
        most = min(most, self.at_most or most)
        if (self.takes_all and not self.at_most) or len(items) <= most:
            return list(items)
        return random.Random(7).sample(list(items), most)

    def map(self, judge: Callable[[Item], Result], items: Sequence[Item], name: str) -> list[Result]:
        """Every item judged."""
        print(f"{name}: {len(items)}", file=sys.stderr)
        return list(self.pool.map(judge, items))

    def wrong(self, measure: str, name: str, is_wrong: bool) -> None:
        """Note an item that failed a measure."""
        if is_wrong:
            self.failures.setdefault(measure, []).append(name)
