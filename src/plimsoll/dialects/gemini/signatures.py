"""`thoughtSignature`: the provider's signature of a function call, which must be sent back with it.

    Google       {"functionCall": {…}, "thoughtSignature": S}
    canonical    {"id": …, "function": {…}, "extra_content": {"google": {"thought_signature": S}}}

The canonical form is that of Google's OpenAI endpoint, so clients of OpenAI's wire that return unknown fields keep
the signature. From Gemini 3 on, the first call of every step needs one. A call that was rewritten, or that another
model made, gets the value that makes Google skip the check (ai.google.dev, "Thought signatures").
"""

from typing import Any

from plimsoll.messages.untyped import object_of, string_of

SKIP = "skip_thought_signature_validator"
KEY = "extra_content"


def signature_of(call: dict[str, Any]) -> str:
    """The signature of a canonical call; empty if it has none."""
    return string_of(object_of(object_of(call.get(KEY)).get("google")).get("thought_signature"))


def signed(signature: Any) -> dict[str, Any]:
    """The canonical call's field for a signature, as a dict; empty without a signature."""
    return {KEY: {"google": {"thought_signature": signature}}} if isinstance(signature, str) else {}
