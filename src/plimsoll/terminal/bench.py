"""`plimsoll bench`: measures what a compaction keeps of your own sessions.

    files ─► cut after user turns ─► compact the history ─► is what the agent needed next still there?

It calls no model and writes nothing. Everything that the agent typed from memory after a cut counts as needed.
A window of the newest messages of the same size is measured for comparison.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from plimsoll.config import Settings, load_settings
from plimsoll.context import ContextCompressor
from plimsoll.errors import UserError
from plimsoll.messages import Message
from plimsoll.quality import (
    CONTINUATION,
    Measurement,
    QualityFigures,
    SizeSettings,
    figures,
    fit,
    measure,
    prepare,
    recency_window,
    share,
    spread,
    tokens,
    turns_of,
)
from plimsoll.quality.handoff import section, taken_up
from plimsoll.terminal.tables import fitted, plain
from plimsoll.terminal.token_option import tokens_option
from plimsoll.transcripts import Transcript, read_example, read_transcripts

WINDOW = 64_000
MOST_CUTS = 4
_HEADINGS = (
    "cuts",
    "before",
    "after",
    "far facts",
    "present",
    "grounded",
    "recency",
    "stated",
    "next step",
    "valid",
    "invented",
)
_EXPENDABLE = ("cuts", "next step", "stated", "before", "invented", "valid")


@dataclass(frozen=True, slots=True)
class MeasuredCut:
    """A place in one of the conversations."""

    transcript: Transcript
    at: int

    @property
    def history(self) -> list[Message]:
        """What the compactor sees."""
        return self.transcript.messages[: self.at]


@dataclass(frozen=True, slots=True)
class PairedResult:
    """One cut, compacted, and the newest messages of the same size."""

    cut: MeasuredCut
    compacted: Measurement
    recency: Measurement
    is_taken_up: bool  # whether the agent did next what the summary's first next step says


@click.command()
@click.argument("paths", metavar="FILE...", nargs=-1, type=click.Path(path_type=str))
@click.option("--example", is_flag=True, help="Measure the bundled conversation.")
@click.option(
    "--budget",
    metavar="TOKENS",
    callback=tokens_option,
    help="Mean size of the results, such as 11000 or 8K.",
)
@click.option(
    "--window",
    metavar="TOKENS",
    callback=tokens_option,
    help=f"Context window; default {WINDOW:,}.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each conversation.")
def bench(
    paths: tuple[str, ...], example: bool, budget: int | None, window: int | None, as_json: bool
) -> None:
    """Measure what a compaction keeps of your own sessions.

    FILE is a conversation as for `plimsoll compress`. It is cut after up to four of your turns. The part before the
    cut is compacted without a model and searched for facts that the agent typed from memory in the next 40 messages.

    \b
    far facts   names, paths, ids that the agent needed and that are not in the last 20 messages before the cut
    present     far facts that are in the compacted context
    grounded    far facts with words around them that explain them
    recency     grounded in the newest messages of the same size
    stated      files, commands, errors, requests, … kept, weighted by kind
    next step   cuts where the agent did next what the summary's first next step says, within 20 messages
    invented    identifiers in the result that were never in the conversation
    """
    if bool(paths) == example:
        raise click.UsageError("Pass conversation files, or --example for the bundled conversation.")
    loaded = load_settings()
    transcripts = read_example() if example else [one for path in paths for one in read_transcripts(path)]
    window = window or WINDOW
    settings = loaded.settings
    cuts = _cuts(transcripts, window, settings.compression.threshold)
    compression = settings.compression
    chosen = SizeSettings(compression.target_tokens, compression.target_ratio, compression.protect_last_n)
    knobs = _fitted(cuts, budget, window, settings) if budget else chosen
    pairs = _measured(cuts, knobs, window, settings)
    of_files = [f"{one.place}: {note}" for one in transcripts for note in one.notices]
    for notice in (*loaded.notices, *of_files, *_short(transcripts, cuts), *_over(pairs, budget)):
        click.echo(f"note: {notice}", err=True)
    if as_json:
        for one, part in _by_conversation(pairs):
            click.echo(json.dumps(_facts(one, part, knobs, window)))
        return
    _show(pairs, knobs, window)


def _cuts(transcripts: Sequence[Transcript], window: int, threshold: float) -> list[MeasuredCut]:
    """Cuts after user turns, from where a compaction is due."""
    due = int(window * threshold)
    found = [
        MeasuredCut(one, at) for one in transcripts for at in spread(turns_of(one.messages, due), MOST_CUTS)
    ]
    if found:
        return found
    longest = max(transcripts, key=lambda one: tokens(one.messages))
    size = tokens(longest.messages)
    if size < due:
        raise UserError(
            f"No conversation is long enough to measure: the longest, {longest.place}, has {size:,} tokens, and with "
            f"a window of {window:,} compaction is due at {due:,}. Pass a longer session or a smaller --window."
        )
    raise UserError(
        f"Nothing can be measured: {longest.place} has no user turn with an answer after the first {due:,} tokens. "
        "Pass a smaller --window or a longer session."
    )


def _engine(knobs: SizeSettings, window: int, settings: Settings) -> ContextCompressor:
    return ContextCompressor(
        context_length=window,
        threshold=settings.compression.threshold,
        target_ratio=knobs.target_ratio,
        protect_last_n=knobs.protect_last_n,
        target_tokens=knobs.target_tokens,
    )


def _fitted(cuts: Sequence[MeasuredCut], budget: int, window: int, settings: Settings) -> SizeSettings:
    """The settings whose results have the wanted mean size on these cuts."""
    console = Console(stderr=True)

    def size(knobs: SizeSettings) -> float:
        progress.advance(task)
        results = (_engine(knobs, window, settings).compress(cut.history) for cut in cuts)
        return sum(map(tokens, results)) / len(cuts)

    with _progress(console, "finding settings") as progress:
        task = progress.add_task("", total=None)
        return fit(size, budget)


def _measured(
    cuts: Sequence[MeasuredCut], knobs: SizeSettings, window: int, settings: Settings
) -> list[PairedResult]:
    """Compact and measure every cut, with a progress bar."""
    with _progress(Console(stderr=True), "measuring") as progress:
        return [_pair(cut, knobs, window, settings) for cut in progress.track(cuts)]


def _progress(console: Console, doing: str) -> Progress:
    columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _pair(cut: MeasuredCut, knobs: SizeSettings, window: int, settings: Settings) -> PairedResult:
    history = cut.history
    behind = cut.transcript.messages[cut.at : cut.at + CONTINUATION]
    looked_for = prepare(history, behind)
    engine = _engine(knobs, window, settings)
    result = engine.compress(history)
    newest = recency_window(history, tokens(result))
    steps = section(engine.last_report.summary if engine.last_report else "", "Next Steps")
    return PairedResult(
        cut,
        measure(looked_for, history, result),
        measure(looked_for, history, newest),
        bool(steps) and taken_up(steps[0], behind),
    )


def _short(transcripts: Sequence[Transcript], cuts: Sequence[MeasuredCut]) -> Iterator[str]:
    """Which conversations were left out."""
    measured = {id(cut.transcript) for cut in cuts}
    left = [one.place for one in transcripts if id(one) not in measured]
    if left:
        named = left[0] if len(left) == 1 else f"{len(left)} conversations"
        yield f"{plain(named)}: too short to measure, skipped."


def _over(pairs: Sequence[PairedResult], budget: int | None) -> Iterator[str]:
    after = figures([pair.compacted for pair in pairs]).tokens
    if budget and after > budget * 1.02:
        yield f"--budget {budget:,} cannot be reached; the smallest results have {after:,.0f} tokens on average."


def _by_conversation(pairs: Sequence[PairedResult]) -> list[tuple[Transcript, list[PairedResult]]]:
    found: dict[int, tuple[Transcript, list[PairedResult]]] = {}
    for pair in pairs:
        found.setdefault(id(pair.cut.transcript), (pair.cut.transcript, []))[1].append(pair)
    return list(found.values())


def _figures(pairs: Sequence[PairedResult]) -> tuple[QualityFigures, QualityFigures]:
    return figures([pair.compacted for pair in pairs]), figures([pair.recency for pair in pairs])


def _facts(
    transcript: Transcript, pairs: Sequence[PairedResult], knobs: SizeSettings, window: int
) -> dict[str, Any]:
    """One line of --json."""
    ours, newest = _figures(pairs)
    return {
        "source": transcript.source,
        "line": transcript.line,
        "id": transcript.id,
        "window": window,
        "target_tokens": knobs.target_tokens,
        "target_ratio": knobs.target_ratio,
        "protect_last_n": knobs.protect_last_n,
        "cuts": [pair.cut.at for pair in pairs],
        "tokens_before": round(ours.tokens_before),
        "tokens_after": round(ours.tokens),
        "far_facts": ours.far_facts,
        "far_present": ours.far_present,
        "far_grounded": ours.far_grounded,
        "recency_present": newest.far_present,
        "recency_grounded": newest.far_grounded,
        "stated": ours.stated,
        "stated_by_kind": ours.kinds,
        "next_step_taken_up": share(pair.is_taken_up for pair in pairs),
        "valid": ours.valid == 1.0,
        "invented": sorted({term for pair in pairs for term in pair.compacted.fabricated}),
        "lost": sorted(
            {
                grade.fact.term
                for pair in pairs
                for grade in pair.compacted.grades
                if grade.fact.is_far and not grade.is_present
            }
        ),
    }


def _show(pairs: Sequence[PairedResult], knobs: SizeSettings, window: int) -> None:
    console = Console(highlight=False)
    if not sys.stdout.isatty():
        console.width = 160
    console.print(fitted(lambda without: _table(pairs, without), _EXPENDABLE, console.width))
    aim = f"target_tokens {knobs.target_tokens:,}, " if knobs.target_tokens else ""
    setting = f"{aim}target_ratio {knobs.target_ratio:g}, protect_last_n {knobs.protect_last_n}"
    console.print(Text(f"window {window:,}, {setting}, no model; tokens are characters / 4", "dim"))
    if not figures([pair.compacted for pair in pairs]).far_facts:
        console.print(
            Text("The agent needed nothing from further back than 20 messages, so there are no far facts.")
        )


def _table(pairs: Sequence[PairedResult], without: frozenset[str]) -> Table:
    shown = [place for place, heading in enumerate(_HEADINGS) if heading not in without]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("conversation", overflow="fold")
    for place in shown:
        table.add_column(_HEADINGS[place], justify="right", no_wrap=True)
    parts = _by_conversation(pairs)
    for one, part in parts:
        cells = _cells(part)
        table.add_row(Text(plain(_name(one))), *(cells[place] for place in shown))
    if len(parts) > 1:
        cells = _cells(pairs)
        table.add_section()
        table.add_row(f"{len(parts)} in all", *(cells[place] for place in shown), style="bold")
    return table


def _cells(pairs: Sequence[PairedResult]) -> tuple[str, ...]:
    ours, newest = _figures(pairs)
    return (
        str(ours.cuts),
        f"{ours.tokens_before:,.0f}",
        f"{ours.tokens:,.0f}",
        str(ours.far_facts),
        _share(ours.far_present),
        _share(ours.far_grounded),
        _share(newest.far_grounded),
        _share(ours.stated),
        _share(share(pair.is_taken_up for pair in pairs)),
        "yes" if ours.valid == 1.0 else "NO",
        str(ours.fabrications),
    )


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _name(transcript: Transcript) -> str:
    name = Path(transcript.source).name
    return name if transcript.line is None else f"{name}:{transcript.line}"
