"""`plimsoll bulk`: compacts datasets.

    INPUT… ──► rows ──► all cores, or Ray ──► OUT/data.jsonl, report.jsonl, rejects.jsonl, statistics.md

An interrupted run continues when the same command runs again. Progress and notes go to standard error.
"""

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from plimsoll.bulk.chunks import ROWS
from plimsoll.bulk.compaction import BatchPlan
from plimsoll.bulk.inputs import find_inputs
from plimsoll.bulk.output import DATA, REJECTS, STATISTICS, OutputFolder
from plimsoll.bulk.pool import cores
from plimsoll.bulk.process_row import BulkPlan
from plimsoll.bulk.ray_runner import LOCAL, on_ray
from plimsoll.bulk.run import BulkRun, Runner, in_processes, in_threads, run_bulk
from plimsoll.bulk.summary_limits import LimitedSummaries
from plimsoll.config import Settings, load_settings
from plimsoll.errors import UserError
from plimsoll.messages.printable import plain
from plimsoll.models import DEFAULT_WINDOW
from plimsoll.plugins import COMPRESSOR
from plimsoll.plugins.prompt_file import read_prompt_file
from plimsoll.providers.auxiliary import Auxiliary
from plimsoll.providers.retry import Retries
from plimsoll.terminal.interruption import CommandInterrupted
from plimsoll.terminal.prose import show_notice
from plimsoll.terminal.summary_model import open_summary_model
from plimsoll.terminal.token_option import tokens_option

_ROWS_WITH_MODEL = 4  # per chunk: a paid summary should be in the files soon


@click.command()
@click.argument("inputs", metavar="INPUT...", nargs=-1, type=click.Path(path_type=str))
@click.option(
    "-o", "--output", metavar="OUT", required=True, type=click.Path(path_type=Path), help="Output folder."
)
@click.option(
    "--window", metavar="TOKENS", callback=tokens_option, help="Context window, such as 32000, 8K or 1M."
)
@click.option("--model", metavar="NAME", help="Model whose window to use.")
@click.option("--threshold", type=float, help="Share of the window at which to compact, 0 to 1.")
@click.option("--target", metavar="TOKENS", callback=tokens_option, help="Size of a compacted conversation.")
@click.option("--every", is_flag=True, help="Also compact conversations below the threshold.")
@click.option("--split-at-compactions", "split", is_flag=True, help="Write training examples with masks.")
@click.option("--workers", type=click.IntRange(1), help="Processes; default: one for each core.")
@click.option("--ray", "address", is_flag=False, flag_value=LOCAL, metavar="[ADDRESS]", help="Run on Ray.")
@click.option("--use-model", is_flag=True, help="Let the summary model write the summaries, instead of code.")
@click.option("--at-once", type=click.IntRange(1, 256), help="With --use-model: summaries at the same time.")
@click.option(
    "--max-spend", type=click.FloatRange(0), metavar="USD", help="With --use-model: spending limit."
)
@click.option("--retries", type=click.IntRange(0, 10), help="With --use-model: retries of a failed request.")
@click.option(
    "--restart", is_flag=True, help="Replace the output of an earlier run instead of continuing it."
)
def bulk(
    inputs: tuple[str, ...],
    output: Path,
    window: int | None,
    model: str | None,
    threshold: float | None,
    target: int | None,
    every: bool,
    split: bool,
    workers: int | None,
    address: str | None,
    use_model: bool,
    at_once: int | None,
    max_spend: float | None,
    retries: int | None,
    restart: bool,
) -> None:
    """Compact datasets of conversations.

    INPUT is a file or a folder with everything below it: JSON lines or Parquet with a conversation in each row
    (columns messages, trajectory, conversations, …), JSON documents, and sessions of agents. OUT gets data.jsonl,
    report.jsonl, rejects.jsonl and statistics.md. Run the same command again to continue after an interruption.

    \b
    plimsoll bulk trajectories.parquet -o compacted --window 32K
    plimsoll bulk sessions/ -o examples --split-at-compactions
    """
    limits = {"--at-once": at_once, "--max-spend": max_spend, "--retries": retries}
    _check(inputs, address, use_model, limits)
    flags = {
        "model.name": model,
        "model.context_length": window,
        "compression.threshold": threshold,
        "compression.target_tokens": target,
    }
    loaded = load_settings(flags=flags)
    settings = loaded.settings.for_model(loaded.settings.model.name)
    files = find_inputs(inputs, output)
    with ExitStack() as opened:
        plan, notices = _plan(settings, every)
        _note(*loaded.notices, *notices)
        summaries = None
        if use_model:
            auxiliary = opened.enter_context(_auxiliary(settings, retries))
            summaries = LimitedSummaries(auxiliary, max_spend)
            plan = replace(plan, summarizer=summaries, at_once=at_once or auxiliary.at_once)
        run = BulkRun(files, BulkPlan(plan, split), ROWS if summaries is None else _ROWS_WITH_MODEL)
        folder = opened.enter_context(OutputFolder(output, run.settings, restart))
        _run(run, folder, _runner(plan, workers, address), summaries)
        _show_results(folder)


