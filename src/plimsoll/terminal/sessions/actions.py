"""The subcommands of `plimsoll sessions` that change what the model sees. The log does not change.

    compact · edit · drop · undo · redo · pin · unpin · fork · actions

Each is one operation of `plimsoll.sessions`, which the gateway calls too. `--preview` changes nothing. The operations
are imported only when a command runs, because listing sessions does not need them.
"""

import asyncio
import json
import os
import secrets
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from plimsoll.archive import OPERATOR, Action, Session
from plimsoll.errors import Conflict, EditRefused, UserError
from plimsoll.messages.printable import plain
from plimsoll.terminal.sessions.store_access import StoreAccess, open_store, session_ids
from plimsoll.terminal.sessions.times import format_time
from plimsoll.terminal.standard_output import STANDARD_STREAM
from plimsoll.terminal.tables import before_after, summary_panel

if TYPE_CHECKING:
    from plimsoll.sessions import ActionResult, CompactionDetail, SessionActions

_DONE = {"drop": "Dropped", "edit": "Edited", "undo": "Undone", "redo": "Redone"}
session_argument = click.argument("session", shell_complete=session_ids)
preview_option = click.option("--preview", is_flag=True, help="Show what would happen, and change nothing.")
Work = Callable[["SessionActions"], Coroutine[Any, Any, "ActionResult"]]


@click.command()
@session_argument
@click.argument("message", type=int, nargs=-1, required=True)
@preview_option
def drop(session: str, message: tuple[int, ...], preview: bool) -> None:
    """Drop each MESSAGE (its number) from what the model sees. A call and its results go together."""
    _act(session, lambda actions: actions.drop(message, preview=preview), preview)


@click.command()
@session_argument
@click.option("--file", "path", metavar="FILE", help="The new text; - reads standard input.  [$EDITOR]")
@click.option("--node", metavar="ID", help="The summary to replace; `show --view` names it.")
@preview_option
def edit(session: str, path: str | None, node: str | None, preview: bool) -> None:
    """Edit the summary that the model sees. Later compactions continue from your text."""
    if path is None:
        text, found = _edited(session, node)
        with text_kept(text):
            _act(session, lambda actions: actions.edit_summary(text, node=found, preview=preview), preview)
        return
    if node is None:
        raise click.UsageError(
            "--file needs --node ID, the summary that the text replaces: a compaction may have written a newer one. "
            f"`plimsoll sessions show {session} --view` names it."
        )
    text = _written(path)
    _act(session, lambda actions: actions.edit_summary(text, node=node, preview=preview), preview)


@click.command()
@session_argument
@preview_option
def undo(session: str, preview: bool) -> None:
    """Restore the view before the last compaction or edit. Later messages stay."""
    _act(session, lambda actions: actions.undo(preview=preview), preview)


@click.command()
@session_argument
@preview_option
def redo(session: str, preview: bool) -> None:
    """Return to the view that was last undone."""
    _act(session, lambda actions: actions.redo(preview=preview), preview)


@click.command()
@session_argument
@click.argument("message", type=int)
def pin(session: str, message: int) -> None:
    """Keep MESSAGE (its number) word for word through all compactions."""
    with open_store() as access:
        access.run(_actions(access, session).pin(message))
    click.echo(f"Message {message} is pinned.")


@click.command()
@session_argument
@click.argument("message", type=int)
def unpin(session: str, message: int) -> None:
    """Unpin MESSAGE (its number)."""
    with open_store() as access:
        actions = _actions(access, session)
        was_pinned = message in access.run(actions.archive.pins(actions.id))
        access.run(actions.unpin(message))
    click.echo(f"Message {message} {'is no longer' if was_pinned else 'was not'} pinned.")


@click.command()
@session_argument
@click.option("--at", metavar="MESSAGE", type=click.IntRange(0), help="The last message to share.  [newest]")
@click.option("--title", help="Another title.")
def fork(session: str, at: int | None, title: str | None) -> None:
    """Create a session that continues from a message of another one. Prints the new id."""
    with open_store() as access:
        child = access.run(_actions(access, session).fork(at=at, title=title))
    click.echo(child.id)


@click.command()
@session_argument
@click.option("--focus", metavar="TOPIC", help="Topic that gets most of the summary.")
@preview_option
def compact(session: str, focus: str | None, preview: bool) -> None:
    """Compact a session now, with the configured model and engine."""
    with open_store() as access:
        found = access.run(access.store.session(session))
        detail = access.run(_compacted(access, found, focus, preview))
    event = detail.event
    if event.outcome != "compacted":
        click.echo(f"Nothing was changed: {plain(event.reason)}")
        return
    console = Console(highlight=False)
    console.print(before_after(event))
    if detail.summary:
        text = "\n".join(part for part in (detail.summary, detail.evidence) if part)
        console.print(summary_panel(text, "model" if event.model else "deterministic"))
    if preview:
        console.print(Text("Nothing was changed; without --preview, a model may write the summary.", "dim"))


