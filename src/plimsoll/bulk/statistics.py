"""The statistics page at the end of a run, from its report and its rejects.

Both files are read once, line by line. Only numbers are kept, eight bytes per value and row.
"""

import json
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_SIZES = ("tokens_before", "tokens_after", "messages_before", "messages_after")
_MAX_REASONS = 20  # of rejected rows and failed summaries on the page
_NUMBER = re.compile(r"\d[\d,]*")
_PERCENTILES = (0, 5, 50, 95, 100)


def statistics_page(report: Path, rejects: Path) -> str:
    """The page as Markdown."""
    counts = _Counts()
    for row in _lines(report):
        counts.take(row)
    reasons = Counter(_kind_of(row) for row in _lines(rejects))
    return (
        "\n".join([*_overview(counts, reasons), *_sizes(counts), *_survival(counts), *_rejects(reasons)])
        + "\n"
    )


class _Counts:
    """The sums over the rows of the report."""

    def __init__(self) -> None:
        self.rows = self.invalid = self.invented = self.examples = self.compactions = 0
        self.outcomes: Counter[str] = Counter()
        self.formats: Counter[str] = Counter()
        self.sources: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.sizes = {(name, kind): array("q") for name in _SIZES for kind in ("all", "compacted")}
        self.stated = array("d")
        self.kinds: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])  # sum, rows

    def take(self, row: dict[str, Any]) -> None:
        self.rows += 1
        self.invalid += not row["valid"]
        self.examples += row.get("examples", 0)
        self.compactions += row["compactions"]
        self.outcomes[row["outcome"]] += 1
        self.formats[row["format"]] += 1
        self.failures.update(row["summary_failures"])
        if row["summary_source"]:
            self.sources[row["summary_source"]] += 1
        for name in _SIZES:
            self.sizes[name, "all"].append(row[name])
            if row["compactions"]:
                self.sizes[name, "compacted"].append(row[name])
        survived = row["survived"]
        if survived:
            self.invented += survived["invented"]
            if survived["stated"] is not None:
                self.stated.append(survived["stated"])
            for kind, share in survived["kinds"].items():
                self.kinds[kind][0] += share
                self.kinds[kind][1] += 1


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as handle:
        yield from map(json.loads, handle)


def _kind_of(reject: dict[str, Any]) -> str:
    """The reason without position and numbers, so that equal ones are counted together."""
    reason = str(reject["reason"]).replace(str(reject["source"]), "")
    for prefix in (f": line {reject['row']}", f": row {reject['row']}"):
        reason = reason.replace(prefix, "")
    return _NUMBER.sub("N", reason).strip(": ")[:160]


def _overview(counts: _Counts, reasons: "Counter[str]") -> Iterator[str]:
    before, after = sum(counts.sizes["tokens_before", "all"]), sum(counts.sizes["tokens_after", "all"])
    rejected = reasons.total()
    yield "# Bulk compaction\n"
    yield "| | |\n|---|--:|"
    yield f"| rows | {counts.rows + rejected:,} |"
    yield from (f"| {outcome} | {count:,} |" for outcome, count in sorted(counts.outcomes.items()))
    yield f"| rejected | {rejected:,} |"
    yield f"| compactions | {counts.compactions:,} |"
    if counts.examples:
        yield f"| training examples | {counts.examples:,} |"
    yield f"| not valid for their API | {counts.invalid:,} |"
    yield f"| tokens before (estimate) | {before:,} |"
    share = f" ({after / before:.1%})" if before else ""
    yield f"| tokens after{' (last examples)' if counts.examples else ''} | {after:,}{share} |"
    names = {"deterministic": "code", "model": "a model"}
    for source, count in sorted(counts.sources.items()):
        yield f"| rows summarised by {names.get(source, source)} | {count:,} |"
    for name, count in sorted(counts.formats.items()):
        yield f"| rows read as {name} | {count:,} |"
    yield ""
    if counts.failures:
        yield "## Summary model failures\n\n| rows | reason |\n|--:|---|"
        for reason, count in counts.failures.most_common(_MAX_REASONS):
            yield f"| {count:,} | {_cell(reason)} |"
        yield ""


def _sizes(counts: _Counts) -> Iterator[str]:
    yield "## Sizes\n\n| | least | 5 % | median | 95 % | most |\n|---|--:|--:|--:|--:|--:|"
    for kind, of in (("all", ""), ("compacted", ", compacted rows")):
        for name in _SIZES:
            values = sorted(counts.sizes[name, kind])
            if values:
                cells = " | ".join(f"{_percentile(values, share):,}" for share in _PERCENTILES)
                yield f"| {name.replace('_', ' ')}{of} | {cells} |"
    yield ""


def _survival(counts: _Counts) -> Iterator[str]:
    if not counts.stated:
        return
    values = sorted(counts.stated)
    yield "## What survived\n"
    yield "Share of a conversation's stated facts that the compacted one still has, measured as by `plimsoll bench`."
    yield "\n| | mean | 5 % | median |\n|---|--:|--:|--:|"
    mean = sum(values) / len(values)
    yield f"| weighted over kinds | {mean:.1%} | {_percentile(values, 5):.1%} | {_percentile(values, 50):.1%} |"
    for kind, (total, rows) in sorted(counts.kinds.items()):
        yield f"| {kind} | {total / rows:.1%} | | |"
    yield f"\nIdentifiers in results that were never in their conversation: {counts.invented:,}.\n"


def _rejects(reasons: "Counter[str]") -> Iterator[str]:
    if not reasons:
        return
    yield "## Rejected rows\n\n| rows | reason |\n|--:|---|"
    for reason, count in sorted(reasons.most_common(_MAX_REASONS), key=lambda item: (-item[1], item[0])):
        yield f"| {count:,} | {_cell(reason)} |"
    if len(reasons) > _MAX_REASONS:
        yield f"\n{len(reasons) - _MAX_REASONS:,} more reasons are in rejects.jsonl."


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _percentile(values: Sequence[Any], share: int) -> Any:
    return values[min(len(values) - 1, round(share / 100 * (len(values) - 1)))]
