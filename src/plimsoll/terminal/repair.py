"""`plimsoll repair`: say why a provider refuses a conversation, and write one that it accepts.

    FILE | SESSION | --latest AGENT ─► findings ─► --output

In a file with the dialect's format, only the messages change; without a problem it is copied byte for byte. A
session, or a file in another format, is written in the dialect's format. Exit code 1: problems were found, and
nothing was written.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from plimsoll.dialects import dialect_named
from plimsoll.errors import UserError
from plimsoll.messages.printable import plain
from plimsoll.terminal.prose import show_notice
from plimsoll.terminal.session_source import latest_option, newest_of, only_one, read_source
from plimsoll.terminal.standard_output import STANDARD_STREAM, write_json
from plimsoll.transcripts import Transcript, counted, format_dialect, read_body, write_file
from plimsoll.transcripts.portable import without_private_fields
from plimsoll.transcripts.repair import DIALECTS, RepairResult, repair_body

_MAX_SHOWN = 20


@dataclass(frozen=True, slots=True)
class _Original:
    """The conversation as a request, and its bytes if the file is one."""

    place: str
    dialect: str
    body: dict[str, Any]
    raw: bytes | None = None
    is_list: bool = False  # the file has only the list of messages
    notices: tuple[str, ...] = ()


@click.command()
@click.argument("source", metavar="FILE|SESSION", required=False)
@latest_option
@click.option(
    "--for",
    "dialect",
    type=click.Choice(DIALECTS),
    help="The API that refuses it; by default, the API of its format.",
)
@click.option("--line", metavar="N", type=click.IntRange(1), help="The conversation in line N of FILE.")
@click.option(
    "--model", metavar="NAME", default="", help="The model it is for, where the rules depend on it."
)
@click.option(
    "--portable",
    is_flag=True,
    help="Also remove what only its provider accepts: thinking, signatures, encrypted items.",
)
@click.option("-o", "--output", metavar="OUT", help="Output file; - is standard output.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each problem.")
def repair(
    source: str | None,
    latest: str | None,
    dialect: str | None,
    line: int | None,
    model: str,
    portable: bool,
    output: str | None,
    as_json: bool,
) -> None:
    """Say why a provider refuses a conversation, and repair it.

    FILE is a request body, a conversation or a session in any form that `plimsoll compress` reads. The result goes to
    --output; without it, nothing is written. A conversation without a problem is copied as it is.

    \b
    plimsoll repair request.json -o repaired.json
    plimsoll repair --latest claude --for openai -o messages.json
    """
    if (source is None) == (latest is None):
        raise click.UsageError("Name a FILE or a SESSION, or an agent with --latest.")
    if as_json and output == STANDARD_STREAM:
        raise click.UsageError(
            "--json and --output - both write to standard output; pass a file to --output."
        )
    path = newest_of(latest) if latest else str(source)
    original = _read(path, dialect, line)
    for notice in original.notices:
        show_notice(f"{original.place}: {notice}")
    named = model or str(original.body.get("model") or "")
    repaired = repair_body(original.body, original.dialect, model=named, is_portable=portable)
    for shown in _json_lines(repaired) if as_json else _report(original, repaired):
        click.echo(shown, err=output == STANDARD_STREAM)
    if output is not None:
        _write(original, repaired, output, path)
    elif repaired.findings:
        if not as_json:
            click.echo("Nothing is written. Name a file with --output.")
        sys.exit(1)


def _read(path: str, dialect: str | None, line: int | None) -> _Original:
    """The conversation as a request of the dialect."""
    if line is None and path != STANDARD_STREAM and Path(path).is_file():
        found = read_body(path)
        if found is not None and dialect in (None, found.dialect):
            return _Original(path, found.dialect, found.body, found.raw, found.is_list)
    transcript = only_one(read_source(path), line)
    wire = dialect or format_dialect(transcript)
    body = dialect_named(wire).document(_messages(transcript, wire), {}, is_object=True)
    return _Original(transcript.place, wire, body, notices=transcript.notices)


def _messages(transcript: Transcript, wire: str) -> list[Any]:
    is_same = format_dialect(transcript) == wire
    return transcript.messages if is_same else without_private_fields(transcript.messages)


def _report(original: _Original, repaired: RepairResult) -> Iterator[str]:
    title = dialect_named(original.dialect).title
    count = len(repaired.findings)
    if not count:
        yield f"{plain(original.place)}: no problems for {title}"
        return
    yield f"{plain(original.place)}: {counted(count, 'problem', 'problems')} for {title}"
    for finding in repaired.findings[:_MAX_SHOWN]:
        yield f"  {plain(str(finding))}"
    if count > _MAX_SHOWN:
        yield f"  … and {count - _MAX_SHOWN} more; --json lists them all."


def _json_lines(repaired: RepairResult) -> Iterator[str]:
    for finding in repaired.findings:
        yield json.dumps(
            {"place": finding.place, "problem": finding.problem, "repair": finding.repair}, ensure_ascii=False
        )


def _write(original: _Original, repaired: RepairResult, output: str, path: str) -> None:
    if (
        output != STANDARD_STREAM
        and Path(output).exists()
        and Path(path).exists()
        and Path(output).samefile(path)
    ):
        raise UserError(f"{output} is the original, which is never changed. Name another file with --output.")
    field = dialect_named(original.dialect).messages_field
    if original.raw is not None and not repaired.findings:
        data = original.raw
    else:
        value = (
            repaired.body[field] if original.is_list and repaired.body.keys() == {field} else repaired.body
        )
        data = (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "surrogatepass")
    if output == STANDARD_STREAM:
        write_json([data])
        return
    write_file(output, [data])
    click.echo(f"Written to {output}")
