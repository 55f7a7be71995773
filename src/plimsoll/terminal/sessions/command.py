"""`plimsoll sessions`: the subcommands for stored conversations.

    list · show · search · export        read
    compact · edit · drop · undo · …     change what the model sees; the log stays (actions.py)
    import · delete                      add, remove

A session is named by its id or a unique prefix.
"""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Literal

import click
from rich.console import Console, RenderableType
from rich.text import Text

from plimsoll.archive import OPERATOR, Action, Node, Owner, SearchPage, SearchQuery, Session, View
from plimsoll.errors import UserError
from plimsoll.messages.printable import plain
from plimsoll.terminal.interruption import reporting_progress
from plimsoll.terminal.prose import show_notice
from plimsoll.terminal.sessions import actions, compactions, conversation, hits, listing, transfer
from plimsoll.terminal.sessions.store_access import (
    StoreAccess,
    has_archive,
    nothing_yet,
    open_store,
    session_ids,
)
from plimsoll.terminal.sessions.times import parse_time
from plimsoll.terminal.standard_output import PIPED_WIDTH, STANDARD_STREAM

ROLES = ("system", "developer", "user", "assistant", "tool")


@click.group()
def sessions() -> None:
    """Show, search, export and manage stored conversations."""


for command in actions.ALL:
    sessions.add_command(command)


@sessions.command("list")
@click.option(
    "--limit", type=click.IntRange(1), default=50, show_default=True, help="Maximum number of sessions."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_sessions(limit: int, as_json: bool) -> None:
    """List sessions, most recently used first."""
    found: list[Session] = []
    if has_archive():
        with open_store() as access:
            found = access.run(access.store.sessions(limit=limit))
    if as_json:
        click.echo(json.dumps([listing.facts(item) for item in found], indent=2))
    elif found:
        console = _console()
        console.print(listing.table(found, time.time(), console.width))
        if len(found) == limit:
            console.print(Text(f"the newest {limit}; --limit shows more", "dim"))
    else:
        click.echo(nothing_yet())


@sessions.command()
@click.argument("session", shell_complete=session_ids)
@click.option(
    "--view", "as_view", is_flag=True, help="Use the model's view instead of the whole conversation."
)
@click.option(
    "--compactions", "events", is_flag=True, help="Show each compaction with removed and kept messages."
)
@click.option("--sources", is_flag=True, help="With --compactions: the source messages of each line.")
@click.option("--json", "as_json", is_flag=True, help="Print the messages as JSON lines.")
def show(session: str, as_view: bool, events: bool, sources: bool, as_json: bool) -> None:
    """Show a whole conversation.

    It includes the messages that left the model's view.
    """
    if as_view and events:
        raise click.UsageError("--view and --compactions cannot be combined; choose one.")
    if sources and not events:
        raise click.UsageError("--sources shows where the lines of summaries come from; add --compactions.")
    with open_store() as access:
        found = access.run(access.store.session(session))
        if events:
            _pages(_events(access, found, sources))
        elif as_json:
            for message in _view(access, found) if as_view else transfer.messages_of(access, found):
                click.echo(json.dumps(message))
        else:
            _pages(_seen(access, found) if as_view else _log(access, found))


@sessions.command()
@click.argument("text")
@click.option("--regex", "mode", flag_value="regex", help="TEXT is a regular expression.")
@click.option("--substring", "mode", flag_value="substring", help="TEXT may match inside words.")
@click.option("--session", metavar="ID", shell_complete=session_ids, help="Search one session.")
@click.option(
    "--owner",
    default=OPERATOR,
    show_default=True,
    help="Search the sessions of this owner (see `sessions list --json`).",
)
@click.option("--role", type=click.Choice(ROLES), help="Only messages of this role.")
@click.option("--tool", default="", metavar="NAME", help="Only calls of this tool and their results.")
@click.option(
    "--file", "path", default="", metavar="PATH", help="Only messages and calls that name this file."
)
@click.option("--errors", is_flag=True, help="Only results of failed calls.")
@click.option("--since", metavar="WHEN", help="A date, a date and time, or 90m, 3h, 2d, 1w ago.")
@click.option("--before", metavar="WHEN", help="Likewise.")
@click.option(
    "--order", type=click.Choice(["newest", "oldest", "relevance"]), default="newest", show_default=True
)
@click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, help="Maximum number of hits."
)
@click.option("--cursor", type=int, help="Continue an earlier search.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def search(
    text: str,
    mode: Literal["regex", "substring"] | None,
    session: str | None,
    owner: str,
    role: str | None,
    tool: str,
    path: str,
    errors: bool,
    since: str | None,
    before: str | None,
    order: Literal["newest", "oldest", "relevance"],
    limit: int,
    cursor: int | None,
    as_json: bool,
) -> None:
    """Search messages and the arguments of tool calls for TEXT.

    A message must contain all words of TEXT. "Quotes" match a phrase, and conf* matches words with that prefix. If no
    word matches, TEXT is searched inside words.
    """
    from plimsoll.sessions import MessageFilter  # it imports the agent, which listing sessions does not need

    now = time.time()
    chosen = MessageFilter(tool, path, errors)
    with open_store() as access:
        within = access.run(access.store.session(session)) if session else None
        archive = access.archive_of(within) if within else access.store.for_owner(Owner(owner))
        query = SearchQuery(
            text,
            mode or "words",
            session=within.id if within else None,
            role=role,
            since=None if since is None else parse_time(since, now),
            before=None if before is None else parse_time(before, now),
            order=order,
            limit=limit,
            cursor=cursor,
            accepts=None if chosen.is_empty else chosen,
        )
        page = access.run(archive.search(query))
        inside = not page.hits and mode is None and cursor is None and order != "relevance"
        if inside:
            page = access.run(archive.search(replace(query, mode="substring")))
    if as_json:
        facts = {"hits": [hits.facts(hit) for hit in page.hits], "next": page.next, "complete": page.complete}
        click.echo(json.dumps(facts, indent=2))
        return
    _show_hits(page, text, inside)


