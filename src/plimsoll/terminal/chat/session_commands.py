"""Slash commands that change which session is open: /new, /resume, /fork, /retry, and the engine of the chat."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from plimsoll.archive import OPERATOR, Session
from plimsoll.assembly import failed_plugins
from plimsoll.errors import UserError
from plimsoll.messages.printable import plain
from plimsoll.sessions import SessionActions
from plimsoll.terminal.chat.chat_session import ChatSession
from plimsoll.terminal.chat.picker import Choice, pick
from plimsoll.terminal.chat.status_lines import thousands
from plimsoll.terminal.sessions.times import time_ago
from plimsoll.transcripts import counted

OFFERED = 200  # newest sessions in the picker
_ENGINE = "context.engine"


async def new(chat: ChatSession, _argument: str) -> None:
    """Start another session with the same model and engine."""
    left = chat.id if await chat.has_messages() else None
    await chat.reopen(None)
    if left:
        chat.screen.note(f"The previous session is kept: /resume {left}")


async def resume(chat: ChatSession, argument: str) -> None:
    """Continue another session: the named one, or one from a list."""
    id = argument or await _picked(chat)
    if id is None:
        return
    found = await chat.archive.session(id)
    if found.id == chat.id:
        chat.screen.note(f"{found.id} is open already.")
        return
    await chat.reopen(found.id)


def _actions(chat: ChatSession) -> SessionActions:
    return SessionActions(chat.archive, chat.id, OPERATOR)


async def fork(chat: ChatSession, argument: str) -> None:
    """Continue in a copy of this session, from its newest message or from message N."""
    if argument and not argument.isdecimal():
        raise UserError(f"{plain(argument)!r} is not a message number: /fork [N]")
    before = chat.id
    child = await _actions(chat).fork(at=int(argument) if argument else None)
    await chat.reopen(child.id, quiet=True)
    chat.screen.note(
        f"Continuing in {child.id}, a fork with {child.messages:,} messages.\n/resume {before} goes back.", ""
    )


async def retry(chat: ChatSession, _argument: str) -> None:
    """Repeat the last request, in a fork that ends before it."""
    stored = await chat.last_request()
    if stored is None:
        raise UserError("There is no request to repeat yet.")
    before = chat.id
    child = await _actions(chat).fork(at=stored.sequence - 1)
    await chat.reopen(child.id, quiet=True)
    chat.screen.note(f"Asking again in {child.id}.\n/resume {before} shows the previous answer.")
    await chat.say(stored.message["content"])


async def engine(chat: ChatSession, argument: str) -> None:
    """Show the context engine, or use another one for the rest of this chat."""
    if argument:
        await _use_engine(chat, argument)
    host = chat.opened.conversation.agent.compactor.host
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    status: dict[str, Any] = await host.ask("get_status", {})
    for name, value in status.items():
        if value in ("", None):
            continue
        shown = f"{value:,}" if isinstance(value, int) else plain(str(value))
        table.add_row(Text(name.replace("_", " "), "dim"), shown)
    table.add_row(Text("summaries", "dim"), Text(plain(chat.opened.summaries.headline)))
    chat.screen.show(table)
    chat.opened.conversation.agent.emit_notices(chat.screen.emit)


async def _use_engine(chat: ChatSession, name: str) -> None:
    context = chat.settings.context.model_copy(update={"engine": name})
    wanted = chat.settings.model_copy(update={"context": context})
    # In a thread: it loads the plugin's code.
    failed = await asyncio.to_thread(failed_plugins, wanted, chat.environ, chat.home, chat.place)
    why = failed.get((_ENGINE, name))
    if why:
        raise UserError(f"The engine was not changed: {why} `plimsoll plugins list` shows all engines.")
    chat.settings = wanted
    await chat.reopen(chat.id, quiet=True)
    chat.screen.note(
        f"The engine is {plain(name)} until you leave; `plimsoll plugins use {plain(name)}` keeps it.", ""
    )


async def _picked(chat: ChatSession) -> str | None:
    newest = await chat.archive.sessions(limit=OFFERED)
    # A terminal that was closed before the first message leaves a session with nothing but the system prompt.
    found = [item for item in newest if item.id != chat.id and (item.messages > 1 or item.title)]
    if not found:
        raise UserError("There is no other session to continue.")
    if not chat.screen.is_interactive:
        raise UserError("Name the session: /resume ID. /sessions lists them.")
    return await pick("Resume a session", _rows(found, time.time()))


def _rows(sessions: Sequence[Session], now: float) -> list[Choice]:
    """A row for each session; a narrow terminal omits the sizes."""
    ages = [time_ago(session.updated, now) for session in sessions]
    widths = max(len(session.id) for session in sessions), max(map(len, ages))
    return [
        Choice(
            session.id,
            f"{session.id.ljust(widths[0])}  {age.rjust(widths[1])}  {_title(session)}",
            _size(session),
        )
        for session, age in zip(sessions, ages, strict=True)
    ]


def _title(session: Session) -> str:
    return plain(session.title) or "(no title)"


def _size(session: Session) -> str:
    return f" · {counted(session.messages, 'message', 'messages')}, {thousands(session.tokens)} tokens"
