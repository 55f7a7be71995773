"""Pricing: the tokens of a request by price class, and their cost in USD. Every price formula is here.

    usage ── bill_of ──► prompt = read + write_5m + write_1h + plain ── priced ──► money = each x the card's price

A provider without cache guarantees gets a range: `money` if every reusable prefix was reused, `max_money` if none
was. Otherwise they are equal.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

from plimsoll.models import ModelCard, Prices


class ReportedUsage(Protocol):
    """A provider's reported usage of a request; cached tokens are part of the prompt."""

    @property
    def prompt_tokens(self) -> int: ...
    @property
    def completion_tokens(self) -> int: ...
    @property
    def cache_read_tokens(self) -> int | None: ...
    @property
    def cache_write_tokens(self) -> int | None: ...
    @property
    def cache_write_1h_tokens(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Bill:
    """Tokens and USD of one request, or of several."""

    read: int = 0
    write_5m: int = 0
    write_1h: int = 0
    plain: int = 0
    output: int = 0
    hits: int = 0  # requests that read from the cache
    entries: int = 0  # cache entries written
    below_minimum: int = 0  # breakpoints that wrote nothing because their prefix is too short
    input_money: float = 0.0
    output_money: float = 0.0
    max_money: float = 0.0
    refusals: tuple[str, ...] = ()

    @property
    def prompt_tokens(self) -> int:
        """All tokens sent."""
        return self.read + self.write_5m + self.write_1h + self.plain

    @property
    def written(self) -> int:
        """All tokens written to the cache."""
        return self.write_5m + self.write_1h

    @property
    def money(self) -> float:
        """USD for the request."""
        return self.input_money + self.output_money

    def __add__(self, other: "Bill") -> "Bill":
        return total((self, other))


def usd(tokens: float, price: float) -> float:
    """The cost of tokens at a price per million."""
    return tokens * price / 1_000_000


def bill_of(usage: ReportedUsage) -> Bill:
    """The tokens that a reply reports, by price class."""
    read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    hour = usage.cache_write_1h_tokens or 0
    plain = max(0, usage.prompt_tokens - read - written)
    return Bill(read, written - hour, hour, plain, usage.completion_tokens)


def money_of(bill: Bill, card: ModelCard) -> float | None:
    """The cost of a reply in USD; None if the card has no prices."""
    prices = card.prices_for(bill.prompt_tokens)
    if not prices.input and not prices.output:
        return 0.0 if card.known else None
    return input_money(bill, prices) + usd(bill.output, prices.output)


def input_money(bill: Bill, prices: Prices) -> float:
    """The cost of a request's prompt in USD."""
    cached = bill.read * prices.cache_read + bill.write_5m * prices.write_5m + bill.write_1h * prices.write_1h
    return (cached + bill.plain * prices.input) / 1_000_000


def max_money(card: ModelCard, prompt_tokens: int, output_tokens: int) -> float:
    """The maximum USD of a request, at the highest price for its prompt."""
    prices = card.prices_for(prompt_tokens)
    highest = max(prices.input, prices.write_5m, prices.write_1h)
    return usd(prompt_tokens, highest) + usd(output_tokens, prices.output)


def priced(bill: Bill, card: ModelCard, guaranteed: bool = True) -> Bill:
    """The bill with its costs filled in."""
    prices = card.prices_for(bill.prompt_tokens)
    sent, received = input_money(bill, prices), usd(bill.output, prices.output)
    most = sent if guaranteed else max(sent, usd(bill.prompt_tokens, prices.input))
    return replace(bill, input_money=sent, output_money=received, max_money=received + most)


def total(bills: Iterable[Bill]) -> Bill:
    """Several bills as one."""
    all_bills = list(bills)
    empty: Any = Bill()
    sums: dict[str, Any] = {}
    for field in fields(Bill):
        sums[field.name] = sum(
            (getattr(bill, field.name) for bill in all_bills), start=getattr(empty, field.name)
        )
    return Bill(**sums)
