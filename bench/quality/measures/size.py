"""What code adds to a summary that a model wrote: lines and tokens under the headings, and the size of everything."""

from collections.abc import Iterable
from dataclasses import dataclass

import bpe_openai  # type: ignore[import-untyped]
from bars import Bar, at_most
from corpus import DATA, Cut
from measures.far import FILES, recorded_cuts
from measures.run import Run, shown
from measures.summaries import BEYOND, written
from ours import Recorded, under_headings

from plimsoll.quality.handoff import content_words, says

MAX_LINES, MAX_SHARE = 10, 0.15
_WRITTEN_BY_MODEL = 0.85  # share of a line's words in one line of the model


@dataclass(frozen=True, slots=True)
class Added:
    """One recorded summary, and its text under the headings."""

    name: str
    lines: int
    tokens: int
    of: int  # tokens of the model's text
    beyond: int
    source: str


def bars(run: Run) -> list[Bar]:
    """Every recorded summary."""
    cuts = [cut for cut in recorded_cuts(DATA / FILES["Claude Code"][0], "Claude Code") if cut.summary]
    every = run.map(added, run.sample(cuts, 12), "size with a model")
    by_model = [one for one in every if one.source == "model"]
    for one in by_model:
        run.wrong("lines added", f"{one.name}: {one.lines} lines", one.lines > MAX_LINES)
        run.wrong("tokens added", f"{one.name}: {one.tokens}/{one.of}", one.tokens > MAX_SHARE * one.of)
    return [
        at_most(
            f"lines that code adds under the headings, most ({len(by_model)})",
            _most(one.lines for one in by_model),
            MAX_LINES,
        ),
        at_most(
            "tokens that code adds, largest share",
            _most(one.tokens / one.of for one in by_model),
            MAX_SHARE,
        ),
        at_most(
            "tokens beside the fixed part with a model, largest", _most(one.beyond for one in every), BEYOND
        ),
        shown("recorded summaries that were used", len(by_model) / len(every) if every else None),
    ]


def _most(values: Iterable[float]) -> float | None:
    every = list(values)
    return max(every) if every else None


def added(cut: Cut) -> Added:
    """One recorded summary, used."""
    said = under_headings(cut.summary or "")
    done = written(cut.history, Recorded(cut.summary or ""))
    of_model = [line for line in said.splitlines() if content_words(line)]
    new = [
        line
        for line in done.summary.splitlines()
        if content_words(line)
        and not line.startswith("#")
        and not any(says(one, line, _WRITTEN_BY_MODEL) for one in of_model)
    ]
    of_code = sum(map(_tokens, new))
    return Added(
        cut.name, len(new), of_code, max(1, _tokens(done.summary) - of_code), done.beyond, done.source
    )


def _tokens(text: str) -> int:
    """Counted with a vocabulary, because the code being judged keeps to its own estimate."""
    return len(bpe_openai.get_encoding("o200k_base").encode_ordinary(text))
