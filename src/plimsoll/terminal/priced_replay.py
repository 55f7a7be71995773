"""A conversation billed under several caching strategies."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from plimsoll.bulk.measurement import MeasuredConversation
from plimsoll.caching import Replay
from plimsoll.models import ModelCard
from plimsoll.transcripts import Transcript


@dataclass(frozen=True, slots=True)
class PricedReplay:
    """One conversation under each compared strategy, `none` first and the chosen one last."""

    transcript: Transcript
    replays: Mapping[str, Replay]

    @property
    def chosen(self) -> Replay:
        """The replay with the chosen strategy."""
        return list(self.replays.values())[-1]

    def over_window(self, card: ModelCard) -> int:
        """How many requests have more tokens than the model accepts."""
        return sum(step.bill.prompt_tokens > card.prompt_limit for step in self.chosen.steps)


def conversation_name(conversation: Transcript | MeasuredConversation) -> str:
    """The shortest recognisable name of the conversation."""
    name = Path(conversation.source).name
    return name if conversation.line is None else f"{name}:{conversation.line}"


def short_tokens(tokens: int) -> str:
    """A number of tokens in a few characters; --json has the exact number."""
    if tokens < 10_000:
        return f"{tokens:,}"
    return f"{tokens / 1_000:,.1f}K" if tokens < 1_000_000 else f"{tokens / 1_000_000:,.2f}M"
