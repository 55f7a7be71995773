"""`plimsoll cost`: what a recorded conversation costs with and without prompt caching.

    files ─► the requests its agent sent ─► simulator ─► table, picture, or JSON lines

Nothing is sent anywhere: tokens are estimated, prices and cache rules come from
the model's card. The row `none` is the price without any cache.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from plimsoll.installation import install_command
from plimsoll.models import ModelCard
from plimsoll.terminal.suggestions import nearest_model
from plimsoll.terminal.tables import fitted, plain
from plimsoll.transcripts import Transcript, read_transcripts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEADINGS = ("requests", "read", "written", "plain", "output", "USD", "of none")
_EXPENDABLE = (
    "output",
    "requests",
    "plain",
    "written",
    "read",
)  # what a narrow terminal goes without, in this order
AUTOMATIC = "automatic"  # what a provider that caches by itself does, in place of a strategy
_COLOURS = {"read": "#2a9d8f", "write": "#e9a23b", "plain": "#c8553d"}
_LINES = {"none": "#8d99ae", "system_and_3": "#3d6cb9", "planned": "#2a9d8f", "automatic": "#2a9d8f"}


@dataclass(frozen=True, slots=True)
class PricedReplay:
    """One conversation under each strategy that is compared, `none` first and the chosen one last."""

    transcript: Transcript
    replays: Mapping[str, Replay]

    @property
    def chosen(self) -> Replay:
        """The replay that the person asked for."""
        return list(self.replays.values())[-1]

    def over_window(self, card: ModelCard) -> int:
        """How many requests have more tokens than the model takes."""
        return sum(step.bill.prompt_tokens > card.prompt_limit for step in self.chosen.steps)


def _finite(context: click.Context, parameter: click.Parameter, value: float) -> float:
    del context, parameter
    if not isfinite(value):  # a range lets nan through, as it is neither below nor above anything
        raise click.BadParameter(f"{value} is not a number of seconds.")
    return value


@click.command()
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=str))
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
    model: str | None,
    strategy: str | None,
    ttl: str | None,
    gap: float,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Show what conversations cost, with and without prompt caching.

    FILE is a conversation as for `plimsoll compress`. Each assistant message counts as the reply to a request with
    all earlier messages.
    """
    flags = {"model.name": model, "prompt_caching.strategy": strategy, "prompt_caching.cache_ttl": ttl}
    loaded = load_settings(flags=flags)
    transcripts = [transcript for path in paths for transcript in read_transcripts(path)]
    settings = _with_model(loaded.settings, transcripts)
    card = _card(settings)
    policy = _policy(settings)
    of_files = (f"{one.place}: {note}" for one in transcripts for note in one.notices)
    off = () if policy.enabled or policy.unwanted or not _takes_markers(card) else (policy.reason,)
    priced = [
        _price(transcript, card, policy, settings.prompt_caching.strategy, gap) for transcript in transcripts
    ]
    unplaced = (f"Prompt caching is off: {reason}, so there is nothing to compare." for reason in off)
    for notice in (*loaded.notices, *policy.notices, *unplaced, *of_files, *_too_long(priced, card)):
        click.echo(f"note: {notice}", err=True)
    if plot is not None:
        draw(priced, card, plot)
    if as_json:
        for one in priced:
            click.echo(json.dumps(_facts(one, card, policy, gap)))
        return
    _show(priced, card, policy, gap)
    if plot is not None:
        click.echo(f"Drawn to {plot}")


def _with_model(settings: Settings, transcripts: Sequence[Transcript]) -> Settings:
    """The settings with the model that the files name, where nobody named another."""
    if settings.model.name is not None:
        return settings
    named = sorted({one.model for one in transcripts if one.model})
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
    for one in priced:
        if over := one.over_window(card):
            yield (
                f"{one.transcript.place}: {over:,} of {len(one.chosen.steps):,} requests exceed {card.name}'s "
                f"limit of {card.prompt_limit:,} tokens; they are priced as if they fitted."
            )


def _compared(card: ModelCard, policy: CachingPolicy, strategy: str) -> list[tuple[str, str]]:
    """Label and strategy of each row; the last one is what the person asked for."""
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
    # Without word of a provider or an address, a Claude model is taken to be asked at Anthropic.
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


def _show(priced: Sequence[PricedReplay], card: ModelCard, policy: CachingPolicy, gap: float) -> None:
    console = Console(highlight=False)
    console.print(fitted(lambda without: _table(priced, without), _EXPENDABLE, console.width))
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
        for one in priced:
            bill, base = one.chosen.total, one.replays["none"].total
            add(plain(_name(one.transcript)), bill, len(one.chosen.steps), base)
        table.add_section()
    for label in priced[0].replays if priced else ():
        bill = total(one.replays[label].total for one in priced)
        base = total(one.replays["none"].total for one in priced)
        requests = sum(len(one.replays[label].steps) for one in priced)
        add(label, bill, requests, base, "bold" if label == list(priced[0].replays)[-1] else "")
    return table


def _cells(bill: Bill, requests: int, base: Bill) -> tuple[str, ...]:
    money = _usd(bill.money)
    if bill.money_most > bill.money * 1.001:  # a provider that promises nothing
        money += f"–{_usd(bill.money_most)}"
    share = f"{bill.money / base.money:.0%}" if base.money else "–"
    return (
        f"{requests:,}",
        *(_short(tokens) for tokens in (bill.read, bill.written, bill.plain, bill.output)),
        money,
        share,
    )


