"""Google's generateContent wire format, as a client and as a server."""

from plimsoll.dialects.gemini.conversation import decode_contents, encode_contents
from plimsoll.dialects.gemini.reply import decode_reply, encode_reply
from plimsoll.dialects.gemini.request import decode_request, encode_request
from plimsoll.dialects.gemini.rules import EXACT, GeminiRules, rules_for
from plimsoll.dialects.gemini.stream_decoder import GeminiStreamDecoder as StreamDecoder
from plimsoll.dialects.gemini.stream_encoder import GeminiStreamEncoder as StreamEncoder

__all__ = [
    "EXACT",
    "GeminiRules",
    "StreamDecoder",
    "StreamEncoder",
    "decode_contents",
    "decode_reply",
    "decode_request",
    "encode_contents",
    "encode_reply",
    "encode_request",
    "rules_for",
]
