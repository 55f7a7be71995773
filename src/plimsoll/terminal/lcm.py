"""`plimsoll lcm doctor`: checks the trees of the lossless engine and repairs them.

every session ─► edges · coverage · search · sizes ─► a line each, exit code 1 if there are faults
                                                 └─► --repair: writes missing leaves and search entries
"""

from collections.abc import Iterator
from dataclasses import dataclass

import click

from plimsoll.archive import Archive, Session
from plimsoll.context.lcm.integrity_check import StoredTree, faults, replacement_leaves, uncovered
from plimsoll.context.lcm.tree import KINDS
from plimsoll.terminal.sessions.store_access import StoreAccess, open_store, session_ids

ENGINE = "lcm"
UNSOUND = 1
_PAGE = 200  # sessions per read


@click.group()
def lcm() -> None:
    """Check and repair the lossless engine's data."""


@lcm.command()
@click.argument("session", required=False, shell_complete=session_ids)
@click.option("--repair", is_flag=True, help="Write missing leaves and repair the search index.")
@click.pass_context
def doctor(ctx: click.Context, session: str | None, repair: bool) -> None:
    """Check the trees of all sessions, or of one.

    It checks edges, coverage, search and sizes.
    """
    with open_store() as access:
        checked, wrong = 0, list(_of_store(access, repair) if session is None else ())
        for item in _sessions(access, session):
            found = access.run(_examined(access.archive_of(item), item))
            if not found.is_kept:
                continue
            checked += 1
            click.echo(f"{item.id}  {found.line}")
            wrong += [f"{item.id}: {sentence}" for sentence in _of_session(access, item, found, repair)]
    for sentence in wrong:
        click.echo(f"  {sentence}")
    click.echo(
        f"{checked} session{'' if checked == 1 else 's'} with the engine {ENGINE}; "
        f"{len(wrong) or 'nothing'} wrong"
    )
    if wrong:
        if not repair:
            click.echo("`plimsoll lcm doctor --repair` repairs what it can and deletes nothing.")
        ctx.exit(UNSOUND)


@dataclass(frozen=True, slots=True)
class _SessionCheck:
    """A session and its tree."""

    examined: StoredTree
    is_kept: bool

    @property
    def line(self) -> str:
        tree, examined = self.examined.tree, self.examined
        depth = max((root.depth for root in tree.roots), default=0)
        stood_for = sum(int(leaf.details.get("tokens", 0)) for leaf in tree.leaves)
        weight = sum(root.tokens for root in tree.roots)
        return (
            f"{examined.last:,} messages, {len(examined.seen):,} in view · {len(tree.leaves):,} leaves, "
            f"depth {depth}, {sum(leaf.degraded for leaf in tree.leaves):,} without a model · "
            f"{stood_for:,} tokens in {weight:,}"
        )


def _sessions(access: StoreAccess, named: str | None) -> Iterator[Session]:
    if named is not None:
        yield access.run(access.store.session(named))
        return
    offset = 0
    while page := access.run(access.store.sessions(limit=_PAGE, offset=offset)):
        yield from page
        offset += len(page)


async def _examined(archive: Archive, session: Session) -> _SessionCheck:
    nodes = [node for node in await archive.nodes(session.id, inherited=True) if node.kind in KINDS]
    items = await archive.items(session.id)
    first = await archive.messages(session.id, 1, 1)
    seen = {item.sequence for item in items if item.sequence}
    examined = StoredTree(nodes, first[0] if first else None, session.messages, seen)
    return _SessionCheck(examined, bool(nodes) or session.engine == ENGINE)


def _of_store(access: StoreAccess, repair: bool) -> Iterator[str]:
    """The faults of the archive itself; with `repair`, those that remain."""
    repaired = access.run(access.store.repair_search_index()) if repair else 0
    if repaired:
        click.echo(f"search index repaired for {repaired:,} messages")
    yield from access.run(access.store.check())


def _of_session(access: StoreAccess, session: Session, found: _SessionCheck, repair: bool) -> Iterator[str]:
    """The faults of a session; with `repair`, those that remain."""
    if repair:
        for run in uncovered(found.examined):
            messages = access.run(access.archive_of(session).messages(session.id, run.first, run.last))
            access.run(
                access.archive_of(session).add_nodes(session.id, replacement_leaves(session.id, messages))
            )
            click.echo(f"  messages {run.first} to {run.last} are covered by leaves again")
        found = access.run(_examined(access.archive_of(session), session))
    yield from faults(found.examined)