def _short(tokens: int) -> str:
    """A number of tokens in a few characters; --json has them all."""
    if tokens < 10_000:
        return f"{tokens:,}"
    return f"{tokens / 1_000:,.1f}K" if tokens < 1_000_000 else f"{tokens / 1_000_000:,.2f}M"


def _usd(money: float) -> str:
    return f"{money:,.2f}" if money >= 10 else f"{money:,.4f}"


def _facts(one: PricedReplay, card: ModelCard, policy: CachingPolicy, gap: float) -> dict[str, Any]:
    """One line of --json."""
    transcript = one.transcript
    return {
        "source": transcript.source,
        "line": transcript.line,
        "id": transcript.id,
        "model": card.name,
        "ttl": policy.ttl,
        "gap_seconds": gap,
        "over_window": one.over_window(card),
        "chosen": list(one.replays)[-1],
        "strategies": {label: _figures(played) for label, played in one.replays.items()},
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
        "usd_most": round(bill.money_most, 6),
    }


def _name(transcript: Transcript) -> str:
    name = Path(transcript.source).name
    return name if transcript.line is None else f"{name}:{transcript.line}"


def draw(priced: Sequence[PricedReplay], card: ModelCard, target: Path) -> None:
    """Tokens of each request by price, and the money as it adds up, as a PNG."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UserError(f"Drawing needs matplotlib: {install_command('plot')}") from error
    figure = Figure(figsize=(11, 7), dpi=150, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _draw_tokens(above, priced)
    _draw_money(below, priced)
    title = _name(priced[0].transcript) if len(priced) == 1 else f"{len(priced)} conversations"
    figure.suptitle(f"{title} on {card.name}", x=0.01, ha="left", fontsize=13, fontweight="bold")
    try:
        figure.savefig(target, format="png")
    except OSError as error:
        raise UserError(
            f"{target} cannot be written: {error.strerror}. Pass another file to --plot."
        ) from error


def _draw_tokens(axes: "Axes", priced: Sequence[PricedReplay]) -> None:
    steps = [step.bill for one in priced for step in one.chosen.steps]
    numbers = range(1, len(steps) + 1)
    layers = {
        "read": [bill.read for bill in steps],
        "write": [bill.written for bill in steps],
        "plain": [bill.plain for bill in steps],
    }
    # Few requests are bars with a gap between them; many are drawn edge to edge, or the gaps would flicker.
    width = 0.85 if len(steps) <= 120 else 1.0
    bottom = [0] * len(steps)
    for name, heights in layers.items():
        label = {"read": "read from cache", "write": "written to cache", "plain": "plain input"}[name]
        axes.bar(numbers, heights, width, bottom=bottom, color=_COLOURS[name], label=label, linewidth=0)
        bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    axes.set_ylabel("tokens per request")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / 1000:,.0f}K" if value else "0")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, ncols=3, borderaxespad=0.2)
    _tidy(axes, priced)


def _draw_money(axes: "Axes", priced: Sequence[PricedReplay]) -> None:
    ends: list[tuple[float, str, str]] = []
    for label in priced[0].replays if priced else ():
        spent, line = 0.0, [0.0]
        for step in (step for one in priced for step in one.replays[label].steps):
            spent += step.bill.money
            line.append(spent)
        width = 2.4 if label == list(priced[0].replays)[-1] else 1.6
        axes.plot(range(len(line)), line, color=_LINES[label], linewidth=width)
        ends.append((spent, label, _LINES[label]))
    _label_ends(axes, ends, sum(len(one.chosen.steps) for one in priced))
    axes.set_xlabel("request")
    axes.set_ylabel("USD, cumulative")
    axes.yaxis.set_major_formatter(lambda value, _: f"${value:,.2f}")
    axes.set_ylim(bottom=0)
    _tidy(axes, priced)


def _label_ends(axes: "Axes", ends: Iterable[tuple[float, str, str]], last: int) -> None:
    """Each line's name and sum at its end, moved apart where they would overlap."""
    ordered = _same_joined(sorted(ends, key=lambda end: end[0]))
    top = max((spent for spent, _, _ in ordered), default=0.0) or 1.0
    lowest = 0.0
    for spent, label, colour in ordered:
        height = max(spent, lowest)
        text = f"{label}  ${spent:,.2f}" if spent >= 0.1 else f"{label}  ${spent:,.4f}"
        axes.annotate(
            text, (last, height), (8, 0), textcoords="offset points", va="center", color=colour, fontsize=9,
            fontweight="bold", annotation_clip=False,
        )  # fmt: skip
        lowest = height + top * 0.11
    axes.margins(x=0.01)


def _same_joined(ends: Sequence[tuple[float, str, str]]) -> list[tuple[float, str, str]]:
    """Lines that end together share a label, in the colour of the one drawn on top."""
    joined: list[tuple[float, str, str]] = []
    for spent, label, colour in ends:
        if joined and abs(spent - joined[-1][0]) <= 1e-3 * spent:
            joined[-1] = (spent, f"{joined[-1][1]} = {label}", colour)
        else:
            joined.append((spent, label, colour))
    return joined


def _tidy(axes: "Axes", priced: Sequence[PricedReplay]) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    done = 0.5
    for one in priced[:-1]:
        done += len(one.chosen.steps)
        axes.axvline(done, color="#9ca3af", linewidth=0.6, linestyle=":")
