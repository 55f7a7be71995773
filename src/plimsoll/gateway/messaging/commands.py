"""What a person can ask for in a chat beside talking.

    /new  /compress [FOCUS]  /undo  /usage  /help        "!" does as well: some clients keep "/" to themselves

A command is run once; where the process ends in the middle of it, the person asks again.
"""

import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from plimsoll.archive import CompactionEvent
from plimsoll.archive.mail import Letter
from plimsoll.errors import PlimsollError
from plimsoll.gateway.sessions import OwnerSessions

_WRITTEN = re.compile(r"[/!](?P<name>[a-z]+)(?:@\w+)?(?:\s+(?P<argument>.*))?", re.DOTALL | re.I)
_log = logging.getLogger(__name__)
NOTHING_YET = "Nothing has been said here yet."


@dataclass(frozen=True, slots=True)
class Counter:
    """Where commands are carried out: the sessions of the room, and the one that it has now; empty: none yet."""

    own: OwnerSessions
    session: str
    begin: Callable[[], Awaitable[str]]  # a new session for the room


@dataclass(frozen=True, slots=True)
class Command:
    """One command: how it is written, what it does."""

    usage: str
    about: str
    run: Callable[[Counter, str], Awaitable[str]]


def command_in(letter: Letter) -> tuple[str, str] | None:
    """The command that a letter is, and what stands behind it; None for one that just talks.

    A single word behind a slash is meant as one, known or not; "/tmp is full" is not.
    """
    found = _WRITTEN.fullmatch(letter.text)
    if letter.kind != "text" or found is None:
        return None
    name, argument = found["name"].lower(), (found["argument"] or "").strip()
    is_meant = name in ALL or (letter.text.startswith("/") and not argument)
    return (name, argument) if is_meant else None


async def run_command(counter: Counter, name: str, argument: str) -> str:
    """What is said to the person who asked."""
    command = ALL.get(name)
    if command is None:
        return f"There is no /{name} here.\n\n{_listed()}"
    try:
        return await command.run(counter, argument)
    except PlimsollError as error:
        _log.warning("/%s failed: %s", name, error)
        return error.public


async def new(counter: Counter, _argument: str) -> str:
    if not counter.session:
        return NOTHING_YET
    # A new conversation may be just what helps where the old one cannot be opened.
    with suppress(PlimsollError):
        await counter.own.end(counter.session)
    await counter.begin()
    return f"A new conversation begins. The one before is kept as {counter.session}."


async def compress(counter: Counter, argument: str) -> str:
    if not counter.session:
        return NOTHING_YET
    event = await counter.own.compact(counter.session, argument or None)
    return compaction_line(event)


async def undo(counter: Counter, _argument: str) -> str:
    if not counter.session:
        return NOTHING_YET
    before, _ = await counter.own.archive.weight(counter.session)
    await counter.own.undo(counter.session)
    after, tokens = await counter.own.archive.weight(counter.session)
    return f"Undone: {before:,} → {after:,} messages, {tokens:,} tokens."


async def usage(counter: Counter, _argument: str) -> str:
    if not counter.session:
        return NOTHING_YET
    total = await counter.own.archive.usage_total(counter.session)
    messages, tokens = await counter.own.archive.weight(counter.session)
    done = [
        one for one in await counter.own.archive.compactions(counter.session) if one.outcome == "compacted"
    ]
    money = f"${total.money:.4f}" + (
        f" ({total.unpriced:,} requests without a price)" if total.unpriced else ""
    )
    session = await counter.own.session(counter.session)
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


async def show_help(_counter: Counter, _argument: str) -> str:
    return _listed()


def compaction_line(event: CompactionEvent) -> str:
    """What came of a compaction."""
    if event.outcome != "compacted":
        return f"Nothing was changed: {event.reason}"
    return (
        f"Compacted: {event.messages_before:,} → {event.messages_after:,} messages, "
        f"{event.tokens_before:,} → {event.tokens_after:,} tokens. /undo takes it back."
    )


def _listed() -> str:
    return "\n".join(f"{command.usage}: {command.about}" for command in _COMMANDS)


_COMMANDS = (
    Command("/new", "begin a new conversation; the old one is kept", new),
    Command("/compress [FOCUS]", "make the conversation lighter now", compress),
    Command("/undo", "take the last compaction back", undo),
    Command("/usage", "tokens, cache and money so far", usage),
    Command("/help", "this list", show_help),
)
ALL = {command.usage.split()[0].removeprefix("/"): command for command in _COMMANDS}
ALL["start"] = ALL["help"]  # what Telegram sends when somebody opens a chat with a bot