@sessions.command()
@click.argument("session", shell_complete=session_ids)
@click.option(
    "--format",
    "form",
    type=click.Choice([*transfer.FORMATS, *transfer.DOCUMENTS]),
    default="openai",
    show_default=True,
)
@click.option(
    "--view", "as_view", is_flag=True, help="Use the model's view instead of the whole conversation."
)
@click.option("-o", "--output", metavar="FILE", help="Output file.  [standard output]")
def export(session: str, form: str, as_view: bool, output: str | None) -> None:
    """Export a conversation as JSON, Markdown or HTML."""
    with open_store() as access:
        found = access.run(access.store.session(session))
        messages = _view(access, found) if as_view else transfer.messages_of(access, found)
        transfer.export_session(found, iter(messages), form, output)
        done = Action("export", OPERATOR, {"format": form, "view": as_view})
        access.run(access.archive_of(found).record_action(found.id, done))
    if output and output != STANDARD_STREAM:
        click.echo(f"Written to {output}")


@sessions.command()
@click.argument("session", nargs=-1, required=True, shell_complete=session_ids)
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(session: tuple[str, ...], yes: bool) -> None:
    """Delete sessions and all their messages. This cannot be undone."""
    with open_store() as access:
        found = [access.run(access.store.session(id)) for id in dict.fromkeys(session)]
        for item in found:
            name = f"{item.id} ({plain(item.title) or 'no title'}, {item.messages:,} messages)"
            if not yes and not click.confirm(f"Delete {name} permanently?"):
                click.echo(f"Kept {item.id}.")
                continue
            shared = access.run(access.archive_of(item).delete(item.id))
            kept = f" {shared:,} of its messages stay, because forks share them." if shared else ""
            click.echo(f"Deleted {item.id}.{kept}")


