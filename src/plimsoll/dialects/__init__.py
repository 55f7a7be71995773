"""Wire formats: canonical (OpenAI-chat dicts) ⇄ OpenAI chat and Responses, Anthropic messages, Gemini. Pure.

    client of a provider      encode_request · decode_reply · decoder
    server for a client       decode_request · encode_reply · encoder

A `Dialect` object implements these and everything else that differs between wire formats. Code outside this package
calls the object and never compares its name.
"""

from plimsoll.dialects import anthropic, gemini, openai
from plimsoll.dialects.anthropic import decode_anthropic_conversation, encode_anthropic_conversation
from plimsoll.dialects.collect import Collector, collect
from plimsoll.dialects.dialect import Dialect
from plimsoll.dialects.finish import FinishReason
from plimsoll.dialects.registry import (
    ANTHROPIC,
    GEMINI,
    OPENAI,
    RESPONSES,
    dialect_at,
    dialect_named,
    dialect_of,
    dialect_shown_by,
    dialect_with_mode,
    dialects,
    key_headers,
    register_dialect,
)
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
    "ANTHROPIC",
    "GEMINI",
    "OPENAI",
    "RESPONSES",
    "BlockDelta",
    "BlockEnd",
    "ChatRequest",
    "CitationDelta",
    "Collector",
    "Delta",
    "Dialect",
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
    "dialect_at",
    "dialect_named",
    "dialect_of",
    "dialect_shown_by",
    "dialect_with_mode",
    "dialects",
    "drop_bound_thinking",
    "encode_anthropic_conversation",
    "gemini",
    "illegal_edits",
    "key_headers",
    "openai",
    "register_dialect",
    "usage_from_anthropic",
    "usage_from_openai",
]
