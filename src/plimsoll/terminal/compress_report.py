"""Prints the result of `plimsoll compress`: a table, or JSON lines."""

import json
import shlex
from collections.abc import Sequence

import click
from rich.console import Console
from rich.text import Text

from plimsoll.bulk.compaction import BatchOutcome, facts_of
from plimsoll.messages.printable import plain
from plimsoll.terminal.priced_replay import conversation_name
from plimsoll.terminal.prose import show_sentence
from plimsoll.terminal.session_source import STANDARD_INPUT
from plimsoll.terminal.standard_output import PIPED_WIDTH
from plimsoll.terminal.tables import (
    before_after,
    cleared_lines,
    cleared_list,
    many,
    shortened_lines,
    summary_panel,
)
from plimsoll.transcripts import Transcript


def print_json(outcomes: Sequence[BatchOutcome], in_full: bool) -> None:
    """Print one line of JSON for each conversation."""
    for outcome in outcomes:
        texts = {"summary": outcome.summary, "evidence": outcome.evidence} if in_full else {}
        click.echo(json.dumps(facts_of(outcome) | texts))


def _original(transcript: Transcript, example: bool) -> str:
    """The file for `plimsoll recall`: the original conversation, not the output."""
    if example:
        return "--example"
    return "FILE" if transcript.source == STANDARD_INPUT else shlex.quote(transcript.source)


def show_summaries(outcomes: Sequence[BatchOutcome], on_stderr: bool, example: bool) -> None:
    """Print the summaries, with names if there are several; cleared results go to standard error."""
    for number, outcome in enumerate(outcomes):
        heading = (
            ""
            if len(outcomes) == 1
            else f"{chr(10) if number else ''}# {conversation_name(outcome.transcript)}\n\n"
        )
        summary = outcome.whole_summary or "No summary was needed."
        show_sentence(plain(f"{heading}{summary}").rstrip("\n"), err=on_stderr)
        if outcome.pruned:
            click.echo(f"\n{cleared_lines(outcome.pruned, _original(outcome.transcript, example))}", err=True)


def show(outcomes: Sequence[BatchOutcome], on_stderr: bool, example: bool) -> None:
    """Print the tables for a terminal; only the figures otherwise."""
    console = Console(stderr=on_stderr, highlight=False)
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    window = _window(outcomes)
    if len(outcomes) != 1:
        rows = [(conversation_name(outcome.transcript), outcome, _word(outcome)) for outcome in outcomes]
        console.print(many(rows, console.width))
        console.print(Text(window, "dim"))
    else:
        (only,) = outcomes
        console.print(
            Text.assemble((plain(conversation_name(only.transcript)), "bold"), (f"  {window}", "dim"))
        )
        console.print()
        console.print(before_after(only))
        if console.is_terminal:
            _details(console, only, example)
        console.print()
        console.print(_verdict(only))


def _window(outcomes: Sequence[BatchOutcome]) -> str:
    """The window in use, and whether compaction was due."""
    sizes = sorted({(outcome.window, outcome.due_at) for outcome in outcomes})
    line = f"window {sizes[0][0]:,} tokens, compaction due at {sizes[0][1]:,}"
    if len(sizes) > 1:
        line = f"windows of {sizes[0][0]:,} to {sizes[-1][0]:,} tokens, as the files name their models"
    early = [outcome for outcome in outcomes if outcome.tokens_before < outcome.due_at]
    is_forced = any(outcome.outcome == "compacted" for outcome in early)
    if not early:
        return line
    count = "" if len(outcomes) == 1 else f"{len(early)} "
    return f"{line}: {count}not due{'; compacted on request' if is_forced else ''}"


def _details(console: Console, outcome: BatchOutcome, example: bool) -> None:
    if outcome.pruned:
        console.print()
        original = _original(outcome.transcript, example)
        console.print(cleared_list(outcome.pruned, restore=f"`plimsoll recall {original} HANDLE` restores"))
    if outcome.shortened:
        console.print()
        console.print(Text(shortened_lines(outcome.shortened), "dim"))
    if outcome.summary:
        console.print()
        console.print(summary_panel(outcome.whole_summary, outcome.summary_source))


def _verdict(outcome: BatchOutcome) -> Text:
    wire = outcome.transcript.dialect.title
    valid = f"valid for {wire}" if outcome.valid else f"breaks {len(outcome.violations)} rules of {wire}"
    took = f"{outcome.seconds:.2f} s"
    if outcome.outcome == "unchanged":
        return Text(f"Unchanged: {outcome.reason}; {valid}, {took}", "yellow")
    if outcome.outcome == "repaired":
        return Text(f"Repaired: {outcome.reason}; {valid}, {took}", "yellow")
    return Text(f"Compacted: {valid}, {took}", "green" if outcome.valid else "red")


def _word(outcome: BatchOutcome) -> str:
    if not outcome.valid:
        return "invalid"
    return "valid" if outcome.outcome == "compacted" else outcome.outcome
