"""The slash commands of the chat.

    "/compress the parser" ─► run_command ─► SlashCommand ─► run(chat, "the parser")

Output goes where answers go. A mistake shows a message; only `/quit` ends the chat.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from plimsoll.agent import can_draft
from plimsoll.assembly import window_notices
from plimsoll.errors import UserError
from plimsoll.messages.printable import plain
from plimsoll.models import estimate_tools_tokens
from plimsoll.plugins import PluginCommand
from plimsoll.terminal.chat import (
    archive_commands,
    edit_commands,
    inspect_command,
    output_commands,
    session_commands,
    view_commands,
)
from plimsoll.terminal.chat.chat_session import ChatSession
from plimsoll.terminal.chat.context_usage import context_bar, context_usage
from plimsoll.terminal.chat.status_lines import nearest_sentence, start_lines
from plimsoll.terminal.suggestions import similar_names
from plimsoll.terminal.tables import before_after, cleared_list, summary_panel

PREVIEW = "--preview"


class LeaveChat(Exception):
    """The user leaves the chat."""


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """One command: its syntax and what it does."""

    usage: str
    about: str
    run: Callable[[ChatSession, str], Awaitable[None]]
    also: tuple[str, ...] = ()  # aliases

    @property
    def name(self) -> str:
        return self.usage.split()[0].removeprefix("/")

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.also)


async def run_command(chat: ChatSession, text: str) -> None:
    """Run a line that starts with a slash."""
    name, _, argument = text.removeprefix("/").partition(" ")
    known = {item: command for command in available(chat).values() for item in command.names}
    command = known.get(name.lower())
    if command is None:
        raise UserError(nearest_sentence(name, similar_names(name.lower(), known)))
    await command.run(chat, argument.strip())


def available(chat: ChatSession) -> dict[str, SlashCommand]:
    """All commands by name; plugin commands come after the built-in ones, which keep their names."""
    theirs = {command.name: command for command in chat.opened.plugins.commands if command.name not in _TAKEN}
    return {**ALL, **{name: _of_plugin(command) for name, command in theirs.items()}}


def _of_plugin(command: PluginCommand) -> SlashCommand:
    async def run(chat: ChatSession, argument: str) -> None:
        try:
            output = await asyncio.to_thread(command.run, argument)
        except Exception as error:  # plugin code may raise anything; the chat continues
            raise UserError(f"/{command.name} failed: {type(error).__name__}: {error}") from None
        chat.screen.show(Text(plain(str(output))))

    return SlashCommand(f"/{command.name} [TEXT]", command.description or "from a plugin", run)


async def compress(chat: ChatSession, argument: str) -> None:
    words = argument.split()
    focus = " ".join(word for word in words if word != PREVIEW) or None
    if PREVIEW in words:
        await preview(chat, focus)
        return
    conversation = chat.opened.conversation
    if await chat.run(conversation.compress(chat.screen.emit, focus), "compacting") and chat.opened.auxiliary:
        for note in chat.opened.auxiliary.notes[-1:]:
            chat.screen.note(f"note: {note}", "yellow")


async def preview(chat: ChatSession, focus: str | None) -> None:
    """Show what `/compress` would do, without calling a model or changing anything."""
    agent = chat.opened.conversation.agent
    with chat.screen.busy("Computing the preview."):
        report = await agent.preview(focus)
    if report is None or report.outcome != "compacted":
        reason = plain(report.reason) if report else ""
        chat.screen.note(f"nothing would change: {reason}")
        return
    chat.screen.show(before_after(report))
    if report.pruned:
        chat.screen.show(cleared_list(report.pruned, restore="/recall HANDLE shows"))
    chat.screen.show(summary_panel(report.whole_summary, report.summary_source))
    writer = chat.opened.summaries.candidates
    who = f" Without {PREVIEW}, {plain(writer[0].title)} writes the summary." if writer else ""
    name = agent.compactor.engine.name
    if not can_draft(agent.compactor.engine):
        who = f" The engine {plain(name)} has no preview; this is what the built-in compressor would do."
    chat.screen.note(f"Nothing was changed.{who}")


async def context(chat: ChatSession, _argument: str) -> None:
    agent = chat.opened.conversation.agent
    found = context_usage(
        await chat.archive.items(chat.id),
        await chat.archive.pins(chat.id),
        estimate_tools_tokens(agent.connection.tools),
        agent.connection.tokens(agent.view),
        agent.compactor.engine.context_length,
        agent.compactor.trigger.trigger_tokens if agent.compactor.rules.enabled else None,
    )
    chat.screen.show(context_bar(found, chat.screen.out.width))


async def model(chat: ChatSession, argument: str) -> None:
    if argument and not await chat.run(chat.switch_model(argument), "connecting"):
        return
    for line in start_lines(chat.opened, is_new=False)[1:]:
        chat.screen.note(line, "")
    card = chat.opened.conversation.agent.connection.card
    for notice in window_notices(chat.settings.for_model(card.name), card):
        chat.screen.note(f"note: {notice}", "yellow")


async def show_help(chat: ChatSession, _argument: str) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for command in available(chat).values():
        also = f" (also {', '.join(f'/{name}' for name in command.also)})" if command.also else ""
        table.add_row(Text(command.usage, "cyan"), f"{command.about}{also}")
    chat.screen.show(table)
    chat.screen.note(
        "@file attaches a file or an image, !command runs a command. Ctrl-C stops an answer, Ctrl-D leaves, "
        "Alt-Enter inserts a new line, Ctrl-O unfolds output, Shift-Tab switches how edits are treated."
    )


async def leave(_talk: ChatSession, _argument: str) -> None:
    raise LeaveChat


_COMMANDS = (
    SlashCommand(
        "/compact [FOCUS]",
        "compact the conversation now; --preview shows the effect",
        compress,
        ("compress",),
    ),
    SlashCommand("/undo", "undo the last compaction or edit", view_commands.undo),
    SlashCommand("/redo", "redo what you undid", view_commands.redo),
    SlashCommand("/drop N…", "drop messages from what the model sees", view_commands.drop),
    SlashCommand("/summary", "edit the summary in $EDITOR", view_commands.summary),
    SlashCommand("/context", "show what fills the window", context),
    SlashCommand("/cost", "show tokens, cache use and cost", archive_commands.usage, ("usage",)),
    SlashCommand("/new", "start a new session", session_commands.new, ("clear",)),
    SlashCommand("/resume [ID]", "continue another session", session_commands.resume),
    SlashCommand("/sessions", "the newest sessions", archive_commands.sessions),
    SlashCommand("/fork [N]", "continue in a copy, from message N", session_commands.fork),
    SlashCommand("/retry", "ask your last request again, in a fork", session_commands.retry),
    SlashCommand("/search TEXT", "search all messages of all sessions", archive_commands.search),
    SlashCommand("/recall HANDLE", "show the content of a handle", archive_commands.recall),
    SlashCommand("/pin [N]", "keep message N (or your last one) word for word", archive_commands.pin),
    SlashCommand("/unpin N", "unpin message N", archive_commands.unpin),
    SlashCommand("/model [NAME]", "switch to another model", model),
    SlashCommand("/engine [NAME]", "show the context engine, or use another one", session_commands.engine),
    SlashCommand("/edits [MODE]", "changes to files: ask, accept or plan", edit_commands.edits),
    SlashCommand("/tools", "list the tools of the model", output_commands.tools),
    SlashCommand("/inspect", "show this session in the browser", inspect_command.inspect),
    SlashCommand("/edit [TEXT]", "write your message in $EDITOR", output_commands.edit),
    SlashCommand("/copy [N]", "copy the last answer, or message N", output_commands.copy),
    SlashCommand("/export [FORMAT] [FILE]", "write Markdown, HTML or JSON", output_commands.export),
    SlashCommand("/help", "this list", show_help),
    SlashCommand("/quit", "leave; the session is kept", leave, ("exit",)),
)
ALL = {command.name: command for command in _COMMANDS}
_TAKEN = {name for command in _COMMANDS for name in command.names}
