"""Anthropic's messages wire format, as a client and as a server."""

from plimsoll.dialects.anthropic.conversation import (
    decode_anthropic_conversation,
    encode_anthropic_conversation,
)
from plimsoll.dialects.anthropic.reply import decode_reply, encode_error, encode_reply
from plimsoll.dialects.anthropic.request import DEFAULT_MAX_TOKENS, decode_request, encode_request
from plimsoll.dialects.anthropic.rules import EXACT, AnthropicRules, rules_for
from plimsoll.dialects.anthropic.stream_decoder import AnthropicStreamDecoder as StreamDecoder
from plimsoll.dialects.anthropic.stream_encoder import AnthropicStreamEncoder as StreamEncoder

__all__ = [
    "DEFAULT_MAX_TOKENS",
    "EXACT",
    "AnthropicRules",
    "StreamDecoder",
    "StreamEncoder",
    "decode_anthropic_conversation",
    "decode_reply",
    "decode_request",
    "encode_anthropic_conversation",
    "encode_error",
    "encode_reply",
    "encode_request",
    "rules_for",
]
