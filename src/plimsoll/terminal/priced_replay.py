"""A conversation billed under several caching strategies."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from plimsoll.caching import Replay
from plimsoll.models import ModelCard
from plimsoll.transcripts import Transcript


@dataclass(frozen=True, slots=True)
class PricedReplay:
    """One conversation under each strategy that is compared, `none` first and the chosen one last."""

    transcript: Transcript
    replays: Mapping[str, Replay]

    @property
    def chosen(self) -> Replay:
        """The replay that the person asked for."""
        return list(self.replays.values())[-1]

    def over_window(self, card: ModelCard) -> int:
        """How many requests have more tokens than the model takes."""
        return sum(step.bill.prompt_tokens > card.prompt_limit for step in self.chosen.steps)


def conversation_name(transcript: Transcript) -> str:
    """The shortest name by which the person knows the conversation."""
    name = Path(transcript.source).name
    return name if transcript.line is None else f"{name}:{transcript.line}"


def short_tokens(tokens: int) -> str:
    """A number of tokens in a few characters; --json has them all."""
    if tokens < 10_000:
        return f"{tokens:,}"
    return f"{tokens / 1_000:,.1f}K" if tokens < 1_000_000 else f"{tokens / 1_000_000:,.2f}M"
