"""A client's request for an upstream of the other dialect: read, judged, written.

What has no equivalent is named in `x-plimsoll-dropped`. A request whose answer would be wrong without it is refused.
"""

from typing import Any

from plimsoll.dialects import ChatRequest, anthropic, openai
from plimsoll.dialects.mapping import examine
from plimsoll.dialects.translation import for_anthropic, for_openai, left_out
from plimsoll.errors import InvalidConversation
from plimsoll.gateway.dropin.inquiry import Inquiry
from plimsoll.gateway.edge.body import Refused
from plimsoll.models import ModelCard
from plimsoll.providers.catalogue import Dialect

_OWNER = {"openai": "OpenAI", "anthropic": "Anthropic"}


def read_foreign(inquiry: Inquiry) -> tuple[ChatRequest, tuple[str, ...]]:
    """The canonical request, and what of it is dropped; `Refused` where it cannot be translated."""
    findings = examine(inquiry.dialect, inquiry.body)
    if findings.refused:
        raise _refusal(inquiry.dialect, ", ".join(findings.refused))
    decode = anthropic.decode_request if inquiry.dialect == "anthropic" else openai.decode_request
    try:
        return decode(inquiry.body), tuple(findings.dropped)
    except InvalidConversation as error:
        raise Refused(400, "invalid_request_error", str(error)) from None


def write_foreign(
    request: ChatRequest, client: Dialect, card: ModelCard
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The body for the upstream, and what the model does not take of it."""
    try:
        if client == "openai":
            body = anthropic.encode_request(for_anthropic(request))
        else:
            body = openai.encode_request(for_openai(request), openai.rules_of(card))
    except InvalidConversation as error:
        raise Refused(400, "invalid_request_error", str(error)) from None
    return body, tuple(left_out(request, body, client))


def _refusal(dialect: Dialect, fields: str) -> Refused:
    other: Dialect = "openai" if dialect == "anthropic" else "anthropic"
    return Refused(
        400,
        "invalid_request_error",
        f"The upstream speaks {_OWNER[other]}'s dialect, which has nothing like {fields}, and the answer would be "
        f"wrong without it. Leave it out, or set model.base_url to an upstream that speaks {_OWNER[dialect]}'s.",
    )