@click.command()
@session_argument
@click.option(
    "--limit", type=click.IntRange(1), default=50, show_default=True, help="Maximum number of actions."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def actions(session: str, limit: int, as_json: bool) -> None:
    """List users' actions on a session: who, when and what."""
    with open_store() as access:
        found = access.run(access.store.session(session))
        done = access.run(access.archive_of(found).actions(found.id, limit=limit))
    if as_json:
        facts = [
            {
                "time": result.time,
                "actor": result.actor,
                "action": result.action,
                "details": dict(result.details),
            }
            for result in done
        ]
        click.echo(json.dumps(facts, indent=2))
        return
    # On a terminal, lines break between words, so that no id is torn apart; a file gets one line for each action.
    console = Console(highlight=False)
    for item in done:
        console.print(action_line(item), soft_wrap=not console.is_terminal)
    if not done:
        click.echo("No user has changed what the model sees.")


def action_line(done: Action) -> Text:
    """When, who, what, and the details in words."""
    details = ", ".join(f"{name} {_in_words(value)}" for name, value in done.details.items())
    return Text(plain(f"{format_time(done.time)}  {done.actor}  {done.action}  {details}".rstrip()))


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


ALL: tuple[click.Command, ...] = (compact, edit, drop, undo, redo, pin, unpin, fork, actions)


def _actions(access: StoreAccess, session: str) -> "SessionActions":
    from plimsoll.sessions import SessionActions

    found = access.run(access.store.session(session))
    return SessionActions(access.archive_of(found), found.id, OPERATOR)


def _act(session: str, work: Work, preview: bool) -> None:
    """Run an operation while no turn runs in the session, and print the result."""
    from plimsoll.sessions import open_actions

    with open_store() as access:
        found = access.run(access.store.session(session))
        archive = access.archive_of(found)

        async def alone() -> "ActionResult":
            async with open_actions(archive, found.id, OPERATOR) as actions:
                return await work(actions)

        result = access.run(work(_actions(access, session)) if preview else alone())
    click.echo(sentence(result))


def sentence(result: "ActionResult") -> str:
    """What an action did or would do."""
    noun = "message" if len(result.messages) == 1 else "messages"
    which = f" {noun} {', '.join(map(str, result.messages))}" if result.messages else ""
    sizes = (
        f"the model sees {result.messages_before:,} → {result.messages_after:,} messages, "
        f"{result.tokens_before:,} → {result.tokens_after:,} tokens."
    )
    cost = "" if result.cache.money is None else f" (${result.cache.money:.4f} more than reading them)"
    cache = f"The next request writes {result.cache.rewritten:,} tokens to the cache again{cost}."
    if not result.preview:
        return f"{_DONE[result.action]}{which}: {sizes}\n{cache}"
    refused = f"\nIt would be refused: {result.refused}." if result.refused else ""
    return f"Would {result.action}{which}: {sizes}\n{cache}{refused}"


def _written(path: str) -> str:
    try:
        return sys.stdin.read() if path == STANDARD_STREAM else Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}. Choose another file.") from error


@contextmanager
def text_kept(text: str) -> Iterator[None]:
    """Save the user's text if it cannot replace the summary."""
    try:
        yield
    except (Conflict, EditRefused) as error:
        with NamedTemporaryFile(
            "w", prefix="plimsoll-summary-", suffix=".md", encoding="utf-8", delete=False
        ) as file:
            file.write(text)
        raise type(error)(f"{error} Your text is in {file.name}.") from error


def _edited(session: str, node: str | None) -> tuple[str, str]:
    """The summary's text after the user has edited it, and the node that it replaces."""
    from plimsoll.context.markers import editable_text
    from plimsoll.sessions.view_edits import summary_item

    with open_store() as access:
        found = access.run(access.store.session(session))
        items = access.run(access.archive_of(found).items(found.id))
        item = summary_item(found, items, node)
    before = editable_text(item.message)
    text = click.edit(before, extension=".md")
    if text is None or text.strip() == before.strip():
        raise UserError("The editor saved no changes, so the summary was not changed.")
    return text, item.node


async def _compacted(
    access: StoreAccess, session: Session, focus: str | None, preview: bool
) -> "CompactionDetail":
    """Open the session with the configured model, and compact it."""
    from plimsoll.assembly import open_conversation
    from plimsoll.config import plimsoll_home
    from plimsoll.providers import resolve
    from plimsoll.sessions import compaction_detail

    home, settings, archive = plimsoll_home(), access.settings, access.archive_of(session)
    resolution = await resolve(settings.model, os.environ, home=home)
    opened = await open_conversation(
        settings,
        os.environ,
        home,
        archive=archive,
        resolution=resolution,
        place=Path.cwd(),
        holder=f"compact-{os.getpid()}-{secrets.token_hex(4)}",
        system_prompt="",
        session=session.id,
    )
    try:
        if preview:
            return await opened.conversation.preview(focus)
        event = await opened.conversation.compress(lambda _event: None, focus)
        return await compaction_detail(archive, session.id, event.number)
    finally:
        await asyncio.shield(opened.close())
