"""`plimsoll handoff`: writes the state of the work in a conversation as a Markdown document.

    FILE | SESSION | --latest AGENT ─► every message is read ─► nine headings and evidence ─► screen or -o FILE

The document is for the person or agent that continues the work. Notices go to standard error.
"""

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

import click
from rich.console import Console

from plimsoll.archive import title_of
from plimsoll.config import load_settings
from plimsoll.context.compressor import HANDOFF_TOKENS, write_handoff
from plimsoll.context.ledger import NONE, parse_sections
from plimsoll.context.report import NO_MODEL_SUMMARY
from plimsoll.errors import UserError
from plimsoll.messages import SYSTEM_ROLES
from plimsoll.messages.printable import plain
from plimsoll.models import estimate_messages_tokens_rough
from plimsoll.plugins.prompt_file import read_prompt_file
from plimsoll.secrets import redact
from plimsoll.terminal.prose import show_notice
from plimsoll.terminal.session_source import latest_option, newest_of, only_one, read_source
from plimsoll.terminal.standard_output import STANDARD_STREAM, write_document
from plimsoll.terminal.summary_model import open_summary_model
from plimsoll.terminal.token_option import tokens_option
from plimsoll.transcripts import Transcript, counted, write_file

_TITLE = 80


@click.command()
@click.argument("source", metavar="FILE|SESSION", required=False)
@latest_option
@click.option("--line", metavar="N", type=click.IntRange(1), help="The conversation in line N of FILE.")
@click.option(
    "--tokens",
    metavar="TOKENS",
    callback=tokens_option,
    help=f"Maximum tokens of the document: 3000, 8K.  [{HANDOFF_TOKENS:,}]",
)
@click.option("--focus", metavar="TOPIC", help="Topic that gets most of the document.")
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
    """Write the state of the work as a Markdown document.

    FILE is a session or conversation in any form that `plimsoll compress` reads; - reads standard input. SESSION is
    the id of a session of an agent, or of a stored one.

    \b
    plimsoll handoff session.jsonl -o handoff.md
    plimsoll handoff --latest claude --no-model
    plimsoll handoff 20261115-09 --focus "the booking rules"
    """
    if (source is None) == (latest is None):
        raise click.UsageError("Name a FILE or a SESSION, or an agent with --latest.")
    loaded = load_settings()
    transcript = only_one(read_source(newest_of(latest) if latest else str(source)), line)
    model, found = (None, []) if no_model else open_summary_model(loaded.settings, quiet=True)
    _show_notices([*loaded.notices, *found, *transcript.notices])
    _check(transcript)
    prompt = read_prompt_file(loaded.settings.compression.prompt_file)
    with model or nullcontext():
        written = write_handoff(
            transcript.messages,
            tokens or HANDOFF_TOKENS,
            model,
            focus,
            evidence=not no_evidence,
            prompt=prompt,
        )
    if written.failure:
        _show_notices(
            [f"{NO_MODEL_SUMMARY.format(plain(written.failure)).rstrip('.')}; Plimsoll wrote it itself."]
        )
    by = "by a model and Plimsoll" if written.source == "model" else "by Plimsoll, without a model,"
    _write(plain(f"{_heading(transcript, by, written.text)}\n\n{written.text}\n"), output)


def _check(transcript: Transcript) -> None:
    if all(message.get("role") in SYSTEM_ROLES for message in transcript.messages):
        raise UserError(
            f"{transcript.place}: nothing was said in this conversation, so there is nothing to hand off."
        )


def _heading(transcript: Transcript, by: str, text: str) -> str:
    title = plain(_aim_of(text) or redact(title_of(transcript.messages)) or Path(transcript.source).stem)
    short = title if len(title) <= _TITLE else title[: _TITLE - 1].rsplit(" ", 1)[0] + "…"
    messages = counted(len(transcript.messages), "message", "messages")
    tokens = estimate_messages_tokens_rough(transcript.messages)
    where = plain(Path(transcript.source).name)
    return f"# Hand-off: {short}\n\nWritten {by} from {where} ({messages}, about {tokens:,} tokens)."


def _aim_of(text: str) -> str:
    """The first line under Goal; the first request can start with lines that a program put around it."""
    goal = parse_sections(text).get("Goal", "").strip()
    first = goal.splitlines()[0].lstrip("-* ").strip() if goal else ""
    return "" if first == NONE else first


def _write(text: str, output: str | None) -> None:
    if output and output != STANDARD_STREAM:
        write_file(output, [text.encode("utf-8", "replace")])
        Console(soft_wrap=True).print(f"Written to {output}", markup=False, highlight=False)
        return
    write_document([text])


def _show_notices(notices: Iterable[str]) -> None:
    for notice in notices:
        show_notice(notice)
