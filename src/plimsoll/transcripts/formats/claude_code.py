"""Claude Code sessions: `~/.claude/projects/*/*.jsonl`.

    {"type": "user" | "assistant", "message": {…}, "uuid", "parentUuid", "isSidechain", …}
    {"type": "system" | "summary" | "attachment" | "file-history-snapshot" | …}     passed over

      u1 ── a1 ── u2 ── a2          abandoned by the user: skipped
              └── u3 ── a3 ── …     the branch that ends the file: read

The lines of one reply share a `message.id` and are merged. The log keeps the turns
that Claude Code compacted, so its summaries are skipped if their turns are present.
Side chains (conversations of sub-agents) are skipped unless the file contains nothing else.

A written session has one line per message, each a child of the previous one.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll.dialects import ANTHROPIC, decode_anthropic_conversation
from plimsoll.errors import TranscriptError
from plimsoll.messages import Message, tool_calls
from plimsoll.messages.untyped import list_of
from plimsoll.transcripts.formats.chat import anthropic_problem
from plimsoll.transcripts.formats.format import Record, SessionStamp, WritableFormat
from plimsoll.transcripts.formats.log import from_log, log_records
from plimsoll.transcripts.transcript import Transcript, counted

_SYNTHETIC = "<synthetic>"  # the model name of replies that the harness wrote
# The model name for replies of models other than Claude. Claude Code requires a name; it does not determine which
# model answers next.
_ANY_MODEL = "claude-sonnet-4-5"
_VERSION = "2.1.325"  # the Claude Code version that resuming is tested with


class ClaudeCodeFormat(WritableFormat):
    """Session logs of Claude Code."""

    name = "claude-code"
    title = "a Claude Code session"
    program = "Claude Code"
    dialect = ANTHROPIC

    def recognises(self, record: Any) -> bool:
        return isinstance(record, dict) and isinstance(record.get("type"), str)

    def read(self, records: Iterable[Record], source: str) -> Iterator[Transcript]:
        log = _SessionLog(source)
        for line, record in log_records(records, source, self):
            log.take(record, line)
        entries = log.main or log.side
        active = _active(entries, log) if entries else []
        notices = _notices(log, left=len(entries) - len(active))
        yield from_log(_decoded(active), source, self, log.session, log.model, notices, log.project)

    def lines(self, messages: Sequence[Message], stamp: SessionStamp) -> Iterator[dict[str, Any]]:
        model = stamp.model if stamp.model.startswith("claude") else _ANY_MODEL
        above: str | None = None
        for message in messages:
            for wire in self.dialect.written([message], model):
                uuid = stamp.uuid(above)
                line = _line(wire, stamp, uuid, above)
                if wire["role"] == "assistant":
                    line["message"] = _reply(wire, model, uuid, bool(tool_calls(message)))
                elif message.get("name") == "meta":
                    line["isMeta"] = True
                yield line
                above = uuid


def _line(wire: dict[str, Any], stamp: SessionStamp, uuid: str, above: str | None) -> dict[str, Any]:
    return {
        "parentUuid": above,
        "isSidechain": False,
        "userType": "external",
        "cwd": stamp.project,
        "sessionId": stamp.id,
        "version": _VERSION,
        "gitBranch": "",
        "type": wire["role"],
        "message": wire,
        "uuid": uuid,
        "timestamp": stamp.time,
    }


def _reply(wire: dict[str, Any], model: str, uuid: str, has_calls: bool) -> dict[str, Any]:
    """An assistant message as the API returns it."""
    return {
        "id": f"msg_{uuid.replace('-', '')}",
        "type": "message",
        **wire,
        "model": model,
        "stop_reason": "tool_use" if has_calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


@dataclass(frozen=True, slots=True)
class _SessionEntry:
    """One line with a message, or part of one."""

    line: int
    uuid: str | None
    message: dict[str, Any]
    is_meta: bool = False  # written by the harness, not by the person

    @property
    def reply_id(self) -> str | None:
        """The id that the lines of one reply share."""
        return _text(self.message.get("id")) if self.message["role"] == "assistant" else None

    def blocks(self, kind: str) -> Iterator[dict[str, Any]]:
        """The content blocks of one type."""
        for block in list_of(self.message["content"]):
            if block.get("type") == kind:
                yield block


class _SessionLog:
    """The lines with messages, and their parents."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.session: str | None = None
        self.model: str | None = None
        self.project: str | None = None
        self.main: list[_SessionEntry] = []
        self.side: list[_SessionEntry] = []
        self.parents: dict[str, str | None] = {}
        self.lines: dict[str, int] = {}
        self.summaries = 0

    def take(self, record: dict[str, Any], line: int) -> None:
        uuid = _text(record.get("uuid"))
        if uuid:
            self.parents[uuid] = _text(record.get("parentUuid") or record.get("logicalParentUuid"))
            self.lines[uuid] = line
        self.session = self.session or _text(record.get("sessionId"))
        self.project = self.project or _text(record.get("cwd"))
        message = record.get("message")
        if record.get("type") not in ("user", "assistant") or not isinstance(message, dict):
            return
        if record.get("isApiErrorMessage") is True:
            return
        if (model := _text(message.get("model"))) != _SYNTHETIC:
            self.model = model or self.model
        message = _slim(message)
        problem = anthropic_problem(message)
        if problem:
            raise TranscriptError(f"{self.source}: line {line} cannot be read: {problem}.")
        entries = self.side if record.get("isSidechain") is True else self.main
        if record.get("isCompactSummary") is True and entries:
            self.summaries += 1
        elif message["content"]:
            entries.append(_SessionEntry(line, uuid, message, record.get("isMeta") is True))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _slim(message: dict[str, Any]) -> dict[str, Any]:
    """The message with only the keys that belong to the conversation: no usage figures and the like."""
    return {key: message.get(key) for key in ("role", "content", "id") if key in message}


