"""`plimsoll cost`: what a recorded conversation costs with and without prompt caching.

    files ─► the requests its agent sent ─► simulator ─► table, picture, or JSON lines

Nothing is sent anywhere: tokens are estimated, prices and cache rules come from the model's card. The row `none` is
the price without any cache. A second table shows the last row of the first under each compaction policy.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from plimsoll.caching import (
    STRATEGIES,
    Bill,
    BlockChain,
    CachingPolicy,
    Replay,
    caching_policy,
    replay,
    total,
)
from plimsoll.config import Settings, load_settings
from plimsoll.errors import UserError
from plimsoll.messages.printable import plain
from plimsoll.models import ModelCard
from plimsoll.terminal.cost_plot import draw
from plimsoll.terminal.cost_policies import (
    OPTIONAL_POLICY_COLUMNS,
    PolicyReplay,
    policy_facts,
    policy_table,
    under_policies,
)
from plimsoll.terminal.priced_replay import PricedReplay, conversation_name, short_tokens
from plimsoll.terminal.prose import show_notice
from plimsoll.terminal.suggestions import nearest_model
from plimsoll.terminal.tables import fitted
from plimsoll.transcripts import Transcript, read_example, read_transcripts

_HEADINGS = ("requests", "read", "written", "plain", "output", "USD", "vs none")
OPTIONAL_COLUMNS = (
    "output",
    "requests",
    "plain",
    "written",
    "read",
)  # columns that a narrow terminal omits, in this order
AUTOMATIC = "automatic"  # instead of a strategy, for providers that cache automatically


def _finite(context: click.Context, parameter: click.Parameter, value: float) -> float:
    del context, parameter
    if not isfinite(value):  # a range accepts nan
        raise click.BadParameter(f"{value} is not a number of seconds.")
    return value


@click.command()
@click.argument("paths", metavar="FILE...", nargs=-1, type=click.Path(path_type=str))
@click.option("--example", is_flag=True, help="Use the bundled conversation.")
@click.option("--model", metavar="NAME", help="Model whose prices and cache rules to use.")
@click.option("--strategy", type=click.Choice(STRATEGIES), help="Where to place cache breakpoints.")
@click.option("--ttl", type=click.Choice(["5m", "1h"]), help="Lifetime of cache entries.")
@click.option("--gap", metavar="SECONDS", type=click.FloatRange(min=0), default=30.0, show_default=True,
              callback=_finite, help="Seconds between two requests.")  # fmt: skip
@click.option(
    "--plot", metavar="PNG", type=click.Path(path_type=Path), help="Draw tokens and cost into this file."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each conversation.")
def cost(
    paths: tuple[str, ...],
    example: bool,
    model: str | None,
    strategy: str | None,
    ttl: str | None,
    gap: float,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Show what conversations cost, with and without prompt caching, and what compaction would save.

    FILE is a conversation as for `plimsoll compress`. Each assistant message counts as the reply to a request with
    all earlier messages.
    """
    if example == bool(paths):
        raise click.UsageError("Name a FILE, or pass --example; not both.")
    flags = {"model.name": model, "prompt_caching.strategy": strategy, "prompt_caching.cache_ttl": ttl}
    loaded = load_settings(flags=flags)
    transcripts = (
        read_example() if example else [transcript for path in paths for transcript in read_transcripts(path)]
    )
    settings = _with_model(loaded.settings, transcripts)
    card = _card(settings)
    policy = _policy(settings)
    priced = [
        _price(transcript, card, policy, settings.prompt_caching.strategy, gap) for transcript in transcripts
    ]
    for notice in (*loaded.notices, *policy.notices, *_notices(priced, card, policy)):
        show_notice(notice)
    if plot is not None:
        draw(priced, card, plot)
    policies = [
        under_policies(conversation.transcript, settings, card, policy, conversation.chosen, gap)
        for conversation in priced
    ]
    if as_json:
        for item, compacted in zip(priced, policies, strict=True):
            click.echo(json.dumps(_facts(item, card, policy, gap) | {"compaction": policy_facts(compacted)}))
        return
    _show(priced, card, policy, gap, policies)
    if plot is not None:
        click.echo(f"Drawn to {plot}")


def _notices(priced: Sequence[PricedReplay], card: ModelCard, policy: CachingPolicy) -> Iterator[str]:
    """What to know about the comparison, the files, and requests that are too long."""
    if not (policy.enabled or policy.unwanted) and _takes_markers(card):
        yield f"Prompt caching is off: {policy.reason}, so there is nothing to compare."
    for conversation in priced:
        yield from (f"{conversation.transcript.place}: {note}" for note in conversation.transcript.notices)
    yield from _too_long(priced, card)


def _with_model(settings: Settings, transcripts: Sequence[Transcript]) -> Settings:
    """The settings with the model that the files name, unless another is set."""
    if settings.model.name is not None:
        return settings
    named = sorted({transcript.model for transcript in transcripts if transcript.model})
    if len(named) > 1:
        raise UserError(
            f"The conversations were held with {len(named)} models ({', '.join(map(plain, named))}), and prices are "
            "compared for one. Name it with --model, or give the files of one model at a time."
        )
    if not named:
        raise UserError("No model is set, so there are no prices. Set --model or model.name.")
    return settings.model_copy(update={"model": settings.model.model_copy(update={"name": named[0]})})


def _card(settings: Settings) -> ModelCard:
    name = settings.model.name or ""
    card = settings.model.card()
    if not card.known and name not in settings.model.cards:
        near = nearest_model(name)
        raise UserError(
            f"Model {plain(name)!r} is unknown, so it has no prices. "
            + (f"Did you mean {near}? " if near else "Check the name. ")
            + f"Set another with --model, or add its prices under model.cards.{plain(name)}.prices."
        )
    return card


