"""Splits a recorded conversation at its compactions into training examples.

    recorded     s u a t a t a t a t a
    example 1    s u A t A t A              A: generated here, everything else is the prompt
    example 2    s u {summary} t A t A      starts with the compacted view; messages generated in example 1 are prompt

The conversation is replayed: before each assistant message, a prompt that has reached the threshold is compacted, and
the compacted view starts a new example. Within an example messages are only appended, so each prompt extends the
previous one. Every assistant message is generated in exactly one example.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll.context import CompactionReport, ContextCompressor
from plimsoll.messages import Message, is_whole, repair
from plimsoll.models import estimate_message_tokens, estimate_messages_tokens_rough


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """Messages, each with whether the model generated it in this example."""

    messages: tuple[Message, ...]
    generated: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class SplitConversation:
    """The examples of one conversation, and the compactions between them."""

    examples: tuple[TrainingExample, ...]
    reports: tuple[CompactionReport, ...]
    last_cut: int = 0  # messages before the last compaction
    last_view: tuple[Message, ...] = ()  # the view that it left


def split_at_compactions(
    recorded: Sequence[Message],
    engine: ContextCompressor,
    overhead_tokens: int = 0,
    focus: str | None = None,
) -> SplitConversation:
    """Replay the conversation; `overhead_tokens` are the tokens of its tool schemas in every prompt."""
    messages = list(recorded) if is_whole(recorded) else repair(recorded)
    examples: list[TrainingExample] = []
    reports: list[CompactionReport] = []
    view: list[Message] = []
    generated: list[bool] = []
    tokens, last_cut = overhead_tokens, 0
    last_view: tuple[Message, ...] = ()
    for place, message in enumerate(messages):
        is_generated = message.get("role") == "assistant"
        if is_generated and engine.should_compress(tokens):
            shorter = engine.compress(view, tokens, focus, overhead_tokens)
            report = engine.last_report
            assert report is not None  # every call sets one
            if report.outcome == "compacted":
                if any(generated):
                    examples.append(TrainingExample(tuple(view), tuple(generated)))
                reports.append(report)
                view, generated = list(shorter), [False] * len(shorter)
                tokens = overhead_tokens + estimate_messages_tokens_rough(view)
                last_cut, last_view = place, tuple(view)
        view.append(message)
        generated.append(is_generated)
        tokens += estimate_message_tokens(message)
    if any(generated):
        examples.append(TrainingExample(tuple(view), tuple(generated)))
    return SplitConversation(tuple(examples), tuple(reports), last_cut, last_view)
