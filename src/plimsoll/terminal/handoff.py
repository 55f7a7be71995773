"""`plimsoll handoff`: write where the work of a conversation stands, as a Markdown document.

    FILE | SESSION | --latest AGENT ─► every message is read ─► nine headings and evidence ─► screen or -o FILE

The document is for whoever takes the work over, a person or another agent. Notices go to standard error.
"""

import os
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

import click
from rich.console import Console

from plimsoll.archive import title_of
from plimsoll.config import load_settings
from plimsoll.context.compressor import HANDOFF_TOKENS, write_handoff
from plimsoll.context.report import NO_MODEL_SUMMARY
from plimsoll.errors import UnknownSession, UserError
from plimsoll.messages import SYSTEM_ROLES
from plimsoll.models import estimate_messages_tokens_rough
from plimsoll.secrets import redact
from plimsoll.terminal.sessions import transfer
from plimsoll.terminal.sessions.store_access import has_archive, open_store
from plimsoll.terminal.summary_model import open_summary_model
from plimsoll.terminal.tables import plain
from plimsoll.terminal.token_option import tokens_option
from plimsoll.transcripts import AGENTS, Transcript, counted, newest_session, read_stream, read_transcripts

STANDARD = "-"
_TITLE = 80


@click.command()
@click.argument("source", metavar="FILE|SESSION", required=False)
@click.option("--latest", type=click.Choice(AGENTS), help="The session that this agent wrote last.")
@click.option("--line", metavar="N", type=click.IntRange(1), help="The conversation in line N of FILE.")
@click.option(
    "--tokens",
    metavar="TOKENS",
    callback=tokens_option,
    help=f"Most tokens of the document: 3000, 8K.  [{HANDOFF_TOKENS:,}]",
)
@click.option("--focus", metavar="TOPIC", help="What the document should dwell on.")
@click.option("--no-evidence", is_flag=True, help="Leave out the exact quotes after the headings.")
@click.option("--no-model", is_flag=True, help="Write it without asking a model; no network.")
@click.option("-o", "--output", metavar="OUT", help="Write to this file; - or nothing means standard output.")
def handoff(
    source: str | None,
    latest: str | None,
    line: int | None,
    tokens: int | None,
    focus: str | None,
    no_evidence: bool,
    no_model: bool,
    output: str | None,
) -> None:
    """Write where the work stands, as a Markdown document.

    FILE is a conversation in OpenAI or Anthropic form (JSON or JSON lines), a Claude Code session, or a Codex
    rollout; - reads standard input. SESSION is the id of a stored session, or a unique beginning of it.

    \b
    plimsoll handoff session.jsonl -o handoff.md
    plimsoll handoff --latest claude --no-model
    plimsoll handoff 20261115-09 --focus "the booking rules"
    """
    if (source is None) == (latest is None):
        raise click.UsageError("Name a FILE or a SESSION, or say --latest claude or --latest codex.")
    loaded = load_settings()
    transcript = _chosen(_read(source, latest), line)
    model, found = (None, []) if no_model else open_summary_model(loaded.settings, quiet=True)
    _tell([*loaded.notices, *found, *transcript.notices])
    _check(transcript)
    with model or nullcontext():
        written = write_handoff(
            transcript.messages, tokens or HANDOFF_TOKENS, model, focus, evidence=not no_evidence
        )
    if written.failure:
        _tell([f"{NO_MODEL_SUMMARY.format(plain(written.failure)).rstrip('.')}; Plimsoll wrote it itself."])
    by = "by a model and Plimsoll" if written.source == "model" else "by Plimsoll, without a model"
    _write(f"{_heading(transcript, by)}\n\n{written.text}\n", output)


def _read(source: str | None, latest: str | None) -> list[Transcript]:
    if latest is not None:
        path = newest_session(latest, os.environ, Path.home())
        _tell([f"reading {path}"])
        return read_transcripts(str(path))
    if source == STANDARD:
        return list(read_stream(sys.stdin.buffer, "standard input"))
    if Path(str(source)).exists():
        return read_transcripts(str(source))
    return [_stored(str(source))]


def _stored(name: str) -> Transcript:
    """The session of the archive that has this name."""
    unknown = f"There is no file {plain(name)!r}, and no stored session begins with it."
    if not has_archive():
        raise UserError(f"{unknown} Check the path; nothing is stored yet.")
    with open_store() as access:
        try:
            session = access.run(access.store.session(name))
        except UnknownSession as error:
            raise UserError(f"{unknown} `plimsoll sessions list` lists what is stored. {error}") from error
        return Transcript(list(transfer.said(access, session)), session.id, id=session.id)


def _chosen(transcripts: list[Transcript], line: int | None) -> Transcript:
    """The one conversation that is meant."""
    if line is not None:
        found = next((one for one in transcripts if one.line == line), None)
        if found is None:
            last = max((one.line or 1 for one in transcripts), default=0)
            raise UserError(
                f"--line {line}: {transcripts[0].source} has no conversation there; the last is in line {last}."
            )
        return found
    if len(transcripts) > 1:
        raise UserError(
            f"{transcripts[0].source} holds {len(transcripts)} conversations. Choose one with --line N."
        )
    return transcripts[0]


def _check(transcript: Transcript) -> None:
    if all(message.get("role") in SYSTEM_ROLES for message in transcript.messages):
        raise UserError(
            f"{transcript.place}: nothing was said in this conversation, so there is nothing to hand off."
        )


def _heading(transcript: Transcript, by: str) -> str:
    title = plain(redact(title_of(transcript.messages)) or Path(transcript.source).stem)
    short = title if len(title) <= _TITLE else title[: _TITLE - 1] + "…"
    messages = counted(len(transcript.messages), "message", "messages")
    tokens = estimate_messages_tokens_rough(transcript.messages)
    where = plain(Path(transcript.source).name)
    return f"# Hand-off: {short}\n\nWritten {by} from {where} ({messages}, about {tokens:,} tokens)."


def _write(text: str, output: str | None) -> None:
    if output and output != STANDARD:
        transfer.write_whole(Path(output), [text.encode("utf-8", "replace")])
        Console(soft_wrap=True).print(f"Written to {output}", markup=False, highlight=False)
        return
    console = Console()
    if console.is_terminal:
        console.print(plain(text), markup=False, highlight=False, soft_wrap=True)
    else:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()


def _tell(notices: Iterable[str]) -> None:
    for notice in notices:
        click.echo(f"note: {notice}", err=True)
