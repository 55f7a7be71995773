"""The interface of a summary model for engines: one blocking call and its window size.

    Summarizer                one prompt, one answer
    ConversationSummarizer    may also read the conversation from the provider's cache
    SummaryService            creates one of these per summary, so that a deadline can span its requests

The last two are optional.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from plimsoll.messages import Message


@runtime_checkable
class Summarizer(Protocol):
    """Any object with these two members; the host provides it."""

    @property
    def context_length(self) -> int:
        """The window for prompt and answer together; smaller after a failure that revealed a lower limit."""
        ...

    def summarize(self, prompt: str, max_tokens: int) -> str:
        """The model's answer to `prompt`; may raise, and the engine then writes the summary itself."""
        ...


@runtime_checkable
class ConversationSummarizer(Summarizer, Protocol):
    """A summarizer that can append an instruction to the conversation as it was last sent."""

    def prefers_conversation(self, view: Sequence[Message], excerpt_tokens: int, max_tokens: int) -> bool:
        """Whether this is cheaper now than a separate request with excerpts of this many tokens."""
        ...

    def summarize_conversation(self, view: Sequence[Message], instruction: str, max_tokens: int) -> str:
        """The model's answer to the instruction after the whole conversation; may raise."""
        ...


@runtime_checkable
class SummaryService(Protocol):
    """Creates a summarizer for each summary."""

    def begin(self) -> Summarizer:
        """A summarizer for one summary and all of its pieces."""
        ...


SummaryWriter = Summarizer | SummaryService
