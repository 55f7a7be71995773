"""OpenAI's chat completions wire format, as a client and as a server."""

from plimsoll.dialects.openai.reply import decode_reply, encode_error, encode_reply
from plimsoll.dialects.openai.request import decode_request, encode_request
from plimsoll.dialects.openai.rules import EXACT, OpenAiRules, rules_for, rules_of
from plimsoll.dialects.openai.stream_decoder import OpenAiStreamDecoder as StreamDecoder
from plimsoll.dialects.openai.stream_encoder import OpenAiStreamEncoder as StreamEncoder

__all__ = [
    "EXACT",
    "OpenAiRules",
    "StreamDecoder",
    "StreamEncoder",
    "decode_reply",
    "decode_request",
    "encode_error",
    "encode_reply",
    "encode_request",
    "rules_for",
    "rules_of",
]
