"""Slash commands that read the archive: sessions, search, handles, pins, usage."""

import time
from datetime import datetime

from rich.table import Table
from rich.text import Text

from plimsoll.archive import NodeLink, SearchHit, SearchQuery
from plimsoll.errors import UserError
from plimsoll.messages import text_of
from plimsoll.messages.printable import plain
from plimsoll.terminal.chat.chat_session import ChatSession, require
from plimsoll.terminal.chat.status_lines import fitted, money_parts
from plimsoll.terminal.sessions import listing

SHOWN = 10


async def usage(chat: ChatSession, _argument: str) -> None:
    """Show tokens, cache use and cost of the session."""
    total = await chat.archive.usage_total(chat.id)
    compactions = [event for event in await chat.archive.compactions(chat.id) if event.outcome == "compacted"]
    table = _table()
    for name, value in (
        ("requests", total.requests),
        ("input tokens", total.input),
        ("read from the cache", total.cache_read),
        ("written to the cache", total.cache_write),
        ("output tokens", total.output),
        ("compactions", len(compactions)),
    ):
        table.add_row(Text(name, "dim"), f"{value:,}")
    for part in money_parts(total):
        is_share = part.startswith("cache ")
        label = "cache hits" if is_share else "cost"
        table.add_row(Text(label, "dim"), part.removeprefix("cache ") if is_share else part)
    if total.unpriced:
        table.add_row(Text("requests without a price", "dim"), f"{total.unpriced:,}")
    chat.screen.show(table)


async def sessions(chat: ChatSession, _argument: str) -> None:
    """Show the newest sessions."""
    found = await chat.archive.sessions(limit=SHOWN)
    chat.screen.show(listing.table(found, time.time(), chat.screen.out.width))
    chat.screen.note(f"This session is {chat.id}.")
    chat.screen.note("/resume ID continues another; a unique prefix of the id is enough.")


async def search(chat: ChatSession, argument: str) -> None:
    """Search all sessions."""
    page = await chat.archive.search(SearchQuery(require(argument, "/search TEXT"), limit=SHOWN))
    for hit in page.hits:
        where = "this session" if hit.session == chat.id else hit.session
        day = datetime.fromtimestamp(hit.time).strftime("%Y-%m-%d %H:%M")
        chat.screen.show(Text(f"{where} · message {hit.sequence} · {hit.role} · {day}", "dim"))
        chat.screen.show(_marked(hit))
    if not page.hits:
        chat.screen.note(f"No messages match {argument!r}.")
    elif page.next is not None:
        chat.screen.note(f"There may be more matches; `plimsoll sessions search {argument}` shows all.")


async def recall(chat: ChatSession, argument: str) -> None:
    """Show the full text of a handle."""
    handle = require(argument, "/recall HANDLE, such as /recall h:3f2a9c1b7d")
    if handle.startswith("n:"):
        await _recall_node(chat, handle)
        return
    wanted = handle if handle.startswith("h:") else f"h:{handle}"
    found = await chat.archive.find_by_handle(wanted, id=chat.id, limit=2)
    if not found:
        raise UserError(f"No content in this session has the handle {plain(wanted)}.")
    if len(found) > 1:
        raise UserError(f"More than one handle starts with {plain(wanted)}; type more of it.")
    chat.screen.note(f"message {found[0].sequence}, {found[0].role}")
    chat.screen.show(Text(plain(text_of(found[0].message))))


async def _recall_node(chat: ChatSession, id: str) -> None:
    """Show a node of this session and the messages that it covers."""
    found = [node for node in await chat.archive.nodes(chat.id, inherited=True) if node.id.startswith(id)]
    if len(found) != 1:
        problem = "More than one node starts with" if found else "There is no node"
        raise UserError(f"{problem} {plain(id)} in this session.")
    for source in found[0].sources:
        below = source.node if isinstance(source, NodeLink) else f"messages {source.first} to {source.last}"
        chat.screen.note(f"{found[0].id} covers {below}")
    chat.screen.show(Text(plain(text_of(found[0].message))))


async def pin(chat: ChatSession, argument: str) -> None:
    """Pin a message, by default the user's last one, and show all pinned messages."""
    sequence = _number(argument, "/pin N") if argument else await _last_request(chat)
    await chat.opened.conversation.pin(sequence)
    chat.screen.note(f"Message {sequence:,} stays word for word through every compaction.", "")
    await _show_pins(chat)


async def unpin(chat: ChatSession, argument: str) -> None:
    """Unpin a message."""
    sequence = _number(require(argument, "/unpin N"), "/unpin N")
    was_pinned = sequence in await chat.archive.pins(chat.id)
    await chat.opened.conversation.unpin(sequence)
    if was_pinned:
        chat.screen.note(f"Message {sequence:,} is no longer pinned.", "")
    else:
        chat.screen.note(f"Message {sequence:,} was not pinned.", "yellow")
    await _show_pins(chat)


def _marked(hit: SearchHit) -> Text:
    """The snippet with matches in bold."""
    marked = Text()
    place = 0
    for start, end in hit.marks:
        marked.append(plain(hit.snippet[place:start])).append(plain(hit.snippet[start:end]), "bold yellow")
        place = end
    return marked.append(plain(hit.snippet[place:]))


async def _show_pins(chat: ChatSession) -> None:
    pins = await chat.archive.pins(chat.id)
    for sequence in pins:
        (stored,) = await chat.archive.messages(chat.id, sequence, sequence)
        text = " ".join(plain(text_of(stored.message)).split())
        chat.screen.show(Text(fitted(f"◆ {sequence} {stored.role}: {text}", chat.screen.out.width)))
    if not pins:
        chat.screen.note("Nothing is pinned.")


async def _last_request(chat: ChatSession) -> int:
    stored = await chat.last_request()
    if stored is None:
        raise UserError("There is no message of yours to pin yet.")
    return stored.sequence


def _number(argument: str, usage: str) -> int:
    if not argument.isdecimal():
        raise UserError(f"{plain(argument)!r} is not a message number: {usage}")
    return int(argument)


def _table() -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    return table
