"""Slash commands that change what the model sees: /undo, /redo, /drop, /summary. The log does not change."""

import asyncio

import click

from plimsoll.context.markers import editable_text
from plimsoll.errors import UserError
from plimsoll.messages.printable import plain
from plimsoll.sessions import ActionResult
from plimsoll.sessions.view_edits import summary_item
from plimsoll.terminal.chat.chat_session import ChatSession, require
from plimsoll.terminal.sessions.actions import sentence, text_kept

PREVIEW = "--preview"


async def undo(chat: ChatSession, _argument: str) -> None:
    """Restore the view before the last compaction or edit."""
    async with chat.opened.conversation.open_actions() as actions:
        done = await actions.undo()
    _show_result(chat, done)


async def redo(chat: ChatSession, _argument: str) -> None:
    """Return to the view that was last undone."""
    async with chat.opened.conversation.open_actions() as actions:
        done = await actions.redo()
    _show_result(chat, done)


async def drop(chat: ChatSession, argument: str) -> None:
    """Drop messages from what the model sees."""
    words = require(argument, "/drop N… [--preview]").split()
    wrong = next((word for word in words if not word.isdecimal() and word != PREVIEW), None)
    if wrong is not None:
        raise UserError(f"{plain(wrong)!r} is not a message number: /drop N… [--preview]")
    numbers = [int(word) for word in words if word != PREVIEW]
    async with chat.opened.conversation.open_actions() as actions:
        done = await actions.drop(numbers, preview=PREVIEW in words)
    _show_result(chat, done)


async def summary(chat: ChatSession, _argument: str) -> None:
    """Edit the summary that the model sees, in $VISUAL or $EDITOR."""
    if not chat.screen.is_interactive:
        raise UserError(
            f"/summary needs a terminal; `plimsoll sessions edit {chat.id} --file FILE --node ID` needs none."
        )
    items = await chat.archive.items(chat.id)
    found = summary_item(await chat.archive.session(chat.id), items, None)
    before = editable_text(found.message)
    text = await asyncio.to_thread(click.edit, before, extension=".md")
    if text is None or text.strip() == before.strip():
        chat.screen.note("The editor saved no changes, so the summary was not changed.")
        return
    with text_kept(text):
        async with chat.opened.conversation.open_actions() as actions:
            done = await actions.edit_summary(text, node=found.node)
    _show_result(chat, done)


def _show_result(chat: ChatSession, done: ActionResult) -> None:
    for line in sentence(done).splitlines():
        chat.screen.note(line, "" if done.preview else "green")
