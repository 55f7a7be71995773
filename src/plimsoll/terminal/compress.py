"""`plimsoll compress`: make conversation files lighter and show what was kept.

    files ─► read all ─► compact each ─► write --output ─► table, or JSON lines

Every file is read before anything is compacted or written, so a mistake in the
last one leaves no output behind. Results go to standard output, notices and the
progress bar to standard error.
"""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from plimsoll.config import BUILT_IN_ENGINES, Settings, load_settings
from plimsoll.context import Summarizer
from plimsoll.terminal.batch import Outcome, Plan, compact_all
from plimsoll.terminal.tables import before_after, cleared_list, many, plain, summary_panel
from plimsoll.transcripts import Transcript, read_stream, read_transcripts, write_stream, write_transcripts

EXAMPLE = "fastapi.json"
EXAMPLE_WINDOW = 64_000
STANDARD = "-"
PIPED_WIDTH = 160  # a file has no edge to fit into
_TOKENS = re.compile(r"([0-9][0-9_,]*(?:\.[0-9]+)?)\s*([kKmM]?)")


def _tokens(_ctx: click.Context, _option: click.Parameter, value: str | None) -> int | None:
    """A number of tokens as people write it: 32000, 200_000, 8K, 1M."""
    if value is None:
        return None
    found = _TOKENS.fullmatch(value.strip())
    if found is None:
        raise click.BadParameter(f"{value!r} is no number of tokens; write 32000, 200_000, 8K or 1M.")
    number = float(found[1].replace("_", "").replace(",", ""))
    return round(number * {"": 1, "k": 1_000, "m": 1_000_000}[found[2].lower()])


