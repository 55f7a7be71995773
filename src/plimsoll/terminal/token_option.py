"""An option type for token counts: 32000, 200_000, 8K, 1M."""

import re

import click

SMALLEST_WINDOW = 1024  # tokens
_TOKENS = re.compile(r"([0-9][0-9_,]*(?:\.[0-9]+)?)\s*([kKmM]?)")


def tokens_option(_ctx: click.Context, option: click.Parameter, value: str | None) -> int | None:
    """The callback of an option for a number of tokens."""
    if value is None:
        return None
    found = _TOKENS.fullmatch(value.strip())
    if found is None:
        raise click.BadParameter(f"{value!r} is not a number of tokens; write 32000, 200_000, 8K or 1M.")
    number = float(found[1].replace("_", "").replace(",", ""))
    tokens = round(number * {"": 1, "k": 1_000, "m": 1_000_000}[found[2].lower()])
    if tokens < SMALLEST_WINDOW:
        raise click.BadParameter(
            f"{value!r} is too small for {option.name}; it must be at least {SMALLEST_WINDOW} tokens."
        )
    return tokens
