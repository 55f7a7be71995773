"""`plimsoll gateway keys`: access keys and their limits.

    plimsoll gateway keys add laptop --requests-per-minute 60 --money-per-day 5
    plimsoll gateway keys list · renew NAME · revoke NAME

Keys are in the archive, so every gateway that uses it knows them within two seconds. The text of a key is shown once;
only a digest is stored.
"""

import json
import re
import sys
from datetime import UTC, datetime

import click
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from plimsoll.archive import OPERATOR, Owner, key_owner
from plimsoll.archive.key_format import new_key
from plimsoll.archive.keys import AccessKey, KeyLimits, KeySnapshot, KeyUsage
from plimsoll.errors import UserError
from plimsoll.messages.printable import plain
from plimsoll.terminal.sessions.store_access import open_store
from plimsoll.terminal.tables import WIDEST

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


@click.group()
def keys() -> None:
    """Create, list, renew and revoke the gateway's keys."""


@keys.command()
@click.argument("name")
@click.option("--requests-per-minute", type=click.IntRange(min=1), help="Limit of requests per minute.")
@click.option(
    "--tokens-per-day", type=click.IntRange(min=1), help="Limit of tokens per day (UTC), input and output."
)
@click.option(
    "--money-per-day", type=click.FloatRange(min=0, min_open=True), help="Limit of USD per day (UTC)."
)
@click.option(
    "--read-only",
    "read",
    metavar="OTHER",
    help="Create a read-only key for the sessions of the key OTHER, or of `operator`.",
)
def add(
    name: str,
    requests_per_minute: int | None,
    tokens_per_day: int | None,
    money_per_day: float | None,
    read: str | None,
) -> None:
    """Create a key and show it once."""
    if not _NAME.fullmatch(name):
        raise UserError(
            f"{name!r} is not a valid key name. Use up to 64 letters, digits and . _ @ -; start with a letter."
        )
    limits = KeyLimits(requests_per_minute, tokens_per_day, money_per_day)
    made = new_key()
    with open_store(create=True) as access:
        store = access.store.keys
        reads = None if read is None else _owner_of(access.run(store.snapshot()), read)
        access.run(store.add(made.id, name, made.digest, limits, reads=reads))
    what = "" if read is None else f", read-only for the sessions of {read}"
    _show(made.text, f"This is the key of {name}{what}. It is not shown again.")


@keys.command()
@click.argument("name")
def renew(name: str) -> None:
    """Replace a key's secret. Its sessions and limits stay."""
    with open_store() as access:
        store = access.store.keys
        found = next((key for key in _holding(access.run(store.snapshot())) if key.name == name), None)
        made = new_key(found.id if found else None)
        access.run(store.renew(name, made.digest))
    _show(made.text, f"Key {name}. The previous key is no longer valid.")


@keys.command()
@click.argument("name")
def revoke(name: str) -> None:
    """Revoke a key. A running gateway rejects it within two seconds."""
    with open_store() as access:
        ended = access.run(access.store.keys.revoke(name))
    click.echo(f"Key {name} ({ended.id}) is revoked. Its sessions stay in the archive.")


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def list_keys(as_json: bool) -> None:
    """List the valid keys with their limits and today's usage."""
    with open_store(create=True) as access:
        snapshot = access.run(access.store.keys.snapshot())
    holding = _holding(snapshot)
    if as_json:
        click.echo(
            json.dumps([_as_json(key, snapshot.today.get(key.id, KeyUsage())) for key in holding], indent=2)
        )
    elif not holding:
        click.echo("No keys. `plimsoll gateway keys add NAME` creates one.")
    else:
        console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDEST)
        console.print(listed_keys(snapshot, holding, console.width))


def _holding(snapshot: KeySnapshot) -> list[AccessKey]:
    return [key for key in snapshot.keys if key.revoked is None]


def _owner_of(snapshot: KeySnapshot, name: str) -> Owner:
    """The owner whose sessions a read-only key reads."""
    if name == OPERATOR:
        return OPERATOR
    found = next((key for key in _holding(snapshot) if key.name == name), None)
    if found is None:
        known = ", ".join([OPERATOR, *(key.name for key in _holding(snapshot))])
        raise UserError(f"No key has the name {name!r}; --read-only takes one of: {known}.")
    return Owner(found.reads) if found.reads else key_owner(found.id)


def _show(text: str, note: str) -> None:
    """Print only the key on standard output, so that it can be piped."""
    click.echo(text)
    click.echo(note, err=True)


def listed_keys(snapshot: KeySnapshot, holding: list[AccessKey], width: int) -> RenderableType:
    """The keys as a table, or one below the other if the table is wider than the terminal.

    Names, ids and numbers are never cut: other commands take the names, and a part of a number is a wrong number.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("name", "id", "since"):
        table.add_column(title, no_wrap=True)
    for title in ("requests today", "tokens today", "USD today"):
        table.add_column(title, justify="right", no_wrap=True)
    below = Text()
    for key in holding:
        name, *facts = _facts(key, snapshot.today.get(key.id, KeyUsage()))
        table.add_row(name, *facts)
        id, since, requests, tokens, money = facts
        below.append(f"{name}\n", "bold")
        below.append(f"  {id}, since {since}\n  today: requests {requests}\n")
        below.append(f"         tokens {tokens}\n         USD {money}\n")
    below.rstrip()
    console = Console(width=WIDEST)
    fits = Measurement.get(console, console.options, table).maximum <= width
    return table if fits else below


def _facts(key: AccessKey, used: KeyUsage) -> tuple[str, ...]:
    """Name, id, date, and today's requests, tokens and money, each with its limit."""
    limits = key.limits
    a_minute = f" ({limits.requests_per_minute:,}/min)" if limits.requests_per_minute else ""
    tokens = f" of {limits.tokens_per_day:,}" if limits.tokens_per_day else ""
    money = f" of {limits.money_per_day:,.2f}" if limits.money_per_day else ""
    return (
        f"{plain(key.name)}{f' (reads {plain(key.reads)})' if key.reads else ''}",
        key.id,
        datetime.fromtimestamp(key.created, UTC).strftime("%Y-%m-%d"),
        f"{used.requests:,}{a_minute}",
        f"{used.tokens:,}{tokens}",
        f"{used.money:,.2f}{money}",
    )


def _as_json(key: AccessKey, used: KeyUsage) -> dict[str, object]:
    return {
        "name": key.name,
        "id": key.id,
        "created": key.created,
        "reads": key.reads,
        "requests_per_minute": key.limits.requests_per_minute,
        "tokens_per_day": key.limits.tokens_per_day,
        "money_per_day": key.limits.money_per_day,
        "today": {"requests": used.requests, "tokens": used.tokens, "usd": used.money},
    }
