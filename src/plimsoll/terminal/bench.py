"""`plimsoll bench`: measures what a compaction keeps of your own sessions.

    files and folders ─► bulk.measurement, on all cores ─► a table, or JSON lines

It calls no model and writes nothing. Everything that the agent typed from memory after a cut counts as needed.
A window of the newest messages of the same size is measured for comparison.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from plimsoll.bulk.inputs import InputFile, find_inputs
from plimsoll.bulk.measurement import (
    MeasuredConversation,
    MeasurementPlan,
    PairedResult,
    measured,
    measured_files,
)
from plimsoll.config import load_settings
from plimsoll.errors import TranscriptError, UserError
from plimsoll.messages.printable import plain
from plimsoll.quality import QualityFigures, SizeSettings, figures, fit, share
from plimsoll.terminal.interruption import reporting_progress
from plimsoll.terminal.priced_replay import conversation_name
from plimsoll.terminal.prose import show_notice
from plimsoll.terminal.tables import fitted
from plimsoll.terminal.token_option import tokens_option
from plimsoll.transcripts import counted, read_example

WINDOW = 64_000
# With a window of 64,000 the bundled conversation fits so well that the newest messages alone keep as much.
EXAMPLE_WINDOW = 32_000
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
OPTIONAL_COLUMNS = ("cuts", "next step", "stated", "before", "invented", "valid")


@click.command()
@click.argument("paths", metavar="FILE|FOLDER...", nargs=-1, type=click.Path(path_type=str))
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
    help=f"Context window; default {WINDOW:,}, and {EXAMPLE_WINDOW:,} with --example.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each conversation.")
def bench(
    paths: tuple[str, ...], example: bool, budget: int | None, window: int | None, as_json: bool
) -> None:
    """Measure what a compaction keeps of your own sessions.

    FILE has conversations as for `plimsoll compress` or a dataset as for `plimsoll bulk`; a FOLDER is searched with
    everything below it. A conversation is cut after up to four of your turns. The part before the cut is compacted
    without a model and searched for facts that the agent typed from memory in the next 40 messages.

    \b
    far facts   names, paths, ids that the agent needed and that are not in
                the last 20 messages before the cut
    present     far facts that are in the compacted context
    grounded    far facts with words around them that explain them
    recency     grounded in the newest messages of the same size
    stated      files, commands, errors, requests, … kept, weighted by kind
    next step   cuts where the agent did, within 20 messages, what the
                summary's first next step says
    invented    identifiers in the result that were never in the conversation
    """
    if bool(paths) == example:
        raise click.UsageError("Pass conversation files, or --example for the bundled conversation.")
    loaded = load_settings()
    files = [] if example else find_inputs(paths)
    compression = loaded.settings.compression
    chosen = SizeSettings(compression.target_tokens, compression.target_ratio, compression.protect_last_n)
    plan = MeasurementPlan(window or (EXAMPLE_WINDOW if example else WINDOW), compression.threshold, chosen)
    if budget:
        plan = replace(plan, size_settings=_fitted(files, plan, budget))
    found = _measured(files, plan, "measuring")
    long_enough = [conversation for conversation in found if conversation.pairs]
    if not long_enough:
        raise _nothing(found, plan)
    of_files = [f"{conversation.place}: {note}" for conversation in found for note in conversation.notices]
    for notice in (*loaded.notices, *of_files, *_left_out(found), *_over(long_enough, budget)):
        show_notice(notice)
    if as_json:
        for item in long_enough:
            click.echo(json.dumps(_facts(item, plan)))
        return
    _show(long_enough, plan)


def _nothing(found: Sequence[MeasuredConversation], plan: MeasurementPlan) -> UserError:
    """The error that says why nothing was measured."""
    readable = [conversation for conversation in found if not conversation.failure]
    if not readable:
        return TranscriptError(found[0].failure)
    longest = max(readable, key=lambda item: item.tokens)
    if longest.tokens < plan.due:
        return UserError(
            f"No conversation is long enough to measure: the longest, {longest.place}, has {longest.tokens:,} "
            f"tokens, and with a window of {plan.window:,} compaction is due at {plan.due:,}. Pass a longer session "
            "or a smaller --window."
        )
    return UserError(
        f"Nothing can be measured: {longest.place} has no user turn with an answer after the first {plan.due:,} "
        "tokens. Pass a smaller --window or a longer session."
    )


def _fitted(files: Sequence[InputFile], plan: MeasurementPlan, budget: int) -> SizeSettings:
    """The settings whose results have the wanted mean size on these conversations."""

    def size(size_settings: SizeSettings) -> float:
        found = _measured(
            files, replace(plan, size_settings=size_settings, sizes_only=True), "finding settings"
        )
        sizes = [size for conversation in found for size in conversation.sizes]
        if not sizes:
            raise _nothing(found, plan)
        return sum(sizes) / len(sizes)

    return fit(size, budget)


def _measured(files: Sequence[InputFile], plan: MeasurementPlan, title: str) -> list[MeasuredConversation]:
    """Measure every conversation, with a progress bar; without files, the bundled one."""
    if not files:
        return [measured(transcript, plan) for transcript in read_example()]
    console = Console(stderr=True)
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        found: list[MeasuredConversation] = []
        with reporting_progress(lambda: f"Measured {counted(len(found), 'conversation', 'conversations')}."):
            found.extend(progress.track(measured_files(files, plan), total=None))
        return found


def _left_out(found: Sequence[MeasuredConversation]) -> Iterator[str]:
    """Which conversations were not measured."""
    yield from (f"{plain(conversation.failure)} Skipped." for conversation in found if conversation.failure)
    left = [
        conversation.place for conversation in found if not conversation.failure and not conversation.pairs
    ]
    if left:
        named = left[0] if len(left) == 1 else f"{len(left)} conversations"
        yield f"{plain(named)}: too short to measure, skipped."


def _over(found: Sequence[MeasuredConversation], budget: int | None) -> Iterator[str]:
    after = _figures(_pairs(found))[0].tokens
    if budget and after > budget * 1.02:
        yield f"--budget {budget:,} cannot be reached; the smallest results have {after:,.0f} tokens on average."


def _pairs(found: Sequence[MeasuredConversation]) -> list[PairedResult]:
    return [pair for conversation in found for pair in conversation.pairs]


def _figures(pairs: Sequence[PairedResult]) -> tuple[QualityFigures, QualityFigures]:
    return figures([pair.compacted for pair in pairs]), figures([pair.recency for pair in pairs])


def _facts(conversation: MeasuredConversation, plan: MeasurementPlan) -> dict[str, Any]:
    """One line of --json."""
    pairs, size_settings = conversation.pairs, plan.size_settings
    compacted, newest = _figures(pairs)
    return {
        "source": conversation.source,
        "line": conversation.line,
        "id": conversation.id,
        "window": plan.window,
        "target_tokens": size_settings.target_tokens,
        "target_ratio": size_settings.target_ratio,
        "protect_last_n": size_settings.protect_last_n,
        "cuts": [pair.at for pair in pairs],
        "tokens_before": round(compacted.tokens_before),
        "tokens_after": round(compacted.tokens),
        "far_facts": compacted.far_facts,
        "far_present": compacted.far_present,
        "far_grounded": compacted.far_grounded,
        "recency_present": newest.far_present,
        "recency_grounded": newest.far_grounded,
        "stated": compacted.stated,
        "stated_by_kind": compacted.kinds,
        "next_step_taken_up": share(pair.is_taken_up for pair in pairs),
        "valid": compacted.valid == 1.0,
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


def _show(found: Sequence[MeasuredConversation], plan: MeasurementPlan) -> None:
    size_settings = plan.size_settings
    console = Console(highlight=False)
    if not sys.stdout.isatty():
        console.width = 160
    console.print(bench_table(found, console.width))
    aim = f"target_tokens {size_settings.target_tokens:,}, " if size_settings.target_tokens else ""
    setting = (
        f"{aim}target_ratio {size_settings.target_ratio:g}, protect_last_n {size_settings.protect_last_n}"
    )
    console.print(Text(f"window {plan.window:,}, {setting}, no model; tokens are characters / 4", "dim"))
    if not _figures(_pairs(found))[0].far_facts:
        console.print(
            Text("The agent needed nothing from further back than 20 messages, so there are no far facts.")
        )


def bench_table(found: Sequence[MeasuredConversation], width: int) -> Table:
    """A row for each conversation, and their sum; columns that do not fit the width are left out."""
    return fitted(lambda without: _table(found, without), OPTIONAL_COLUMNS, width)


def _table(found: Sequence[MeasuredConversation], without: frozenset[str]) -> Table:
    shown = [place for place, heading in enumerate(_HEADINGS) if heading not in without]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("conversation", overflow="fold")
    for place in shown:
        table.add_column(_HEADINGS[place], justify="right", no_wrap=True)
    for conversation in found:
        cells = _cells(conversation.pairs)
        table.add_row(Text(plain(conversation_name(conversation))), *(cells[place] for place in shown))
    if len(found) > 1:
        cells = _cells(_pairs(found))
        table.add_section()
        table.add_row(f"{len(found)} in all", *(cells[place] for place in shown), style="bold")
    return table


def _cells(pairs: Sequence[PairedResult]) -> tuple[str, ...]:
    compacted, newest = _figures(pairs)
    return (
        str(compacted.cuts),
        f"{compacted.tokens_before:,.0f}",
        f"{compacted.tokens:,.0f}",
        str(compacted.far_facts),
        _share(compacted.far_present),
        _share(compacted.far_grounded),
        _share(newest.far_grounded),
        _share(compacted.stated),
        _share(share(pair.is_taken_up for pair in pairs)),
        "yes" if compacted.valid == 1.0 else "NO",
        str(compacted.fabrications),
    )


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
