"""The frameworks' own compaction beside our adapters: the same cut, the same window, the same recorded summary.

    history up to a cut ──► the framework's own compaction      asks a summary model, which says what was recorded
                        ──► the core of our adapters            the same

python bench/quality/frameworks.py [--cuts 12]      prints, and writes bench/results/frameworks.json and the page

The tests of the adapters show that every adapter sends what the core makes, so the core is measured, once for all.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from client import Peer
from corpus import DATA, ROOT, Cut, generic_terms, recorded_cuts, sample
from ours import Recorded
from pins import PINS

import money
from plimsoll.integrations import ChatCodec, HistoryCompactor
from plimsoll.quality import MeasurementCase, figures, measure, prepare, share

FRAMEWORKS = ("langchain", "pydantic-ai", "adk", "strands", "agent-framework")
WINDOW = 64_000
RESULT = ROOT / "bench" / "results" / "frameworks.json"
PAGE = ROOT / "docs" / "benchmarks" / "frameworks.md"
TEMPLATE = Path(__file__).with_name("frameworks.md")
SHARES = ("far facts grounded", "outcomes true", "constraints in force", "valid")
NUMBERS = ("tokens", "USD", "seconds", "summary calls")


def ours(cut: Cut) -> dict[str, Any]:
    """What an adapter sends at this cut."""
    writer = Recorded(cut.summary or "")
    with HistoryCompactor(window=WINDOW, summarizer=writer) as history:
        started = time.perf_counter()
        view = history.view(ChatCodec(), cut.history, force=True)
        seconds = time.perf_counter() - started
    return {"messages": view.canonical, "seconds": seconds, "summary_calls": writer.calls, "error": None}


def row(
    cuts: Sequence[Cut], cases: Sequence[MeasurementCase], answers: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """The figures of one compactor over all cuts."""
    measured = [
        measure(case, cut.history, answer["messages"])
        for cut, case, answer in zip(cuts, cases, answers, strict=True)
    ]
    found = figures(measured)
    stated = [pair for one in measured for pair in one.stated]
    costs = [
        money.after(cut, one["messages"], one["summary_calls"])
        for cut, one in zip(cuts, answers, strict=True)
    ]
    return {
        "far facts grounded": found.far_grounded,
        "outcomes true": share(kept for fact, kept in stated if fact.kind in ("command", "test")),
        "constraints in force": share(kept for fact, kept in stated if fact.kind == "constraint"),
        "valid": found.valid,
        "tokens": round(found.tokens),
        "USD": round(mean(costs), 3),
        "seconds": round(median(one["seconds"] for one in answers), 2),
        "summary calls": round(mean(len(one["summary_calls"]) for one in answers), 1),
        "errors": sum(one["error"] is not None for one in answers),
    }


def run(cuts: Sequence[Cut], generic: frozenset[str]) -> dict[str, Any]:
    """Every framework, and the adapters."""
    cases = [prepare(cut.history, cut.continuation, generic) for cut in cuts]
    rows = {"Plimsoll's adapters": row(cuts, cases, [ours(cut) for cut in cuts])}
    for name in FRAMEWORKS:
        with Peer(name) as peer:
            answers = [peer.compact(cut.history, WINDOW, None, cut.summary) for cut in cuts]
        rows[PINS[name]] = row(cuts, cases, answers)
        print(PINS[name], rows[PINS[name]], flush=True)
    before = round(mean(case.tokens for case in cases))
    return {"cuts": len(cuts), "window": WINDOW, "tokens_before": before, "rows": rows}


def page(found: dict[str, Any]) -> str:
    """The page of the documentation."""
    lines = ["| " + " | ".join(("compactor", *SHARES, *NUMBERS)) + " |"]
    lines += ["|---" + "|--:" * (len(SHARES) + len(NUMBERS)) + "|"]
    for name, one in found["rows"].items():
        shown = [_percent(one[key]) for key in SHARES]
        shown += [
            f"{one['tokens']:,}",
            f"{one['USD']:.2f}",
            f"{one['seconds']:.2f}",
            str(one["summary calls"]),
        ]
        lines.append(f"| {name} | {' | '.join(shown)} |")
    text = TEMPLATE.read_text("utf-8")
    facts = {"cuts": found["cuts"], "window": f"{found['window']:,}", "before": f"{found['tokens_before']:,}"}
    return text.format(table="\n".join(lines), **facts)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description="The frameworks' own compaction beside our adapters.")
    parser.add_argument("--cuts", type=int, default=12, help="recorded compactions to measure")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the recorded conversations")
    given = parser.parse_args()
    found = run(sample(recorded_cuts(given.data), given.cuts), generic_terms(given.data))
    RESULT.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(found), "utf-8")
    print(page(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