def _takes_markers(card: ModelCard) -> bool:
    return card.cache.style == "anthropic"


def _too_long(priced: Sequence[PricedReplay], card: ModelCard) -> Iterator[str]:
    """Notices about conversations with requests that the model would reject."""
    for conversation in priced:
        if over := conversation.over_window(card):
            yield (
                f"{conversation.transcript.place}: {over:,} of {len(conversation.chosen.steps):,} requests exceed "
                f"{card.name}'s limit of {card.prompt_limit:,} tokens; they are priced as if they fitted."
            )


def _compared(card: ModelCard, policy: CachingPolicy, strategy: str) -> list[tuple[str, str]]:
    """Label and strategy of each row; the last one is the chosen one."""
    if strategy == "none" or (_takes_markers(card) and not policy.enabled):
        return [("none", "none")]
    if not _takes_markers(card):
        return [("none", "none"), (AUTOMATIC, "auto")]
    if strategy == "system_and_3":
        return [("none", "none"), ("system_and_3", "system_and_3")]
    return [("none", "none"), ("system_and_3", "system_and_3"), ("planned", "planned")]


def _policy(settings: Settings) -> CachingPolicy:
    model, caching = settings.model, settings.prompt_caching
    name = model.name or ""
    # Without a provider or an address, a Claude model is assumed to be at Anthropic.
    by_name = "openrouter" if name.startswith("openrouter/") else "anthropic"
    provider = by_name if model.provider == "auto" and model.base_url is None else model.provider
    return caching_policy(
        name, provider, model.base_url, cache_ttl=caching.cache_ttl, strategy=caching.strategy
    )


def _price(
    transcript: Transcript, card: ModelCard, policy: CachingPolicy, strategy: str, gap: float
) -> PricedReplay:
    chain, native = BlockChain(), policy.native_anthropic
    return PricedReplay(
        transcript,
        {
            label: replay(
                transcript.messages, card, placed, policy.ttl, gap, native_anthropic=native, chain=chain
            )
            for label, placed in _compared(card, policy, strategy)
        },
    )


def _show(
    priced: Sequence[PricedReplay],
    card: ModelCard,
    policy: CachingPolicy,
    gap: float,
    policies: Sequence[Mapping[str, PolicyReplay]],
) -> None:
    console = Console(highlight=False)
    console.print(fitted(lambda without: _table(priced, without), OPTIONAL_COLUMNS, console.width))
    console.print(
        fitted(lambda without: policy_table(policies, without), OPTIONAL_POLICY_COLUMNS, console.width)
    )
    lifetime = f", {policy.ttl} TTL" if policy.enabled and _takes_markers(card) else ""
    dated = f", prices as of {card.as_of}" if card.as_of else ""
    console.print(Text(f"{card.name}{lifetime}, {gap:g} s between requests, tokens estimated{dated}", "dim"))


def _table(priced: Sequence[PricedReplay], without: frozenset[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("strategy" if len(priced) == 1 else "conversation", overflow="fold")
    shown = [place for place, heading in enumerate(_HEADINGS) if heading not in without]
    for place in shown:
        table.add_column(_HEADINGS[place], justify="right", no_wrap=True)

    def add(name: str, bill: Bill, requests: int, base: Bill, style: str = "") -> None:
        cells = _cells(bill, requests, base)
        table.add_row(Text(name), *(cells[place] for place in shown), style=style)

    if len(priced) > 1:
        for item in priced:
            bill, base = item.chosen.total, item.replays["none"].total
            add(plain(conversation_name(item.transcript)), bill, len(item.chosen.steps), base)
        table.add_section()
    for label in priced[0].replays if priced else ():
        bill = total(conversation.replays[label].total for conversation in priced)
        base = total(conversation.replays["none"].total for conversation in priced)
        requests = sum(len(conversation.replays[label].steps) for conversation in priced)
        add(label, bill, requests, base, "bold" if label == list(priced[0].replays)[-1] else "")
    return table


def _cells(bill: Bill, requests: int, base: Bill) -> tuple[str, ...]:
    money = _usd(bill.money)
    if bill.max_money > bill.money * 1.001:  # a provider without a guaranteed cache
        money += f"–{_usd(bill.max_money)}"
    share = f"{bill.money / base.money:.0%}" if base.money else "–"
    return (
        f"{requests:,}",
        *(short_tokens(tokens) for tokens in (bill.read, bill.written, bill.plain, bill.output)),
        money,
        share,
    )


def _usd(money: float) -> str:
    return f"{money:,.2f}" if money >= 10 else f"{money:,.4f}"


def _facts(priced: PricedReplay, card: ModelCard, policy: CachingPolicy, gap: float) -> dict[str, Any]:
    """One line of --json."""
    transcript = priced.transcript
    return {
        "source": transcript.source,
        "line": transcript.line,
        "id": transcript.id,
        "model": card.name,
        "ttl": policy.ttl,
        "gap_seconds": gap,
        "over_window": priced.over_window(card),
        "chosen": list(priced.replays)[-1],
        "strategies": {label: _figures(played) for label, played in priced.replays.items()},
    }


def _figures(played: Replay) -> dict[str, Any]:
    bill = played.total
    return {
        "requests": len(played.steps),
        "hits": bill.hits,
        "read": bill.read,
        "write_5m": bill.write_5m,
        "write_1h": bill.write_1h,
        "plain": bill.plain,
        "output": bill.output,
        "input_usd": round(bill.input_money, 6),
        "output_usd": round(bill.output_money, 6),
        "usd": round(bill.money, 6),
        "usd_most": round(bill.max_money, 6),
    }
