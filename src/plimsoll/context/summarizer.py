"""What an engine needs from a summary model: one blocking call and the size of its window."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class Summarizer(Protocol):
    """Any object with these two; the host decides what stands behind it."""

    @property
    def context_length(self) -> int:
        """Tokens that prompt and answer may take together."""
        ...

    def summarize(self, prompt: str, max_tokens: int) -> str:
        """The model's answer to `prompt`; may raise, and the engine then writes the summary itself."""
        ...
