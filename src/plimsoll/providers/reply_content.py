"""What counts as an answer: text, thinking, a tool call. A reply without any may be discarded and requested again."""

from plimsoll.dialects import (
    BlockDelta,
    CitationDelta,
    Delta,
    ReasoningDelta,
    Reply,
    SignatureDelta,
    TextDelta,
    ToolCallDelta,
)
from plimsoll.messages import texts_of, tool_calls

# A reply that ended for one of these reasons is meaningful even without content.
_TELLING_ENDS = ("length", "content_filter")
_TELLING_KEYS = ("thinking_blocks", "reasoning_content", "refusal", "audio")


def is_answer_content(delta: Delta) -> bool:
    """Whether a step has a piece of the answer; white space does not count."""
    match delta:
        case TextDelta(text) | ReasoningDelta(text):
            return bool(text.strip())
        case ToolCallDelta() | BlockDelta() | CitationDelta() | SignatureDelta():
            return True
    return False


def has_answer(reply: Reply) -> bool:
    """Whether a reply has an answer, or ended in a way that explains why not."""
    message = reply.message
    content = message.get("content")
    return (
        any(text.strip() for text in texts_of(message))
        or bool(tool_calls(message))
        or any(message.get(key) for key in _TELLING_KEYS)
        or (isinstance(content, list) and any(part.get("type") != "text" for part in content))
        or reply.finish_reason in _TELLING_ENDS
        or reply.native_finish_reason == "pause_turn"
    )