def _notices(log: _SessionLog, left: int) -> list[str]:
    notices = []
    if log.main and log.side:
        notices.append(f"{counted(len(log.side), 'message', 'messages')} of side chains (sub-agents) skipped")
    if left:
        notices.append(f"{counted(left, 'message', 'messages')} skipped: on an abandoned branch")
    if log.summaries:
        notices.append(
            f"{counted(log.summaries, 'summary', 'summaries')} by Claude Code skipped: the original turns are read"
        )
    return notices


def _active(entries: list[_SessionEntry], log: _SessionLog) -> list[_SessionEntry]:
    """The entries on the branch that ends the file, in file order.

    Parallel calls are siblings in the tree, so the branch alone would miss some of them:
    all lines of its replies, and all results of their calls, belong to it.
    """
    branch = _branch(entries, log)
    replies = {entry.reply_id for entry in entries if entry.uuid in branch} - {None}
    calls = {
        block.get("id")
        for entry in entries
        if entry.uuid in branch or entry.reply_id in replies
        for block in entry.blocks("tool_use")
    }
    return [
        entry
        for entry in entries
        if entry.uuid is None
        or entry.uuid in branch
        or entry.reply_id in replies
        or any(block.get("tool_use_id") in calls for block in entry.blocks("tool_result"))
    ]


def _branch(entries: list[_SessionEntry], log: _SessionLog) -> set[str]:
    """The ids from the last entry up to the root. Where the tree is broken, file order applies."""
    lines = [entry.line for entry in entries]
    branch: set[str] = set()
    current, at = entries[-1].uuid, len(entries) - 1
    while True:
        if current is not None and current in log.lines and current not in branch:
            branch.add(current)
            at = bisect_left(lines, log.lines[current])
            current = log.parents[current]
            continue
        at -= 1
        while at >= 0 and entries[at].uuid in branch:
            at -= 1
        if at < 0:
            return branch
        current = entries[at].uuid


def _decoded(entries: list[_SessionEntry]) -> list[Message]:
    """The canonical conversation; user messages that the harness wrote have the name `meta`."""
    wire = _merged(entries)
    messages = decode_anthropic_conversation(None, wire)
    at = 0
    for message in wire:
        places = range(at, at + len(decode_anthropic_conversation(None, [message])))
        at = places.stop
        if message.get("is_meta"):
            for index in places:
                if messages[index]["role"] == "user":
                    messages[index] = {**messages[index], "name": "meta"}
    return messages


def _merged(entries: list[_SessionEntry]) -> list[dict[str, Any]]:
    """One message per reply: its lines joined at the position of the first, without repeated blocks."""
    messages: list[dict[str, Any]] = []
    place: dict[str, int] = {}
    for entry in entries:
        content = entry.message["content"]
        message = {"role": entry.message["role"], "content": content, "is_meta": entry.is_meta}
        reply = entry.reply_id
        if reply is None or reply not in place:
            if reply is not None:
                place[reply] = len(messages)
            messages.append(message)
            continue
        before = _as_blocks(messages[place[reply]]["content"])
        new = [block for block in _as_blocks(message["content"]) if block not in before]
        messages[place[reply]] = {**messages[place[reply]], "content": [*before, *new]}
    return messages


def _as_blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
