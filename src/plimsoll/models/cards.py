"""Facts about models as value objects: window, output cap, prices, cache rules.

    card_for("openrouter/anthropic/claude-sonnet-4.5")  ->  ModelCard(name="claude-sonnet-4.5", ...)

The facts are in `cards.toml`, with dates; `catalogue.py` reads them. An unknown model gets a
default card with `known` set to False; callers then show `unknown_model_notice`.
"""

from dataclasses import dataclass, field

from plimsoll.models.media_limits import MediaLimits

DEFAULT_WINDOW = 200_000  # tokens, for a model without a card
_NAME_SHOWN = 80  # characters of an unknown model's name in a notice


@dataclass(frozen=True, slots=True)
class Prices:
    """USD per million tokens. If cache writes are free, a write has the input price."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    write_5m: float = 0.0
    write_1h: float = 0.0


@dataclass(frozen=True, slots=True)
class CacheRules:
    """How the provider caches prompts; `style` names the rule set that the simulator replays."""

    style: str = "none"  # anthropic | openai_breakpoints | openai_automatic | gemini_implicit | prefix | none
    minimum: int = 0  # prefixes below this many tokens are never cached
    lifetimes: tuple[int, ...] = ()  # seconds that an entry may live, shortest first


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What Plimsoll knows about one model."""

    name: str
    family: str = "unknown"
    window: int = DEFAULT_WINDOW
    output_cap: int = 8_192
    prices: Prices = field(default_factory=Prices)
    # Prices that replace `prices` for prompts longer than this many tokens, if a provider has two tiers.
    long_prompt: int | None = None
    long_prices: Prices | None = None
    cache: CacheRules = field(default_factory=CacheRules)
    preserved_thinking: bool = False
    # Values of OpenAI's `reasoning_effort` that the model accepts; if empty, the model rejects the field.
    efforts: tuple[str, ...] = ()
    sampling: bool = True  # `temperature`, `top_p` and `stop` are accepted on OpenAI's wire
    as_of: str = ""
    known: bool = True
    # The largest accepted prompt, if a provider caps it below the window: 85 % of GPT-5's
    # 400 000 would exceed its input limit of 272 000.
    input_cap: int | None = None
    media: MediaLimits = field(default_factory=MediaLimits)  # bytes, images and pages in one request
    states_output_cap: bool = True  # otherwise `output_cap` is a guess and is not enforced

    @property
    def known_output_cap(self) -> int | None:
        """The maximum tokens of one reply; None if unknown."""
        return self.output_cap if self.states_output_cap else None

    @property
    def prompt_limit(self) -> int:
        """The maximum tokens of a prompt: the window, or the input cap if that is smaller."""
        return self.window if self.input_cap is None else min(self.window, self.input_cap)

    def prices_for(self, prompt_tokens: int) -> Prices:
        """The prices that a prompt of this length is billed at."""
        if self.long_prices is None or self.long_prompt is None or prompt_tokens <= self.long_prompt:
            return self.prices
        return self.long_prices


def unknown_model_notice(card: ModelCard) -> str:
    """One sentence that states the assumed window and the setting that corrects it; empty for a known model."""
    if card.known:
        return ""
    name = card.name if len(card.name) <= _NAME_SHOWN else card.name[: _NAME_SHOWN - 1] + "…"
    return (
        f"Model {name!r} is unknown, so Plimsoll assumes a context window of {card.window:,} tokens"
        "; set model.context_length if its window differs."
    )
