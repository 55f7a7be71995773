"""`plimsoll compress`: compact conversation files and show what was kept.

    files ─► read all ─► compact each ─► write --output ─► table, or JSON lines
                              └─ the summary: by the auxiliary model if there is one, else extracted

Every file is read before anything is compacted or written, so an error in the last one leaves no output. Results go
to standard output, notices and the progress bar to standard error.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import click
from click.shell_completion import CompletionItem
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from plimsoll.bulk.compaction import BatchOutcome, BatchPlan
from plimsoll.config import LoadedSettings, Settings, load_settings
from plimsoll.config.per_model import overrides_for
from plimsoll.context.report import NO_MODEL_SUMMARY
from plimsoll.messages.printable import plain
from plimsoll.models import DEFAULT_WINDOW, shipped_cards
from plimsoll.plugins import COMPRESSOR
from plimsoll.plugins.prompt_file import read_prompt_file
from plimsoll.providers.auxiliary import Auxiliary
from plimsoll.terminal.batch import compact_all
from plimsoll.terminal.compress_report import print_json, show, show_summaries
from plimsoll.terminal.interruption import reporting_progress
from plimsoll.terminal.prose import show_notice
from plimsoll.terminal.session_output import check_output, target_choice, write_converted
from plimsoll.terminal.session_source import latest_option, newest_of, read_source
from plimsoll.terminal.standard_output import STANDARD_STREAM, write_json
from plimsoll.terminal.suggestions import nearest_model
from plimsoll.terminal.summary_model import open_summary_model
from plimsoll.terminal.token_option import tokens_option
from plimsoll.transcripts import (
    Transcript,
    converted,
    for_target,
    log_title,
    read_example,
    serialised,
    write_transcripts,
)

EXAMPLE_WINDOW = 64_000


def _complete_model(_ctx: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The model cards whose names start like this."""
    return [
        CompletionItem(card.name, help=f"{card.prompt_limit:,} tokens")
        for card in shipped_cards()
        if card.name.startswith(incomplete.lower())
    ]


