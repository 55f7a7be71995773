"""`model`: the model, its endpoint, its card.

    model:
      name: claude-sonnet-4.5
      cards:
        claude-sonnet-4.5: {window: 1000000}     overrides one value of the shipped card

Models that are not listed use the shipped card.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from plimsoll.models.cards import ModelCard
from plimsoll.models.catalogue import card_for
from plimsoll.models.providers import providers
from plimsoll.secrets import is_secret_parameter
from plimsoll.settings.section import Section

PROVIDERS = ("auto", *providers())


def _endpoint(address: str) -> str:
    try:
        parts = urlsplit(address)
        host, password_or_user = parts.hostname, parts.username or parts.password
    except ValueError:
        raise PydanticCustomError("endpoint", "it must be an http:// or https:// address") from None
    if parts.scheme not in ("http", "https") or not host or any(c.isspace() for c in address):
        raise PydanticCustomError("endpoint", "it must be an http:// or https:// address")
    if password_or_user or any(is_secret_parameter(name) for name, _ in parse_qsl(parts.query)):
        raise PydanticCustomError(
            "endpoint", "it contains a secret; remove it and set the provider's environment variable"
        )
    return address


Endpoint = Annotated[str, AfterValidator(_endpoint)]


def require_endpoint(provider: str, base_url: str | None, known: Collection[str]) -> None:
    """Reject an unknown provider that has no `base_url`."""
    if provider not in known and base_url is None:
        raise PydanticCustomError(
            "between_keys",
            "a provider other than {names} needs base_url",
            {"key": "provider", "names": ", ".join(known)},
        )


def provider_field(known: Collection[str], description: str) -> Any:
    """The field for a provider's name: one of `known`, or any name with a `base_url`."""
    allowed = f"one of {', '.join(known)}, or any name together with base_url"
    return Field(
        default="auto", min_length=1, description=description, json_schema_extra={"allowed": allowed}
    )


def endpoint_field(description: str) -> Any:
    """The field for an endpoint."""
    extra: dict[str, Any] = {"allowed": "an http:// or https:// address, or null"}
    return Field(default=None, description=description, json_schema_extra=extra)


# The names in `Dialect.api_mode`, whose package must not be imported here.
ApiMode = Literal["auto", "chat_completions", "responses", "anthropic_messages", "gemini"]


def api_mode_field(which: str) -> Any:
    """The field for the wire format of an endpoint."""
    return Field(
        default="auto",
        description=f"Wire format of the {which}'s endpoint. auto: the provider's own, or what base_url shows "
        "(/anthropic, /v1beta), else chat_completions.",
    )


class PriceOverrides(Section):
    """Prices in USD per million tokens that override the shipped card."""

    input: float | None = Field(default=None, ge=0, description="USD per million input tokens.")
    output: float | None = Field(default=None, ge=0, description="USD per million output tokens.")
    cache_read: float | None = Field(
        default=None, ge=0, description="USD per million tokens read from the cache."
    )
    write_5m: float | None = Field(
        default=None, ge=0, description="USD per million tokens written to the cache for 5 minutes."
    )
    write_1h: float | None = Field(
        default=None, ge=0, description="USD per million tokens written to the cache for 1 hour."
    )


class MediaOverrides(Section):
    """Limits of one request besides tokens that override the shipped card."""

    request_bytes: int | None = Field(
        default=None,
        ge=1,
        description="Maximum bytes of a request. Old images and documents are removed before it is reached.",
    )
    images: int | None = Field(default=None, ge=1, description="Maximum number of images in a request.")
    pages: int | None = Field(default=None, ge=1, description="Maximum number of PDF pages in a request.")
    image_bytes: int | None = Field(
        default=None, ge=1, description="Maximum bytes of one image in base64; older ones are removed."
    )
    image_edge: int | None = Field(
        default=None,
        ge=1,
        description="Maximum width and height of an image in pixels; older ones are removed.",
    )


class CardOverrides(Section):
    """Facts about one model that override the shipped card; null keeps the shipped value."""

    window: int | None = Field(default=None, ge=1024, description="Context window in tokens.")
    output_cap: int | None = Field(default=None, ge=1, description="Maximum tokens of one reply.")
    prices: PriceOverrides = Field(default_factory=PriceOverrides)
    cache_minimum: int | None = Field(
        default=None, ge=0, description="Prefixes shorter than this many tokens are never cached."
    )
    media: MediaOverrides = Field(default_factory=MediaOverrides)
    efforts: Sequence[str] | None = Field(
        default=None,
        description="Values of OpenAI's reasoning_effort that the model accepts. Empty: it accepts none.",
        json_schema_extra={"allowed": "a list of effort names such as low, or null"},
    )


class ModelSettings(Section):
    """The main model and what Plimsoll knows about it."""

    name: str | None = Field(
        default=None,
        min_length=1,
        description="Name of the main model. Null: use the first available provider's default.",
    )
    provider: str = provider_field(PROVIDERS, "Provider of the main model; auto derives it from the name.")
    base_url: Endpoint | None = endpoint_field("Endpoint of the main model.")
    api_mode: ApiMode = api_mode_field("main model")
    context_length: int | None = Field(
        default=None, ge=1024, description="Context window of the main model in tokens. Null: from its card."
    )
    max_output_tokens: int | None = Field(
        default=None,
        ge=1,
        description="Maximum tokens of one reply, also for clients of the gateway. Null: from its card.",
    )
    cards: Mapping[str, CardOverrides] = Field(
        default_factory=dict,
        description="Overrides of the shipped model cards, by model name.",
        json_schema_extra={"names": "model"},
    )

    @model_validator(mode="after")
    def _fits_together(self) -> "ModelSettings":
        require_endpoint(self.provider, self.base_url, PROVIDERS)
        if self.context_length and self.max_output_tokens and self.max_output_tokens >= self.context_length:
            raise PydanticCustomError(
                "between_keys",
                "it must be smaller than context_length, which is {window}",
                {"key": "max_output_tokens", "window": self.context_length},
            )
        return self

    def card(self, betas: Collection[str] = ()) -> ModelCard:
        """The card of the main model with the configured overrides."""
        changed = {name: c.model_dump(exclude_none=True) for name, c in self.cards.items()}
        return card_for(self.name or "", changed, betas)

    def prompt_limit(self) -> int:
        """Maximum tokens of a prompt: the configured window, limited by the card."""
        card = self.card()
        if self.context_length is None:
            return card.prompt_limit
        return min(self.context_length, card.prompt_limit) if card.known else self.context_length
