"""Slash commands that copy or export from the chat, or use an editor: /export, /copy, /edit, /tools."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from plimsoll.archive import OPERATOR, Action
from plimsoll.errors import UserError
from plimsoll.messages import Message, text_of
from plimsoll.messages.printable import plain
from plimsoll.models import estimate_tools_tokens
from plimsoll.terminal.chat.chat_session import ChatSession
from plimsoll.terminal.chat.clipboard import copy_text
from plimsoll.terminal.chat.status_lines import fitted
from plimsoll.terminal.sessions.transfer import PAGE, export_session

_FORMATS = {"markdown": "markdown", "md": "markdown", "html": "html", "json": "openai"}
_SUFFIXES = {"markdown": ".md", "html": ".html", "openai": ".json"}
OSC_52 = (
    "It puts them on the clipboard if its settings allow OSC 52; otherwise install wl-copy, xclip or xsel, "
    "or write a file with /export."
)
ABOUT = 200  # characters of a tool's description
EXPORT_USAGE = "/export [markdown|html|json] [FILE]"


async def export(chat: ChatSession, argument: str) -> None:
    """Write the whole conversation to a file: Markdown, HTML or JSON."""
    first, _, rest = argument.partition(" ")
    named = _FORMATS.get(first.lower())
    path = rest.strip() if named else argument
    form = named or _FORMATS.get(Path(path).suffix.removeprefix(".").lower(), "" if path else "markdown")
    if not form:
        raise UserError(
            f"{plain(path)!r} is no format, and no file that ends in .md, .html or .json: {EXPORT_USAGE}"
        )
    name = path or f"{chat.id}{_SUFFIXES[form]}"
    target = chat.place / Path(name).expanduser()
    if path and target.exists():
        raise UserError(f"{plain(str(target))} already exists and was not changed. Name another file.")
    session = await chat.archive.session(chat.id)
    messages = [message async for message in _messages(chat)]
    await asyncio.to_thread(export_session, session, iter(messages), form, str(target))
    await chat.archive.record_action(chat.id, Action("export", OPERATOR, {"format": form, "view": False}))
    chat.screen.note(f"{len(messages):,} messages written to {plain(name)}", "green")


async def copy(chat: ChatSession, argument: str) -> None:
    """Copy the last answer, or message N, to the clipboard."""
    if argument and not argument.isdecimal():
        raise UserError(f"{plain(argument)!r} is not a message number: /copy [N]")
    text = text_of(await _message(chat, int(argument)) if argument else await _last_answer(chat))
    if not text:
        raise UserError("That message has no text to copy.")
    program = await copy_text(text, chat.environ, chat.screen.write_control)
    if program:
        chat.screen.note(f"{len(text):,} characters copied with {program}.", "green")
    else:
        chat.screen.note(f"{len(text):,} characters sent to the terminal. {OSC_52}", "yellow")


async def edit(chat: ChatSession, argument: str) -> None:
    """Write the next message in $VISUAL or $EDITOR; it then appears at the prompt."""
    if not chat.screen.is_interactive:
        raise UserError("/edit needs a terminal.")
    with _sigint_ignored():  # Ctrl-C belongs to the editor
        written = await asyncio.to_thread(click.edit, argument, extension=".md")
    text = argument if written is None else written.rstrip("\n")
    chat.draft = text
    if written is None:
        chat.screen.note("The editor saved nothing.")


async def tools(chat: ChatSession, _argument: str) -> None:
    """Show the model's tools, each with its tokens in every request."""
    box = chat.opened.conversation.agent.toolbox
    if not len(box):
        chat.screen.note("This model has no tools.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=True, header_style="dim")
    table.add_column("tool", no_wrap=True)
    table.add_column("tokens", justify="right", no_wrap=True)
    table.add_column("what it does")
    schemas = box.schemas()
    for tool, schema in zip(box, schemas, strict=True):
        shown = fitted(_first_sentence(tool.definition.description), ABOUT)
        table.add_row(Text(plain(tool.name), "cyan"), f"{estimate_tools_tokens([schema]):,}", Text(shown))
    chat.screen.show(table)
    chat.screen.note(f"{estimate_tools_tokens(schemas):,} tokens in every request.")


def _first_sentence(description: str) -> str:
    """What a description begins with; some are pages long."""
    text = " ".join(plain(description).split())
    end = re.search(r"[.!?](?= [A-Z`])", text)
    return text[: end.end()] if end else text


async def _messages(chat: ChatSession) -> AsyncIterator[Message]:
    last = (await chat.archive.session(chat.id)).messages
    for first in range(1, last + 1, PAGE):
        for stored in await chat.archive.messages(chat.id, first, min(first + PAGE - 1, last)):
            yield stored.message


async def _message(chat: ChatSession, number: int) -> Message:
    last = (await chat.archive.session(chat.id)).messages
    if not 1 <= number <= last:
        raise UserError(f"There is no message {number:,}; this session has {last:,}.")
    (stored,) = await chat.archive.messages(chat.id, number, number)
    return stored.message


async def _last_answer(chat: ChatSession) -> Message:
    found = await chat.newest_message(
        lambda message: message.get("role") == "assistant" and bool(text_of(message))
    )
    if found is None:
        raise UserError("There is no answer to copy yet.")
    return found.message


@contextmanager
def _sigint_ignored() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