@click.command()
@click.argument("paths", metavar="FILE|SESSION...", nargs=-1)
@latest_option
@click.option("--example", is_flag=True, help="Compact the bundled conversation.")
@click.option(
    "--window",
    metavar="TOKENS",
    callback=tokens_option,
    help="Context window, such as 32000, 200_000, 8K or 1M.",
)
@click.option(
    "--model",
    metavar="NAME",
    shell_complete=_complete_model,
    help="Model whose window to use.",
)
@click.option("--threshold", type=float, help="Share of the window at which to compact, 0 to 1.")
@click.option("--focus", metavar="TOPIC", help="Topic that gets most of the summary.")
@click.option("--no-model", is_flag=True, help="Write the summary without a model or network.")
@click.option(
    "--to",
    "target",
    type=target_choice,
    help="Write a session that this agent resumes, or messages for this API.",
)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    help="Output file; - is standard output. With --to, also a folder of sessions.",
)
@click.option(
    "--summary", "in_full", is_flag=True, help="Print only the summary, in full; notes go to standard error."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each conversation.")
def compress(
    paths: tuple[str, ...],
    latest: str | None,
    example: bool,
    window: int | None,
    model: str | None,
    threshold: float | None,
    focus: str | None,
    no_model: bool,
    target: str | None,
    output: str | None,
    in_full: bool,
    as_json: bool,
) -> None:
    """Compact conversations and show what was kept.

    FILE is a conversation in OpenAI's, Anthropic's or Gemini's form (JSON or JSON lines), a session of Claude Code,
    Codex, Gemini CLI, OpenCode or Copilot CLI, OpenHands events, an ATIF trajectory or ShareGPT; - reads standard
    input. SESSION is the id of a session of an agent, or of a stored one. The original is never changed.

    \b
    plimsoll compress session.jsonl -o compacted.json
    plimsoll compress --latest claude --to claude-code
    plimsoll compress --latest codex --to claude-code
    """
    paths = _chosen_paths(paths, latest, example)
    if as_json and output == STANDARD_STREAM:
        raise click.UsageError(
            "--json and --output - both write to standard output; pass a file to --output."
        )
    loaded = _settings(example, model, window, threshold)
    # A model named here brings its own window, even if the file names another.
    named_here = model is not None and window is None
    transcripts = _read(paths)
    if target:
        transcripts = [for_target(transcript, target) for transcript in transcripts]
        check_output(target, output, transcripts)
    settings = loaded.settings.for_model(loaded.settings.model.name)
    auxiliary, found = (None, []) if no_model else open_summary_model(settings, quiet=as_json)
    with auxiliary or nullcontext():
        plan, notices = _plan(settings, transcripts, focus, auxiliary, named_here)
        _show_notices([*loaded.notices, *notices, *found, *_notices_of(transcripts)])
        outcomes = _compact(plan, transcripts)
    compacted = [outcome.transcript for outcome in outcomes]
    messages = _write(compacted, transcripts, target, output)
    if as_json:
        print_json(outcomes, in_full)
    elif in_full:
        show_summaries(outcomes, output == STANDARD_STREAM, example)
    else:
        show(outcomes, output == STANDARD_STREAM, example)
    for line in messages:
        click.echo(line, err=as_json or in_full)
    _show_notices(_as_openai(compacted) if output and not target else ())
    _warn(outcomes, focus)
    _show_notices(_model_failures(outcomes, auxiliary))


def _chosen_paths(paths: tuple[str, ...], latest: str | None, example: bool) -> tuple[str, ...]:
    """The files to read; none for the bundled conversation."""
    if sum((bool(paths), example, latest is not None)) > 1:
        raise click.UsageError("Pass conversation files, --latest or --example, not several of them.")
    if latest is not None:
        return (newest_of(latest),)
    if not paths and not example:
        raise click.UsageError("Pass conversation files, or --example for the bundled conversation.")
    return paths


def _write(
    compacted: Sequence[Transcript], originals: Sequence[Transcript], target: str | None, output: str | None
) -> list[str]:
    """Write the results. Returns messages for the user."""
    if target:
        pairs = zip(compacted, originals, strict=True)
        written = [
            converted(transcript, target, is_changed=transcript.messages != original.messages)
            for transcript, original in pairs
        ]
        return write_converted(target, output, written)
    if output == STANDARD_STREAM:
        write_json(serialised(compacted))
    elif output:
        write_transcripts(output, compacted)
        return [f"Written to {output}"]
    return []


def _settings(
    example: bool, model: str | None, window: int | None, threshold: float | None
) -> LoadedSettings:
    flags = {"model.name": model, "model.context_length": window, "compression.threshold": threshold}
    loaded = load_settings(flags=flags)
    stated = loaded.settings.model
    if example and stated.name is None and stated.context_length is None:
        # The example names no model: use a window in which it must be compacted.
        return load_settings(flags=flags | {"model.context_length": EXAMPLE_WINDOW})
    return loaded


def _plan(
    settings: Settings,
    transcripts: Sequence[Transcript],
    focus: str | None,
    auxiliary: Auxiliary | None,
    named_here: bool,
) -> tuple[BatchPlan, list[str]]:
    """The plan, and notices for the user."""
    name = settings.model.name or ""
    card = settings.model.card()
    own = overrides_for(settings.models, name).get("window")
    window = own if named_here else settings.model.context_length
    notices = []
    engine = settings.context.engine
    if engine != COMPRESSOR:
        notices.append(
            f"context.engine is {plain(engine)!r}, which works in conversations only; "
            "the built-in compressor compacts files."
        )
    if name and window is None and not card.known:
        notices.append(_unknown_model(name, card.window))
    plan = BatchPlan(
        model=name,
        window=window or card.prompt_limit,
        threshold=settings.compression.threshold,
        target_ratio=settings.compression.target_ratio,
        protect_last_n=settings.compression.protect_last_n,
        target_tokens=settings.compression.target_tokens,
        evidence=settings.compression.evidence,
        prompt=read_prompt_file(settings.compression.prompt_file),
        focus=focus,
        summarizer=auxiliary,
        at_once=auxiliary.at_once if auxiliary else 1,
        media=card.media,
    )
    if name or window:
        return plan, notices
    return replace(plan, settings=settings), [*notices, *_assumed(settings, transcripts)]


def _assumed(settings: Settings, transcripts: Sequence[Transcript]) -> Iterator[str]:
    """Notices about assumed windows."""
    for name in sorted({transcript.model for transcript in transcripts if transcript.model}):
        model = settings.for_model(name).model.model_copy(update={"name": name})
        if model.context_length is None and not model.card().known:
            yield _unknown_model(name, model.card().window)
    if any(not transcript.model for transcript in transcripts):
        yield f"no model named, {DEFAULT_WINDOW:,} tokens assumed. Set --model or --window."


def _unknown_model(name: str, window: int) -> str:
    near = nearest_model(name)
    return (
        f"model {plain(name)!r} is unknown; a window of {window:,} tokens is assumed. "
        + (f"Did you mean {near}? " if near else "")
        + "Set its window with --window or model.context_length."
    )


def _read(paths: Sequence[str]) -> list[Transcript]:
    """The conversations in these files; without files, the bundled one."""
    if not paths:
        return read_example()
    if paths.count(STANDARD_STREAM) > 1:
        raise click.UsageError("Standard input (-) can be read only once.")
    found: list[Transcript] = []
    console = Console(stderr=True)
    typed = (
        STANDARD_STREAM in paths and sys.stdin.isatty()
    )  # the user types there, and the status would be in the way
    with console.status("reading …") if console.is_terminal and not typed else nullcontext() as status:
        for path in paths:
            if status:
                status.update(Text(f"reading {plain(Path(path).name)} …"))
            found += read_source(path)
    return found


def _compact(plan: BatchPlan, transcripts: Sequence[Transcript]) -> list[BatchOutcome]:
    """All outcomes, with a progress bar."""
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
        found: list[BatchOutcome] = []
        with reporting_progress(
            lambda: f"Compacted {len(found):,} of {len(transcripts):,} conversations; nothing was written."
        ):
            found.extend(progress.track(compact_all(plan, transcripts), total=len(transcripts)))
        return found


def _notices_of(transcripts: Iterable[Transcript]) -> list[str]:
    return [f"{transcript.place}: {notice}" for transcript in transcripts for notice in transcript.notices]


def _as_openai(transcripts: Sequence[Transcript]) -> list[str]:
    """Notices for conversations whose format changed: a log can be read, but its agent cannot continue it."""
    titles = Counter(title for transcript in transcripts if (title := log_title(transcript.format)))
    return [
        f"written as OpenAI messages, not as {title}{f' ({count} of them)' if count > 1 else ''}. "
        "Use --to for a session that an agent resumes."
        for title, count in titles.items()
    ]


def _warn(outcomes: Sequence[BatchOutcome], focus: str | None) -> None:
    missed = [outcome.transcript.place for outcome in outcomes if not outcome.focus_found]
    if missed and focus:
        where = missed[0] if len(missed) == 1 else f"{len(missed)} conversations"
        _show_notices([f"--focus {plain(focus)!r}: no word of it occurs in {where}."])
    _show_notices(
        f"{outcome.transcript.place}: the result breaks a rule: {plain(outcome.violations[0])}"
        for outcome in outcomes
        if outcome.violations
    )


def _model_failures(outcomes: Sequence[BatchOutcome], auxiliary: Auxiliary | None) -> Iterator[str]:
    """Failures of the summary models, each once, including those after which another model answered."""
    failures = Counter(failure for outcome in outcomes for failure in outcome.model_failures)
    for note in auxiliary.notes if auxiliary else ():
        if not any(note in failure for failure in failures):
            yield plain(note)
    for failure, count in failures.items():
        where = f"{count} conversations: " if count > 1 else ""
        reason = NO_MODEL_SUMMARY.format(plain(failure)).rstrip(".")
        yield f"{where}{reason}; code wrote the summary."


def _show_notices(notices: Iterable[str]) -> None:
    for notice in notices:
        show_notice(notice)
