"""`plimsoll recall FILE HANDLE`, or `recall --example HANDLE`: prints cleared content.

    stub: … full text under handle h:3f2a9c1b7d  ──►  the tool result in the original file

Into a pipe or a file the content is exact, byte by byte; a terminal gets it without control sequences. A handle is a
content hash, so it finds the original in any copy of the conversation that contains it.
"""

import difflib
import json
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from string import hexdigits

import click

from plimsoll.context import handle_of
from plimsoll.errors import UserError
from plimsoll.messages import SYSTEM_ROLES, Message
from plimsoll.terminal.standard_output import STANDARD_STREAM, write_exact
from plimsoll.transcripts import EXAMPLE, Transcript, iter_transcripts, read_example, read_stream

NEAREST = 3
CLOSE_SIMILARITY = 0.75  # similarity of a handle with a typo or two; unrelated handles are less similar
MAX_SEARCHED = 50  # files in the same folder to search for the original
LARGEST_SEARCHED = 50_000_000  # maximum bytes of one of them


@click.command()
@click.argument("path", metavar="FILE", required=False, type=click.Path(path_type=str, allow_dash=True))
@click.argument("handle", metavar="HANDLE", required=False)
@click.option("--example", is_flag=True, help="Use the bundled conversation.")
def recall(path: str | None, handle: str | None, example: bool) -> None:
    """Print the original content of HANDLE from the original conversation FILE.

    A cleared tool result states its handle, such as h:3f2a9c1b7d. A unique prefix is enough.
    """
    if example:
        if handle is not None:
            raise click.UsageError("Pass a FILE or --example, not both.")
        path, handle = EXAMPLE, path
    if path is None:
        raise click.UsageError("Missing FILE, the original conversation, and the HANDLE.")
    if handle is None:
        raise click.UsageError("Missing HANDLE, such as h:3f2a9c1b7d.")
    _recall(path, handle, _results(read_example() if example else _transcripts(path)))


def _transcripts(path: str) -> Iterator[Transcript]:
    return (
        read_stream(sys.stdin.buffer, "standard input") if path == STANDARD_STREAM else iter_transcripts(path)
    )


def _results(transcripts: Iterable[Transcript]) -> Iterator[Message]:
    """Everything that a compaction may have cleared or shortened: tool results first, then other messages."""
    for transcript in transcripts:
        yield from (message for message in transcript.messages if message.get("role") not in SYSTEM_ROLES)


def _recall(path: str, handle: str, results: Iterable[Message]) -> None:
    digits = handle.strip().lower().removeprefix("h:")
    if set(digits) - set(hexdigits):
        raise UserError(f"{handle!r} is not a handle. A handle looks like h:3f2a9c1b7d.")
    wanted = f"h:{digits}"
    found: dict[str, Message] = {}
    for message in results:
        known = handle_of(message)
        if known == wanted:
            found = {known: message}
            break
        found.setdefault(known, message)
    fitting = [known for known in found if known.startswith(wanted) and len(wanted) > len("h:")]
    if len(fitting) != 1:
        original = None if fitting else _original(path, wanted)
        if original is not None:
            raise UserError(
                f"{path} no longer contains {wanted}; the original does: `plimsoll recall {original} {wanted}`."
            )
        raise UserError(_unknown(path, wanted, fitting, list(found)))
    _print(found[fitting[0]])


def _original(path: str, wanted: str) -> str | None:
    """What to pass to `recall` instead: a file of the same folder, or the bundled conversation."""
    if path in (STANDARD_STREAM, EXAMPLE) or len(wanted) <= len("h:"):
        return None
    found = _original_in_folder(path, wanted)
    if found is not None:
        return shlex.quote(str(found))
    return "--example" if _contains(read_example(), wanted) else None


def _contains(transcripts: Iterable[Transcript], wanted: str) -> bool:
    return any(handle_of(message).startswith(wanted) for message in _results(transcripts))


def _original_in_folder(path: str, wanted: str) -> Path | None:
    folder = Path(path).parent
    candidates = [
        file for file in sorted(folder.glob("*.json*")) if file.is_file() and file.name != Path(path).name
    ]
    for candidate in candidates[:MAX_SEARCHED]:
        if candidate.stat().st_size > LARGEST_SEARCHED:
            continue
        try:
            if _contains(iter_transcripts(str(candidate)), wanted):
                return candidate
        except UserError:  # not a conversation
            continue
    return None


def _unknown(path: str, wanted: str, fitting: list[str], known: list[str]) -> str:
    if fitting:
        shown = ", ".join(fitting[:NEAREST])
        return f"{wanted} matches {len(fitting)} messages in {path}: {shown}. Type more of it."
    if not known:
        return f"{path} contains no messages, so there is nothing to recall. Pass the original conversation."
    near = difflib.get_close_matches(wanted, known, n=NEAREST, cutoff=CLOSE_SIMILARITY)
    hint = (
        f"Nearest: {', '.join(near)}." if near else "Pass the original conversation, not the compacted one."
    )
    return f"No message in {path} has the handle {wanted}; it contains {len(known)} others. {hint}"


def _print(message: Message) -> None:
    content = message.get("content")
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=2)
    write_exact(text)
