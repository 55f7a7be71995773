"""Slash commands that change what the model sees: /undo, /redo, /drop, /summary. The log does not change."""

import asyncio

import click

from plimsoll.context.markers import editable_text
from plimsoll.errors import UserError
from plimsoll.sessions import ActionResult
from plimsoll.sessions.view_edits import summary_item
from plimsoll.terminal.chat.chat_session import ChatSession, require
from plimsoll.terminal.sessions.actions import sentence, text_kept
from plimsoll.terminal.tables import plain

PREVIEW = "--preview"


async def undo(talk: ChatSession, _argument: str) -> None:
    """Restore the view before the last compaction or edit."""
    async with talk.opened.conversation.acting() as actions:
        done = await actions.undo()
    _tell(talk, done)


async def redo(talk: ChatSession, _argument: str) -> None:
    """Return to the view that was last undone."""
    async with talk.opened.conversation.acting() as actions:
        done = await actions.redo()
    _tell(talk, done)


async def drop(talk: ChatSession, argument: str) -> None:
    """Drop messages from what the model sees."""
    words = require(argument, "/drop N… [--preview]").split()
    wrong = next((word for word in words if not word.isdecimal() and word != PREVIEW), None)
    if wrong is not None:
        raise UserError(f"{plain(wrong)!r} is not a message number: /drop N… [--preview]")
    numbers = [int(word) for word in words if word != PREVIEW]
    async with talk.opened.conversation.acting() as actions:
        done = await actions.drop(numbers, preview=PREVIEW in words)
    _tell(talk, done)


async def summary(talk: ChatSession, _argument: str) -> None:
    """Edit the summary that the model sees, in $VISUAL or $EDITOR."""
    if not talk.screen.is_interactive:
        raise UserError(
            f"/summary needs a terminal; `plimsoll sessions edit {talk.id} --file FILE --node ID` needs none."
        )
    items = await talk.archive.items(talk.id)
    found = summary_item(await talk.archive.session(talk.id), items, None)
    before = editable_text(found.message)
    text = await asyncio.to_thread(click.edit, before, extension=".md")
    if text is None or text.strip() == before.strip():
        talk.screen.note("The editor saved no changes, so the summary was not changed.")
        return
    with text_kept(text):
        async with talk.opened.conversation.acting() as actions:
            done = await actions.edit_summary(text, node=found.node)
    _tell(talk, done)


def _tell(talk: ChatSession, done: ActionResult) -> None:
    for line in sentence(done).splitlines():
        talk.screen.note(line, "" if done.preview else "green")
