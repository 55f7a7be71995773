"""Plimsoll as it is measured: settings for a budget, and the recorded summaries in the place of a model.

    budget 11 000 ──► search target_tokens ──► mean size ≤ 11 000

A budget is a mean over all cuts, in characters / 4, at a window of 64 000 tokens. The search begins on a sample of
them and ends on all. It is kept as long as the engine's source stays the same.
"""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from typing import Any

from corpus import ROOT, Cut
from peer_runs import CACHE

from plimsoll import ContextCompressor
from plimsoll.quality import SizeSettings, fit, tokens

WINDOW = 64_000
BUDGETS = (8_000, 11_000, 16_000, 20_000, 32_000)
NEAR = 0.005  # of a budget may be missing
Message = dict[str, Any]


@dataclass(slots=True)
class Recorded:
    """A summarizer that says what a real model once wrote here, under the headings that it is asked for."""

    summary: str
    context_length: int = 200_000
    calls: list[dict[str, int]] = field(default_factory=list)

    def summarize(self, prompt: str, max_tokens: int) -> str:
        """The recorded words, whatever is asked."""
        del max_tokens
        said = under_headings(self.summary)
        self.calls.append({"input_chars": len(prompt), "output_chars": len(said)})
        return said


def engine(knobs: SizeSettings = SizeSettings(), summarizer: Recorded | None = None) -> ContextCompressor:  # noqa: B008
    """A fresh engine with these settings."""
    return ContextCompressor(
        context_length=WINDOW,
        target_ratio=knobs.target_ratio,
        protect_last_n=knobs.protect_last_n,
        target_tokens=knobs.target_tokens,
        summarizer=summarizer,
    )


def compacted(knobs: SizeSettings, history: list[Message]) -> list[Message]:
    """One compaction without a model."""
    return engine(knobs).compress(history)


_NUMBERED = re.compile(r"^\s{0,3}(?:#+ )?\**\d+\. \**(?P<title>[A-Z][A-Za-z ]+?)\**:\**", re.MULTILINE)
_PLACES = (
    ("Goal", ("primary request",)),
    ("Constraints & Preferences", ("all user messages",)),
    ("Progress\n### Done", ("errors", "problem solving")),
    ("### In Progress", ("current work",)),
    ("Key Decisions", ("key technical",)),
    ("Relevant Files", ("files",)),
    ("Next Steps", ("pending", "optional next", "next step")),
)


def under_headings(summary: str) -> str:
    """The recorded summary under the headings that Plimsoll's prompt asks for; its words stay as they are.

    The recorded agent numbered its sections; whatever stands before them was its scratch paper.
    """
    body = summary.rpartition("\nSummary:")[2]
    marks = list(_NUMBERED.finditer(body))
    if not marks:
        return f"## Goal\n{body.strip()[:600]}\n\n## Progress\n### Done\n{body.strip()}"
    ends = [mark.start() for mark in marks[1:]] + [len(body)]
    parts = [
        (mark["title"].lower(), body[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)
    ]
    lines = []
    for heading, names in _PLACES:
        said = "\n".join(text for title, text in parts if title.startswith(names))
        lines.append(f"{'' if heading.startswith('#') else '## '}{heading}\n{said or '(none)'}")
    return "\n\n".join(lines)


def calibrated(
    every: Sequence[Cut], most: int, pool: Executor, tick: Callable[[], None]
) -> dict[int, SizeSettings]:
    """Settings for every budget, searched on so many of the cuts; `tick` is called after each."""
    place = CACHE / "calibration.json"
    sample = every[:most]
    key = f"{engine_digest()}-{len(sample)}-{len(every)}"
    known = json.loads(place.read_text("utf-8")) if place.exists() else {}
    if known.get("key") == key:
        for _ in BUDGETS:
            tick()
        return {int(budget): SizeSettings(**knobs) for budget, knobs in known["knobs"].items()}
    histories = [cut.history for cut in every]

    @cache
    def mean(knobs: SizeSettings, count: int) -> float:
        return sum(pool.map(partial(_size, knobs), histories[:count])) / count

    found = {}
    for budget in BUDGETS:
        near = fit(lambda knobs: mean(knobs, len(sample)), budget)
        # Where no setting fills a budget, the sample says so too.
        fills = mean(near, len(sample)) > budget * 0.9
        found[budget] = (
            fit(lambda knobs: mean(knobs, len(every)), budget, near.target_tokens, NEAR) if fills else near
        )
        tick()
    CACHE.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps({"key": key, "knobs": {b: asdict(k) for b, k in found.items()}}), "utf-8")
    return found


def _size(knobs: SizeSettings, history: list[Message]) -> int:
    return tokens(compacted(knobs, history))


def engine_digest() -> str:
    """A digest of everything that decides what a compaction leaves."""
    digest = hashlib.sha256()
    for folder in ("context", "messages", "models"):
        for path in sorted((ROOT / "src" / "plimsoll" / folder).rglob("*")):
            if path.suffix in (".py", ".toml", ".md"):
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
