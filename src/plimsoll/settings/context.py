"""`context`, `plugins`, `compression`, `auxiliary`: the engine, plugins, when to compact, the summary model.

    window ──────────────────────────────────────────────► context_length
    [ head ][ ------------- middle ------------- ][ tail ]│
                                     target_ratio ─┘      └─ threshold

Only ranges and defaults are here; the compaction phases implement the settings.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from plimsoll.models.providers import providers
from plimsoll.settings.model import (
    ApiMode,
    Endpoint,
    api_mode_field,
    endpoint_field,
    provider_field,
    require_endpoint,
)
from plimsoll.settings.section import Section

AUXILIARY_PROVIDERS = ("auto", "main", *providers())


def _absolute(path: str) -> str:
    if not path.startswith(("/", "~")):
        fault = f"{path!r} is a relative path; give an absolute path or one that starts with ~"
        raise PydanticCustomError("relative_path", "{fault}", {"fault": fault})
    return path


class ContextSettings(Section):
    """Which context engine manages the conversation."""

    engine: str = Field(
        default="compressor",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$",
        description="The context engine: compressor, lcm (lossless), or the name of a plugin engine.",
        json_schema_extra={"allowed": "an engine's name (letters, digits, - and _)"},
    )


class PluginSettings(Section):
    """Which plugins are loaded. The code of other plugins never runs, unless `context.engine` names one."""

    enabled: Sequence[Annotated[str, StringConstraints(min_length=1)]] = Field(
        default=[],
        description="Plugins to load. Their engines become selectable, and their tools and commands available.",
        json_schema_extra={"allowed": "a list of plugin names"},
    )


class CompressionSettings(Section):
    """When a conversation is compacted and how much of it stays verbatim.

    `protect_first_n` is not a setting: the system prompt and the first exchange (3 messages) always stay.
    """

    enabled: bool = Field(
        default=True,
        description="Compact automatically. If false, only `/compress` and `plimsoll compress` compact.",
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
        description="Token budget of the newest messages, as a share of the threshold's tokens.",
    )
    protect_last_n: int = Field(default=20, ge=1, description="Minimum number of newest messages to keep.")
    target_tokens: int | None = Field(
        default=None,
        ge=1,
        description="Target size of the compacted messages in tokens, without tool schemas. Null: a third of the "
        "room that the system prompt, the first exchange and the tool schemas leave below the threshold; about "
        "10,000 with policy cost.",
    )
    evidence: bool = Field(
        default=True,
        description="Append exact quotes (ids, paths, values, errors) to the summary, within the target size.",
    )
    prompt_file: Annotated[str, AfterValidator(_absolute)] | None = Field(
        default=None,
        description="Markdown file with additions to the prompt of the summary model: instructions, and `##` "
        "headings that summaries have after the nine standard ones. An absolute path, or one that starts with ~.",
        json_schema_extra={"allowed": "an absolute path or one that starts with ~"},
    )
    background: bool = Field(
        default=True,
        description="Prepare summaries before they are due.",
    )
    policy: Literal["threshold", "cost"] = Field(
        default="threshold",
        description="When and how far to compact. threshold: at the threshold. cost: as soon as it saves money, "
        "to a smaller result, or by only clearing old tool results. cost is cheapest and keeps slightly fewer facts.",
    )


class ModelOverrides(Section):
    """Settings for the models that match a pattern; null keeps the general setting."""

    threshold: float | None = Field(
        default=None, ge=0, le=1, description="`compression.threshold` for these models."
    )
    window: int | None = Field(
        default=None,
        ge=1024,
        description="Context window of these models in tokens, like `model.context_length`.",
    )
    target_ratio: float | None = Field(
        default=None, ge=0.10, le=0.80, description="`compression.target_ratio` for these models."
    )
    target_tokens: int | None = Field(
        default=None, ge=1, description="`compression.target_tokens` for these models."
    )
    summary_model: str | None = Field(
        default=None,
        min_length=1,
        description="The model that summarises conversations with these models, like `auxiliary.compression.model`.",
    )


class AuxiliaryCompressionSettings(Section):
    """The summary model."""

    model: str | None = Field(
        default=None, min_length=1, description="The summary model. Null: chosen automatically."
    )
    provider: str = provider_field(
        AUXILIARY_PROVIDERS, "Provider of the summary model; main means the main model's provider."
    )
    base_url: Endpoint | None = endpoint_field("Endpoint of the summary model.")
    api_mode: ApiMode = api_mode_field("summary model")
    idle_timeout: float = Field(
        default=10.0,
        gt=0,
        description="Seconds without a new token after which a turn stops waiting for the summary model "
        "and uses a summary written by code. Raise it for a slow local model.",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> "AuxiliaryCompressionSettings":
        require_endpoint(self.provider, self.base_url, AUXILIARY_PROVIDERS)
        return self


class AuxiliarySettings(Section):
    """Models for auxiliary tasks."""

    compression: AuxiliaryCompressionSettings = Field(default_factory=AuxiliaryCompressionSettings)
