"""Settings of this package: the engine, plugins, when to compact, the summary model.

    window ──────────────────────────────────────────────► context_length
    [ head ][ ------------- middle ------------- ][ tail ]│
                                     target_ratio ─┘      └─ threshold

Only ranges and defaults are here; what a value does is in the file of its phase.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from plimsoll.models.settings import (
    PROVIDERS,
    Endpoint,
    endpoint_field,
    provider_field,
    require_endpoint,
)
from plimsoll.sections import Section

AUXILIARY_PROVIDERS = (*PROVIDERS[:3], "main", *PROVIDERS[3:])


class ContextSettings(Section):
    """Which context engine manages the conversation."""

    engine: str = Field(
        default="compressor",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$",
        description="The context engine: compressor, lcm (lossless), or the name of an installed engine.",
        json_schema_extra={"allowed": "an engine's name (letters, digits, - and _)"},
    )


class PluginSettings(Section):
    """Which plugins are used. The code of any other plugin never runs, unless `context.engine` names it."""

    enabled: Sequence[Annotated[str, StringConstraints(min_length=1)]] = Field(
        default=[],
        description="Plugins that are loaded: their engines can be chosen, their tools and commands are offered.",
        json_schema_extra={"allowed": "a list of plugin names"},
    )


class CompressionSettings(Section):
    """When a conversation is compacted and how much of it stays word for word.

    `protect_first_n` is not a setting: the system prompt and the first exchange (3 messages) always stay.
    """

    enabled: bool = Field(
        default=True,
        description="Compact automatically. When false, only compressing by hand makes it smaller.",
    )
    threshold: float = Field(
        default=0.50,
        ge=0,
        le=1,
        description="Compact when the prompt reaches this share of the context window; 0 means at every turn.",
    )
    target_ratio: float = Field(
        default=0.20,
        ge=0.10,
        le=0.80,
        description="Share of the threshold's tokens that the newest messages keep.",
    )
    protect_last_n: int = Field(
        default=20, ge=1, description="At least this many of the newest messages stay."
    )
    target_tokens: int | None = Field(
        default=None,
        ge=1,
        description="Tokens of the compacted messages, tool schemas not counted. Null: a third of what the "
        "system prompt, the first exchange and the tool schemas leave of the threshold; under policy cost about "
        "10 000.",
    )
    evidence: bool = Field(
        default=True,
        description="Append exact quotes (ids, paths, values, errors) after the summary, within the target size.",
    )
    background: bool = Field(
        default=True,
        description="Prepare summaries before they are due.",
    )
    policy: Literal["threshold", "cost"] = Field(
        default="threshold",
        description="When to act, and how deep: at the threshold; or cost, which summarises earlier, or only clears "
        "old tool results, where prices say that it pays, and leaves a lighter view. It spends least and remembers "
        "a little less.",
    )


class AuxiliaryCompressionSettings(Section):
    """The model that writes the summaries."""

    model: str | None = Field(
        default=None, min_length=1, description="Model that writes summaries. Null: detect."
    )
    provider: str = provider_field(
        AUXILIARY_PROVIDERS, "Provider of the summary model; main means the main model's provider."
    )
    base_url: Endpoint | None = endpoint_field("OpenAI-compatible endpoint of the summary model.")
    idle_timeout: float = Field(
        default=10.0,
        gt=0,
        description="Seconds without a new token after which a turn stops waiting for the summary model "
        "and continues with a summary written by code. Raise it for a slow model on your own machine.",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> "AuxiliaryCompressionSettings":
        require_endpoint(self.provider, self.base_url, AUXILIARY_PROVIDERS)
        return self


class AuxiliarySettings(Section):
    """Models that do side work."""

    compression: AuxiliaryCompressionSettings = Field(default_factory=AuxiliaryCompressionSettings)
