"""Displays messages: the whole log, or what the model sees.

    ── 12 · user · 2026-11-15 09:45 · pinned ──────────────
    Fix the failing tests.

    ── 13 · assistant ─────────────────────────────────────
    → terminal command: pytest -x

Nothing is omitted or folded. Text of a conversation is shown as text, never as terminal control sequences.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.rule import Rule
from rich.text import Text

from plimsoll.archive import Node, NodeLink, Span, StoredMessage, ViewItem
from plimsoll.messages import (
    Message,
    arguments_of,
    arguments_text,
    call_name,
    part_text,
    parts_of,
    tool_calls,
)
from plimsoll.messages.printable import plain
from plimsoll.terminal.sessions.times import format_time

_COLOURS = {"user": "green", "assistant": "cyan", "tool": "yellow", "system": "magenta"}
_REASONING = ("reasoning_content", "reasoning")


@dataclass(frozen=True, slots=True)
class MessagePage:
    """A console that writes to a string."""

    console: Console

    def text(self, piece: RenderableType) -> str:
        with self.console.capture() as captured:
            # A file has no width limit: lines are not wrapped.
            self.console.print(piece, soft_wrap=not self.console.is_terminal)
        return captured.get()


@dataclass(frozen=True, slots=True)
class _Heading:
    """A line across the terminal; a file, which has no width, gets a short one."""

    text: Text

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        if options.is_terminal:
            yield Rule(self.text, align="left", style="dim")
        else:
            yield Text.assemble("── ", self.text, " ──")


def stored(message: StoredMessage, pinned: Collection[int]) -> Group:
    """A message of the log."""
    mark = " · pinned" if message.sequence in pinned else ""
    heading = f"{message.sequence} · {message.role} · {format_time(message.time)}{mark}"
    return _block(heading, message.message)


def seen(item: ViewItem, node: Node | None, pinned: Collection[int]) -> Group:
    """A message as the model sees it, with the messages that it covers."""
    role = str(item.message.get("role", ""))
    if node is not None:
        return _block(f"{role} · {node.kind} {node.id} · {covered_by(node)}", item.message)
    mark = f" · shortened, original: {item.handle}" if item.shortened else ""
    mark += " · pinned" if item.sequence in pinned else ""
    return _block(f"{item.sequence} · {role} · {item.tokens:,} tokens{mark}", item.message)


def covered_by(node: Node) -> str:
    """The sources of a node as a phrase."""
    if not node.sources:
        return "covers no messages in the log"
    return f"covers {', '.join(_source(source) for source in node.sources)}"


def _source(source: Span | NodeLink) -> str:
    if isinstance(source, NodeLink):
        return f"node {source.node}"
    return (
        f"message {source.first}" if source.first == source.last else f"messages {source.first}–{source.last}"
    )


def _block(heading: str, message: Message) -> Group:
    colour = _COLOURS.get(str(message.get("role")), "white")
    return Group(_Heading(Text(plain(heading), f"bold {colour}")), *_body(message), Text(""))


def _body(message: Message) -> Iterator[Text]:
    for key in _REASONING:
        if isinstance(message.get(key), str) and message[key]:
            yield Text(plain(message[key]), "dim italic")
    for part in parts_of(message):
        text = part_text(part)
        yield Text(plain(text)) if text else Text(f"[{plain(str(part.get('type', 'part')))}]", "dim")
    for call in tool_calls(message):
        yield Text.assemble(("→ ", "dim"), (plain(call_name(call)), "bold"), plain(_arguments(call)))


def _arguments(call: dict[str, object]) -> str:
    arguments = arguments_of(call)
    if not arguments:
        raw = arguments_text(call)
        return f" {raw}" if raw not in ("", "{}") else ""
    return "".join(
        f"\n  {name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in arguments.items()
    )
