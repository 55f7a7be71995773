"""`prompt_caching`: cache lifetime and breakpoint strategy.

    [ tools ][ system ]●[ ... ][ message ]●[ message ]●[ message ]●     system_and_3

Nothing here depends on a provider; the model card says whether a model caches.
"""

from typing import Literal

from pydantic import Field

from plimsoll.settings.section import Section


class PromptCachingSettings(Section):
    """How Plimsoll uses the provider's prompt cache."""

    cache_ttl: Literal["5m", "1h"] = Field(
        default="5m",
        description="Lifetime of cache entries. 1h costs more to write but survives breaks.",
    )
    strategy: Literal["auto", "system_and_3", "planned", "none"] = Field(
        default="auto",
        description="Where cache breakpoints go. system_and_3: on the system prompt and the last 3 messages. "
        "planned: by the provider's cache rules. none: nowhere. auto: planned, on Anthropic and OpenRouter; "
        "with planned or system_and_3, Claude on other servers gets breakpoints too.",
    )