@sessions.command("import")
@click.argument(
    "paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=str, allow_dash=True)
)
@click.option("--title", help="The title.  [the first request]")
def import_files(paths: tuple[str, ...], title: str | None) -> None:
    """Import the conversations in FILE as sessions. Prints their ids.

    FILE is a conversation in OpenAI or Anthropic form (JSON or JSON lines), a Claude Code session, or a Codex
    rollout; - reads standard input.
    """
    transcripts = transfer.read(paths)
    for transcript in transcripts:
        for notice in transcript.notices:
            show_notice(f"{transcript.place}: {notice}")
    stored = 0
    with (
        reporting_progress(lambda: f"Imported {stored:,} of {len(transcripts):,} conversations."),
        open_store(create=True) as access,
    ):
        for transcript in transcripts:
            click.echo(transfer.import_transcript(access, transcript, title).id)
            stored += 1


def _console() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    return console


def _pages(blocks: Iterable[RenderableType]) -> None:
    """Use the user's pager on a terminal; print directly otherwise."""
    page = conversation.MessagePage(_console())
    click.echo_via_pager(page.text(block) for block in blocks)


def _log(access: StoreAccess, session: Session) -> Iterator[RenderableType]:
    pinned = set(access.run(access.archive_of(session).pins(session.id)))
    yield _heading(session)
    for first in range(1, session.messages + 1, transfer.PAGE):
        for entry in access.run(
            access.archive_of(session).messages(session.id, first, first + transfer.PAGE - 1)
        ):
            yield conversation.stored(entry, pinned)


def _seen(access: StoreAccess, session: Session) -> Iterator[RenderableType]:
    pinned = set(access.run(access.archive_of(session).pins(session.id)))
    items = access.run(access.archive_of(session).items(session.id))
    yield _heading(session)
    tokens = sum(item.tokens for item in items)
    yield Text(f"the model sees {len(items):,} messages, {tokens:,} tokens\n", "dim")
    for item in items:
        node = access.run(access.archive_of(session).node(item.node)) if item.node else None
        yield conversation.seen(item, node, pinned)


def _view(access: StoreAccess, session: Session) -> list[dict[str, object]]:
    return [item.message for item in access.run(access.archive_of(session).items(session.id))]


def _events(access: StoreAccess, session: Session, sources: bool) -> Iterator[RenderableType]:
    yield _heading(session)
    events = access.run(access.archive_of(session).compactions(session.id, limit=1_000_000))
    if not events:
        yield Text("Never compacted: the model sees the whole conversation.")
    for number, event in enumerate(events, 1):
        before, after = (_known(access, session, view) for view in (event.view_before, event.view_after))
        nodes: list[Node] = []
        if event.outcome in ("compacted", "edited") and before is not None and after is not None:
            nodes = [
                access.run(access.archive_of(session).node(id)) for id in compactions.new_nodes(before, after)
            ]
        yield compactions.described(number, event, before, after, nodes, session.messages)
        if sources:
            yield compactions.sources_of(event, partial(_place, access, session))


def _place(access: StoreAccess, session: Session, number: int, handle: str) -> int | None:
    from plimsoll.sessions.compaction_detail import cited_message

    return access.run(cited_message(access.archive_of(session), session.id, number, handle))


def _known(access: StoreAccess, session: Session, number: int) -> View | None:
    try:
        return access.run(access.archive_of(session).view(session.id, number))
    except UserError:
        return None


def _heading(session: Session) -> Text:
    parts = [f"{session.messages:,} messages", f"{session.tokens:,} tokens"]
    if session.model:
        parts.append(plain(session.model))
    if session.owner != OPERATOR:
        parts.append(f"owner {plain(session.owner)}")
    if session.parent:
        parts.append(f"fork of {session.parent} at message {session.forked_at}")
    title = plain(session.title) or "(no title)"
    return Text.assemble((title, "bold"), "\n", (session.id, "cyan"), (f"  {' · '.join(parts)}\n", "dim"))


def _show_hits(page: SearchPage, text: str, inside: bool) -> None:
    console = _console()
    if inside and page.hits:
        console.print(Text("No word matches; these messages contain the text inside words.", "dim"))
    for line in hits.shown(page):
        console.print(line)
    if not page.hits and page.complete:
        console.print(Text(f"No messages match {plain(text)!r}."))
    if not page.complete:
        console.print(Text("Stopped at the time limit; the search is incomplete.", "yellow"))
    if page.next is not None:
        flag = "--substring " if inside else ""
        console.print(Text(f"more with {flag}--cursor {page.next}", "dim"))
