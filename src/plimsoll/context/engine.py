"""The interface between a host and a context engine, and the public plugin interface.

    host ── update_from_response(usage) ──►  engine   counts tokens
         ── should_compress() ───────────►            decides when
         ── compress(messages) ──────────►            compacts the list
         ── handle_tool_call(name, args) ►            runs its own tools

Messages are OpenAI chat dicts. Engines are synchronous, have no network access, and never mutate a
list that they receive. The host passes only the keyword arguments that an engine's signature
accepts.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from plimsoll.messages import Message


class ContextEngine(ABC):
    """Decides when a conversation is too large, and compacts it."""

    # Attributes that the host reads; an engine keeps them up to date.
    last_prompt_tokens: int = 0
    last_completion_tokens: int = 0
    last_total_tokens: int = 0
    threshold_tokens: int = 0
    context_length: int = 0
    compression_count: int = 0
    threshold_percent: float = 0.50
    protect_first_n: int = 3
    protect_last_n: int = 20

    @property
    @abstractmethod
    def name(self) -> str:
        """The name by which `context.engine` chooses this engine."""

    @abstractmethod
    def update_from_response(self, usage: Mapping[str, Any]) -> None:
        """Record the token counts of one API response.

        `usage` always contains prompt_tokens, completion_tokens and total_tokens, and if known
        input_tokens, output_tokens, cache_read_tokens, cache_write_tokens and reasoning_tokens.
        """

    @abstractmethod
    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Whether compaction is due, by `prompt_tokens` or by the last reported count."""

    @abstractmethod
    def compress(
        self,
        messages: list[Message],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        **later: Any,
    ) -> list[Message]:
        """The compacted list, or the unchanged list if nothing can be removed."""

    def should_compress_preflight(self, messages: list[Message]) -> bool:
        """Whether a request is too large before it is sent; engines that can estimate override this."""
        return False

    def has_content_to_compress(self, messages: list[Message]) -> bool:
        """Whether there is anything between the protected ends."""
        return len(messages) > self.protect_first_n + self.protect_last_n

    def on_session_start(self, session_id: str, **kwargs: Any) -> None:
        """Called when a conversation starts or is resumed."""

    def on_session_end(self, session_id: str, messages: list[Message]) -> None:
        """Called when a conversation ends; not at a compaction and not between turns."""

    def on_session_reset(self) -> None:
        """Called when the conversation is emptied; resets the counters."""
        self.last_prompt_tokens = 0
        self.last_completion_tokens = 0
        self.last_total_tokens = 0
        self.compression_count = 0

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Tools that the agent may call, in OpenAI function form."""
        return []

    def handle_tool_call(self, name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """The result of a call to one of this engine's tools, as JSON."""
        return json.dumps({"error": f"engine {self.name!r} has no tool named {name!r}"})

    def get_status(self) -> dict[str, Any]:
        """The engine's state, for display."""
        used = self.last_prompt_tokens / self.context_length if self.context_length else 0.0
        return {
            "engine": self.name,
            "last_prompt_tokens": self.last_prompt_tokens,
            "threshold_tokens": self.threshold_tokens,
            "context_length": self.context_length,
            "usage_percent": round(100 * min(1.0, used), 1),
            "compression_count": self.compression_count,
        }

    def update_model(
        self,
        model: str,
        context_length: int,
        base_url: str = "",
        api_key: str = "",
        provider: str = "",
        api_mode: str = "",
    ) -> None:
        """Called when the conversation continues with another model; sets the new window and threshold."""
        self.context_length = context_length
        self.threshold_tokens = int(context_length * self.threshold_percent)
