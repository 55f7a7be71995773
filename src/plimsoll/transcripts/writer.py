"""Writes conversations back in the format they were read in.

    list → list · object → the same object, messages replaced · one per line → one per line
    Anthropic → Anthropic · several → JSON lines
    the log of an agent → a list of OpenAI messages, or one on each line of a file that is named *.jsonl

Writes are atomic: the data goes to a temporary file in the same folder, which then
replaces the target. If writing fails, the old file stays unchanged. A new file is readable only for its owner:
conversations contain secrets.
"""

import errno
import json
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO, Any

from plimsoll.errors import UserError, advice_on
from plimsoll.transcripts.formats.registry import log_title
from plimsoll.transcripts.transcript import Transcript

PRIVATE_MODE = 0o600
_MAX_LINKS = 40  # as the system allows


def write_transcripts(path: str | os.PathLike[str], transcripts: Sequence[Transcript]) -> None:
    """Write all conversations to one file, atomically."""
    if Path(path).suffix.lower() == ".jsonl":
        transcripts = [
            replace(transcript, shape="lines") if log_title(transcript.format) else transcript
            for transcript in transcripts
        ]
    is_json = Path(path).suffix.lower() == ".json" and len(transcripts) > 1
    write_file(path, _as_list(transcripts) if is_json else serialised(transcripts))


def write_file(path: str | os.PathLike[str], pieces: Iterable[bytes]) -> None:
    """Write these bytes to a file, atomically."""
    try:
        target = _target_of(Path(path))
        if target.exists() and not target.is_file() and not target.is_dir():
            # A device or pipe cannot be renamed over, and must not be.
            with target.open("wb") as handle:
                handle.writelines(pieces)
            return
        _replace(target, pieces)
    except OSError as error:
        raise UserError(
            f"{os.fspath(path)} cannot be written: {error.strerror or error}. "
            f"{advice_on(error)} Nothing was changed."
        ) from error


def write_stream(handle: IO[bytes], transcripts: Sequence[Transcript]) -> None:
    """Write all conversations to an open binary stream."""
    for piece in serialised(transcripts):
        handle.write(piece)


def serialised(transcripts: Sequence[Transcript]) -> Iterator[bytes]:
    """The bytes of the file, piece by piece."""
    if len(transcripts) != 1:
        for transcript in transcripts:
            yield json_line(_named(transcript))
        return
    (only,) = transcripts
    value = _shaped(only)
    if only.shape == "lines":
        yield from map(json_line, _messages_of(value))
    elif only.line is not None:
        yield json_line(value)
    else:
        yield _encoded(json.dumps(value, ensure_ascii=False, indent=2) + "\n", value, indent=2)


def _as_list(transcripts: Sequence[Transcript]) -> Iterator[bytes]:
    """Several conversations as one JSON list."""
    for number, transcript in enumerate(transcripts):
        yield b",\n" if number else b"[\n"
        yield json_line(_named(transcript)).rstrip(b"\n")
    yield b"\n]\n"


def _target_of(path: Path) -> Path:
    """The file that a path leads to through the user's own links.

    In a shared folder such as /tmp, somebody else could leave a link to one of the user's files. The system refuses
    to open files through such links, but not to rename a file over what they lead to.
    """
    for _ in range(_MAX_LINKS):
        if not path.is_symlink():
            break
        if path.lstat().st_uid not in (os.geteuid(), path.parent.stat().st_uid):
            raise PermissionError(errno.EACCES, "it is a link that another user created")
        path = path.parent / path.readlink()
    return Path(os.path.realpath(path))


def _replace(target: Path, pieces: Iterable[bytes]) -> None:
    if target.is_dir():
        raise IsADirectoryError(None, "it is a directory")
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.writelines(pieces)
            handle.flush()
            os.fsync(handle.fileno())
        Path(name).chmod(_mode_for(target))
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _mode_for(target: Path) -> int:
    """The permissions of the replaced file if it was the user's own."""
    if target.exists() and (was := target.stat()).st_uid == os.geteuid():
        return stat.S_IMODE(was.st_mode)
    return PRIVATE_MODE


def _named(transcript: Transcript) -> Any:
    """One conversation as a line of JSON Lines; a bare list gets an object with its id."""
    value = _shaped(transcript)
    if isinstance(value, dict) or transcript.line is not None:
        return value
    return {**({"id": transcript.id} if transcript.id else {}), "messages": value}


def _shaped(transcript: Transcript) -> Any:
    is_object = transcript.shape == "object"
    return transcript.dialect.document(transcript.messages, transcript.wrapper, is_object)


def _messages_of(value: Any) -> Iterable[Any]:
    """The lines of a one-message-per-line file; a separate system prompt goes first."""
    if isinstance(value, dict):
        return chain([{"role": "system", "content": value["system"]}], value["messages"])
    return list(value)


def json_line(value: Any) -> bytes:
    """One line of a JSON Lines file."""
    return _encoded(json.dumps(value, ensure_ascii=False) + "\n", value, indent=None)


def _encoded(text: str, value: Any, indent: int | None) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        # Half of a surrogate pair, from a JavaScript program that truncated a string: it must stay escaped.
        return (json.dumps(value, ensure_ascii=True, indent=indent) + "\n").encode("ascii")
