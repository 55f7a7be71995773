"""What must be reached, and whether it was: the bars of the quality benchmark.

Each bar reads its figure from the results; one that cannot be read was not measured, which is not the same as missed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

Results = Mapping[str, Any]
AT_EQUAL_TOKENS = ("8000", "11000", "16000")
MIN_AHEAD = 0.10
MIN_RATIO = 1.3
# Two shares that differ by less than one fact in fifty are told apart by chance.
SAME = 0.02


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure, what it has to be, and what it is."""

    name: str
    wanted: str
    measured: float | None
    holds: Callable[[float], bool]
    is_out_of_reach: bool = False  # Plimsoll did not come down to the size where this is compared

    @property
    def verdict(self) -> str:
        """held, MISSED, or not measured."""
        if self.is_out_of_reach:
            return "MISSED"
        if self.measured is None:
            return "not measured"
        return "held" if self.holds(self.measured) else "MISSED"


def at_least(name: str, measured: float | None, least: float) -> Bar:
    """A bar that a figure has to reach."""
    return Bar(name, f"≥ {least:g}", measured, lambda value: value >= least - 1e-9)


def at_most(name: str, measured: float | None, most: float) -> Bar:
    """A bar that a figure must not pass."""
    return Bar(name, f"≤ {most:g}", measured, lambda value: value <= most + 1e-9)


def bars(results: Results) -> list[Bar]:
    """Every bar, in the order of the table."""
    return [
        *_far(results),
        *_stated(results),
        *_sound(results),
        *_recorded(results),
        *_against_peers(results),
    ]


def _row(results: Results, name: str, of: str = "code") -> Mapping[str, Any]:
    row: Mapping[str, Any] = results.get("sets", {}).get(of, {}).get(f"plimsoll {name}", {})
    return row


def _far(results: Results) -> Iterator[Bar]:
    eight, eleven, twenty = (_row(results, size) for size in ("8000", "11000", "20000"))
    yield at_most("mean tokens at 8K", eight.get("tokens"), 8_000)
    yield at_least("far facts grounded at 11K", eleven.get("far_grounded"), 0.75)
    yield at_least("far facts present at 11K", eleven.get("far_present"), 0.95)
    yield at_most("mean tokens at 11K", eleven.get("tokens"), 11_000)
    yield at_least("far facts grounded at 20K", twenty.get("far_grounded"), 0.90)
    yield at_most("mean tokens at 20K", twenty.get("tokens"), 20_000)


def _stated(results: Results) -> Iterator[Bar]:
    for row, size in ((_row(results, "own"), "own choice"), (_row(results, "11000"), "11K")):
        yield at_least(f"stated facts, weighted, {size}", row.get("stated"), 0.85)
        thirds = row.get("thirds_stated", {})
        apart = abs(thirds["early"] - thirds["late"]) if {"early", "late"} <= thirds.keys() else None
        yield at_most(f"early against late third, stated, {size}", apart, 0.10)
    yield at_least("stated facts, airline", _row(results, "own", "airline").get("stated"), 0.70)
    yield at_least("stated facts, research", _row(results, "own", "research").get("stated"), 0.70)


def _sound(results: Results) -> Iterator[Bar]:
    rows = [
        row
        for rows in results.get("sets", {}).values()
        for name, row in rows.items()
        if name.startswith("plimsoll")
    ] + [row for name, row in results.get("recorded", {}).items() if name.startswith("plimsoll")]
    yield at_least("reachable, own choice", results.get("reach", {}).get("reachable"), 0.99)
    yield at_most("fabrications, all rows", sum(row["fabrications"] for row in rows) if rows else None, 0)
    yield at_least("validity, all rows", min(row["valid"] for row in rows) if rows else None, 1.0)


def _recorded(results: Results) -> Iterator[Bar]:
    """With a model's summary nothing may be worse than without one."""
    rows = results.get("recorded", {})
    name = "worst kind with summaries against without"
    if not {"plimsoll own", "plimsoll own, no model"} <= rows.keys():
        yield at_least(name, None, -SAME)
        return
    given, without = rows["plimsoll own"], rows["plimsoll own, no model"]
    ahead = {kind: given["kinds"].get(kind, 0.0) - share for kind, share in without["kinds"].items()}
    ahead["far grounded"] = (given["far_grounded"] or 0.0) - (without["far_grounded"] or 0.0)
    worst = min(ahead, key=lambda kind: ahead[kind])
    yield at_least(f"{name} ({worst})", ahead[worst], -SAME)


def _against_peers(results: Results) -> Iterator[Bar]:
    peers: Mapping[str, Any] = results.get("peers", {})
    for budget in AT_EQUAL_TOKENS:
        for kind, said in (("without", "no model"), ("given", "recorded summaries")):
            yield _ahead(peers, budget, kind, said)
    for kind, said in (("without", "no model"), ("given", "recorded summaries")):
        row = peers.get("hermes", {}).get(kind, {}).get("own", {})
        theirs, ours = row.get("far_grounded"), row.get("plimsoll", {}).get("far_grounded")
        ratio = ours / theirs if theirs and ours is not None else None
        yield at_least(f"far grounded in units of hermes', at its tokens, {said}", ratio, MIN_RATIO)


def _ahead(peers: Results, budget: str, kind: str, said: str) -> Bar:
    """How far Plimsoll is ahead of the peer that comes nearest, among those that come down to the budget."""
    at = f"at {int(budget) // 1000}K, {said}"
    rows = {name: row.get(kind, {}).get(budget, {}) for name, row in peers.items()}
    compared = {name: row for name, row in rows.items() if row.get("plimsoll")}
    large = [
        row["plimsoll"]["tokens"]
        for row in compared.values()
        if row["plimsoll"]["tokens"] > int(budget) * 1.02
    ]
    gaps = {name: row["plimsoll"]["far_grounded"] - row["far_grounded"] for name, row in compared.items()}
    nearest = min(gaps, key=lambda name: gaps[name]) if gaps else "none"
    who = f"Plimsoll has {max(large):,.0f} tokens" if large else f"nearest: {nearest}"
    bar = at_least(f"far grounded ahead of every peer {at} ({who})", gaps.get(nearest), MIN_AHEAD)
    return replace(bar, is_out_of_reach=bool(large))
