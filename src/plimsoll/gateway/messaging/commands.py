"""The slash commands of a messaging room.

    /new  /compress [FOCUS]  /undo  /usage  /help        "!" works too: some clients intercept "/"

A command runs at most once: if the process ends while it runs, the user must send it again.
"""

import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from plimsoll.archive import CompactionEvent
from plimsoll.archive.inbox import IncomingMessage
from plimsoll.errors import PlimsollError
from plimsoll.gateway.sessions import OwnerSessions

_WRITTEN = re.compile(r"[/!](?P<name>[a-z]+)(?:@\w+)?(?:\s+(?P<argument>.*))?", re.DOTALL | re.I)
_log = logging.getLogger(__name__)
NOTHING_YET = "There are no messages here yet."


@dataclass(frozen=True, slots=True)
class CommandContext:
    """What commands work on: the room's sessions, and its current one (empty: none yet)."""

    own: OwnerSessions
    session: str
    begin: Callable[[], Awaitable[str]]  # a new session for the room


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """One command: its syntax and what it does."""

    usage: str
    about: str
    run: Callable[[CommandContext, str], Awaitable[str]]


def command_in(message: IncomingMessage) -> tuple[str, str] | None:
    """The command in a message and its argument; None for an ordinary message.

    A single word after a slash counts as a command, known or not; "/tmp is full" does not.
    """
    found = _WRITTEN.fullmatch(message.text)
    if message.kind != "text" or found is None:
        return None
    name, argument = found["name"].lower(), (found["argument"] or "").strip()
    is_meant = name in ALL or (message.text.startswith("/") and not argument)
    return (name, argument) if is_meant else None


async def run_command(context: CommandContext, name: str, argument: str) -> str:
    """Run a command. Returns the reply to the user."""
    command = ALL.get(name)
    if command is None:
        return f"There is no /{name} here.\n\n{_listed()}"
    try:
        return await command.run(context, argument)
    except PlimsollError as error:
        _log.warning("/%s failed: %s", name, error)
        return error.public


async def new(context: CommandContext, _argument: str) -> str:
    if not context.session:
        return NOTHING_YET
    # A new conversation may help if the old one cannot be opened.
    with suppress(PlimsollError):
        await context.own.end(context.session)
    await context.begin()
    return f"Started a new conversation. The previous one is kept as {context.session}."


async def compress(context: CommandContext, argument: str) -> str:
    if not context.session:
        return NOTHING_YET
    event = await context.own.compact(context.session, argument or None)
    return compaction_line(event)


async def undo(context: CommandContext, _argument: str) -> str:
    if not context.session:
        return NOTHING_YET
    before, _ = await context.own.archive.view_size(context.session)
    await context.own.undo(context.session)
    after, tokens = await context.own.archive.view_size(context.session)
    return f"Undone: {before:,} → {after:,} messages, {tokens:,} tokens."


async def usage(context: CommandContext, _argument: str) -> str:
    if not context.session:
        return NOTHING_YET
    total = await context.own.archive.usage_total(context.session)
    messages, tokens = await context.own.archive.view_size(context.session)
    done = [
        event
        for event in await context.own.archive.compactions(context.session)
        if event.outcome == "compacted"
    ]
    money = f"${total.money:.4f}" + (
        f" ({total.unpriced:,} requests without a price)" if total.unpriced else ""
    )
    session = await context.own.session(context.session)
    return "\n".join((
        f"session: {session.id}, with {session.model or 'no model yet'}",
        f"the model sees: {messages:,} of {session.messages:,} messages, {tokens:,} tokens",
        f"requests: {total.requests:,}",
        f"input tokens: {total.input:,}",
        f"cache: {total.cache_read:,} tokens read, {total.cache_write:,} written",
        f"output tokens: {total.output:,}",
        f"compactions: {len(done):,}",
        f"money: {money}",
    ))  # fmt: skip


async def show_help(_counter: CommandContext, _argument: str) -> str:
    return _listed()


def compaction_line(event: CompactionEvent) -> str:
    """One line about the result of a compaction."""
    if event.outcome != "compacted":
        return f"Nothing was changed: {event.reason}"
    return (
        f"Compacted: {event.messages_before:,} → {event.messages_after:,} messages, "
        f"{event.tokens_before:,} → {event.tokens_after:,} tokens. /undo restores it."
    )


def _listed() -> str:
    return "\n".join(f"{command.usage}: {command.about}" for command in _COMMANDS)


_COMMANDS = (
    ChatCommand("/new", "start a new conversation; the old one is kept", new),
    ChatCommand("/compress [FOCUS]", "compact the conversation now", compress),
    ChatCommand("/undo", "undo the last compaction", undo),
    ChatCommand("/usage", "show tokens, cache use and cost", usage),
    ChatCommand("/help", "this list", show_help),
)
ALL = {command.usage.split()[0].removeprefix("/"): command for command in _COMMANDS}
ALL["start"] = ALL["help"]  # Telegram sends this when a user opens a chat with a bot