def _check(inputs: tuple[str, ...], address: str | None, use_model: bool, limits: dict[str, Any]) -> None:
    """Reject options that contradict each other, before anything is read."""
    if address is not None and Path(address).exists():
        raise click.UsageError(
            f"--ray took {address!r} as its address. Write --ray as the last option, or --ray=local."
        )
    if not inputs:
        raise click.UsageError("Pass files or folders with conversations.")
    if use_model and address is not None:
        raise click.UsageError(
            "--use-model runs on one machine, so that its limits apply to all requests; omit --ray."
        )
    limit = next((name for name, value in limits.items() if value is not None), None)
    if limit and not use_model:
        raise click.UsageError(f"{limit} limits the summary model; add --use-model.")


def _plan(settings: Settings, every: bool) -> tuple[BatchPlan, list[str]]:
    """The plan for every conversation, and notices for the user."""
    model, compression = settings.model, settings.compression
    card, name = model.card(), model.name or ""
    notices = []
    if settings.context.engine != COMPRESSOR:
        notices.append(
            f"context.engine is {plain(settings.context.engine)!r}; the built-in compressor is used here."
        )
    plan = BatchPlan(
        model=name,
        window=model.context_length or card.prompt_limit,
        threshold=compression.threshold,
        target_ratio=compression.target_ratio,
        protect_last_n=compression.protect_last_n,
        target_tokens=compression.target_tokens,
        evidence=compression.evidence,
        prompt=read_prompt_file(compression.prompt_file),
        media=card.media,
        only_if_due=not every,
    )
    if name and model.context_length is None and not card.known:
        notices.append(
            f"model {plain(name)!r} is unknown; a window of {plan.window:,} tokens is assumed. Set --window."
        )
    if name or model.context_length:
        return plan, notices
    notices.append(
        f"rows that name no known model get a window of {DEFAULT_WINDOW:,} tokens. Set --model or --window."
    )
    # Only the settings that decide about windows; nothing else is sent to other processes and machines.
    windows = Settings(model=settings.model, compression=compression, models=settings.models)
    return replace(plan, settings=windows), notices


def _auxiliary(settings: Settings, retries: int | None) -> Auxiliary:
    attempts = None if retries is None else Retries(attempts=retries + 1)
    auxiliary, found = open_summary_model(settings, quiet=False, retries=attempts)
    _note(*found)
    if auxiliary is None:
        raise UserError(
            "--use-model: there is no summary model. Set auxiliary.compression.model, or the API key of a provider."
        )
    return auxiliary


def _runner(plan: BatchPlan, workers: int | None, address: str | None) -> Runner:
    if plan.summarizer is not None:
        return partial(in_threads, at_once=plan.at_once)
    if address is not None:
        return partial(on_ray, address=address, workers=workers)
    return partial(in_processes, workers=workers or cores())


def _run(run: BulkRun, folder: OutputFolder, runner: Runner, summaries: LimitedSummaries | None) -> None:
    """Process everything, with a progress bar."""
    if folder.rows and not folder.is_finished:
        _note(f"continuing {folder.path}: {folder.rows:,} rows are done.")
    if summaries is not None and not folder.is_finished:
        summaries.continue_from(folder.open_spend_log())
    console = Console(stderr=True)
    columns = (
        TextColumn("compacting"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rows]:,} rows"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=run.size, completed=folder.size, rows=folder.rows)

        def moved() -> None:
            progress.update(task, completed=folder.size, rows=folder.rows)
            if summaries is not None:
                folder.spent = summaries.spent

        try:
            run_bulk(run, folder, runner, moved)
        except KeyboardInterrupt:
            progress.stop()
            raise CommandInterrupted(
                f"{folder.rows:,} rows are in {folder.path}, and a few more will be reused. "
                "Run the same command again to continue."
            ) from None


def _show_results(folder: OutputFolder) -> None:
    kept = folder.rows - folder.rejected
    click.echo(f"{kept:,} rows in {folder.path / DATA}")
    if folder.rejected:
        click.echo(f"{folder.rejected:,} rows set aside in {folder.path / REJECTS}")
    if folder.spent:
        click.echo(f"${folder.spent:.2f} spent on summaries")
    click.echo(f"Statistics in {folder.path / STATISTICS}")


def _note(*notices: str) -> None:
    for notice in notices:
        show_notice(notice)