@click.command()
@click.argument("paths", metavar="FILE...", nargs=-1, type=click.Path(path_type=str, allow_dash=True))
@click.option("--example", is_flag=True, help="Compact the conversation that comes with Plimsoll.")
@click.option("--window", metavar="TOKENS", callback=_tokens, help="Context window: 32000, 200_000, 8K, 1M.")
@click.option("--model", metavar="NAME", help="Model whose window holds; its card says how large it is.")
@click.option("--threshold", type=float, help="Share of the window where compaction is due, 0 to 1.")
@click.option("--focus", metavar="TOPIC", help="What the summary should dwell on.")
@click.option("--no-model", is_flag=True, help="Write the summary without asking a model.")
@click.option(
    "-o", "--output", metavar="OUT", help="Write the lighter conversations here; - is standard output."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each conversation.")
def compress(
    paths: tuple[str, ...],
    example: bool,
    window: int | None,
    model: str | None,
    threshold: float | None,
    focus: str | None,
    no_model: bool,
    output: str | None,
    as_json: bool,
) -> None:
    """Make conversations lighter and show what was kept.

    FILE is a conversation in OpenAI or Anthropic form (JSON or JSON lines), a Claude Code session, or a Codex
    rollout; - reads standard input.
    """
    if bool(paths) == example:
        raise click.UsageError("Name conversation files, or --example for the one that comes with Plimsoll.")
    if as_json and output == STANDARD:
        raise click.UsageError("--json and --output - both want standard output; give --output a file.")
    if example and window is None and model is None:
        window = EXAMPLE_WINDOW
    flags = {"model.name": model, "model.context_length": window, "compression.threshold": threshold}
    loaded = load_settings(flags=flags)
    # A model named here brings its own window, whatever the file says of another one.
    named_here = model is not None and window is None
    plan, notices = _plan(loaded.settings, focus, no_model, named_here)
    transcripts = _read(paths) if paths else _example()
    _tell([*loaded.notices, *notices, *_notices_of(transcripts)])
    outcomes = _compact(plan, transcripts)
    lighter = [outcome.transcript for outcome in outcomes]
    if output == STANDARD:
        write_stream(sys.stdout.buffer, lighter)
    elif output:
        write_transcripts(output, lighter)
    if as_json:
        for outcome in outcomes:
            click.echo(json.dumps(_facts(outcome)))
    else:
        _show(plan, outcomes, output)
    _warn(outcomes)


def _summarizer(settings: Settings, no_model: bool) -> Summarizer | None:  # noqa: ARG001
    """Who writes the summaries. None, as in this release: Plimsoll itself, from what the conversation says."""
    return None


def _plan(settings: Settings, focus: str | None, no_model: bool, named_here: bool) -> tuple[Plan, list[str]]:
    """How to compact, and what a person should know about it."""
    name = settings.model.name or ""
    card = settings.model.card()
    given = None if named_here else settings.model.context_length
    notices = []
    engine = settings.context.engine
    if engine not in BUILT_IN_ENGINES:
        notices.append(
            f"context.engine {plain(engine)!r} is unknown, so the built-in compressor serves. "
            "Name another with `plimsoll config set context.engine compressor`."
        )
    if name and given is None and not card.known:
        notices.append(
            f"model {plain(name)!r} is unknown; a window of {card.window:,} tokens is assumed. "
            "Say its window with --window or model.context_length."
        )
    plan = Plan(
        model=name,
        window=given or card.window,
        threshold=settings.compression.threshold,
        target_ratio=settings.compression.target_ratio,
        protect_last_n=settings.compression.protect_last_n,
        focus=focus,
        summarizer=_summarizer(settings, no_model),
    )
    return plan, notices


def _read(paths: Sequence[str]) -> list[Transcript]:
    if paths.count(STANDARD) > 1:
        raise click.UsageError("Standard input (-) can be read only once.")
    found: list[Transcript] = []
    for path in paths:
        if path == STANDARD:
            found += read_stream(sys.stdin.buffer, "standard input")
        else:
            found += read_transcripts(path)
    return found


def _example() -> list[Transcript]:
    with files("plimsoll").joinpath("examples", EXAMPLE).open("rb") as handle:
        return list(read_stream(handle, EXAMPLE))


def _compact(plan: Plan, transcripts: Sequence[Transcript]) -> list[Outcome]:
    """All outcomes, with a progress bar for a person who waits."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("compacting"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal or len(transcripts) < 2,
    ) as progress:
        return list(progress.track(compact_all(plan, transcripts), total=len(transcripts)))


def _facts(outcome: Outcome) -> dict[str, Any]:
    """One line of --json."""
    transcript = outcome.transcript
    return {
        "source": transcript.source,
        "line": transcript.line,
        "id": transcript.id,
        "outcome": outcome.outcome,
        "reason": outcome.reason,
        "messages_before": outcome.messages_before,
        "messages_after": outcome.messages_after,
        "tokens_before": outcome.tokens_before,
        "tokens_after": outcome.tokens_after,
        "valid": outcome.valid,
        "summary_source": outcome.summary_source,
        "seconds": round(outcome.seconds, 4),
    }


def _show(plan: Plan, outcomes: Sequence[Outcome], output: str | None) -> None:
    """The human's view; where nobody watches, the figures alone."""
    console = Console(stderr=output == STANDARD, highlight=False)
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    window = f"window {plan.window:,} tokens, compaction due at {plan.threshold_tokens:,}"
    if len(outcomes) != 1:
        rows = [(_name(one.transcript), one, _word(one)) for one in outcomes]
        console.print(many(rows, console.width))
        console.print(Text(window, "dim"))
    else:
        (only,) = outcomes
        console.print(Text.assemble((plain(_name(only.transcript)), "bold"), (f"  {window}", "dim")))
        console.print()
        console.print(before_after(only))
        if console.is_terminal:
            _details(console, only)
        console.print()
        console.print(_verdict(only))
    if output and output != STANDARD:
        console.print(Text(f"Written to {output}"), soft_wrap=True)


def _details(console: Console, outcome: Outcome) -> None:
    if outcome.pruned:
        console.print()
        console.print(cleared_list(outcome.pruned))
    if outcome.summary:
        console.print()
        console.print(summary_panel(outcome.summary, outcome.summary_source))


def _verdict(outcome: Outcome) -> Text:
    wire = "Anthropic" if outcome.transcript.format == "anthropic" else "OpenAI"
    valid = f"valid for {wire}" if outcome.valid else f"breaks {len(outcome.violations)} rules of {wire}"
    took = f"{outcome.seconds:.2f} s"
    if outcome.outcome == "unchanged":
        return Text(f"Unchanged: {outcome.reason}; {valid}, {took}", "yellow")
    return Text(f"Compacted: {valid}, {took}", "green" if outcome.valid else "red")


def _word(outcome: Outcome) -> str:
    if not outcome.valid:
        return "invalid"
    return "unchanged" if outcome.outcome == "unchanged" else "valid"


def _name(transcript: Transcript) -> str:
    """The shortest name by which the person knows the conversation."""
    name = Path(transcript.source).name
    return name if transcript.line is None else f"{name}:{transcript.line}"


def _notices_of(transcripts: Iterable[Transcript]) -> list[str]:
    return [f"{one.place}: {notice}" for one in transcripts for notice in one.notices]


def _warn(outcomes: Iterable[Outcome]) -> None:
    _tell(
        f"{one.transcript.place}: the result breaks a rule: {plain(one.violations[0])}"
        for one in outcomes
        if one.violations
    )


def _tell(notices: Iterable[str]) -> None:
    for notice in notices:
        click.echo(f"note: {notice}", err=True)
