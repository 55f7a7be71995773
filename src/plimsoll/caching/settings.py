"""Settings of this package: cache lifetime and breakpoint strategy.

    [ tools ][ system ]●[ ... ][ message ]●[ message ]●[ message ]●     system_and_3

Nothing here knows a provider; whether a model caches at all is on its card.
"""

from typing import Literal

from pydantic import Field

from plimsoll.sections import Section


class PromptCachingSettings(Section):
    """How the provider's prompt cache is used."""

    cache_ttl: Literal["5m", "1h"] = Field(
        default="5m",
        description="How long a cached prompt lives. 1h costs more to write and survives a break.",
    )
    strategy: Literal["auto", "system_and_3", "planned", "none"] = Field(
        default="auto",
        description="Where cache breakpoints go: system prompt and last 3 messages, planned, none, or auto.",
    )
