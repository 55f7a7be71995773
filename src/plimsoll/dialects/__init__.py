"""Wire formats: canonical (OpenAI-chat dicts) ⇄ OpenAI chat completions, canonical ⇄ Anthropic messages. Pure.

    client of a provider      encode_request · decode_reply · StreamDecoder
    server for a client       decode_request · encode_reply · StreamEncoder

Both `dialects.openai` and `dialects.anthropic` offer these names, so that what
is written for one serves for the other.
"""

from plimsoll.dialects import anthropic, openai
from plimsoll.dialects.anthropic import decode_anthropic_conversation, encode_anthropic_conversation
from plimsoll.dialects.collect import Collector, collect
from plimsoll.dialects.finish import FinishReason
from plimsoll.dialects.reply import (
    BlockDelta,
    BlockEnd,
    CitationDelta,
    Delta,
    Failure,
    Finish,
    MessageDelta,
    ReasoningDelta,
    Reply,
    SignatureDelta,
    Start,
    TextDelta,
    ToolCallDelta,
    UsageReport,
)
from plimsoll.dialects.request import ChatRequest, Thinking, Tool, ToolChoice
from plimsoll.dialects.sse import SseEvent, SseParser
from plimsoll.dialects.thinking import drop_bound_thinking, illegal_edits
from plimsoll.dialects.usage import Usage, usage_from_anthropic, usage_from_openai

__all__ = [
    "BlockDelta",
    "BlockEnd",
    "ChatRequest",
    "CitationDelta",
    "Collector",
    "Delta",
    "Failure",
    "Finish",
    "FinishReason",
    "MessageDelta",
    "ReasoningDelta",
    "Reply",
    "SignatureDelta",
    "SseEvent",
    "SseParser",
    "Start",
    "TextDelta",
    "Thinking",
    "Tool",
    "ToolCallDelta",
    "ToolChoice",
    "Usage",
    "UsageReport",
    "anthropic",
    "collect",
    "decode_anthropic_conversation",
    "drop_bound_thinking",
    "encode_anthropic_conversation",
    "illegal_edits",
    "openai",
    "usage_from_anthropic",
    "usage_from_openai",
]
