"""Pricing: the tokens of a request by price class, and their cost in USD.

    prompt = read + write_5m + write_1h + plain          money = those and the output x the card's prices

A provider that promises nothing about its cache gets a range: `money` if every
prefix that could be reused was, `money_most` if none was. Elsewhere they are equal.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from plimsoll.models import ModelCard

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Bill:
    """Tokens and USD of one request, or of several added up."""

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
    money_most: float = 0.0
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


def priced(bill: Bill, card: ModelCard, guaranteed: bool = True) -> Bill:
    """The bill with its money filled in."""
    prices = card.prices_for(bill.prompt_tokens)
    cached = bill.read * prices.cache_read
    written = bill.write_5m * prices.write_5m + bill.write_1h * prices.write_1h
    input_money = (cached + written + bill.plain * prices.input) / _MILLION
    output_money = bill.output * prices.output / _MILLION
    uncached = bill.prompt_tokens * prices.input / _MILLION
    most = output_money + (input_money if guaranteed else max(input_money, uncached))
    return replace(bill, input_money=input_money, output_money=output_money, money_most=most)


def total(bills: Iterable[Bill]) -> Bill:
    """Several bills as one."""
    every = list(bills)
    return Bill(
        read=sum(bill.read for bill in every),
        write_5m=sum(bill.write_5m for bill in every),
        write_1h=sum(bill.write_1h for bill in every),
        plain=sum(bill.plain for bill in every),
        output=sum(bill.output for bill in every),
        hits=sum(bill.hits for bill in every),
        entries=sum(bill.entries for bill in every),
        below_minimum=sum(bill.below_minimum for bill in every),
        input_money=sum(bill.input_money for bill in every),
        output_money=sum(bill.output_money for bill in every),
        money_most=sum(bill.money_most for bill in every),
        refusals=tuple(refusal for bill in every for refusal in bill.refusals),
    )
