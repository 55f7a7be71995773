"""Translates a client's request for an upstream of another dialect.

Fields without an equivalent are listed in `x-plimsoll-dropped`. A request whose answer would be wrong without them is
refused.
"""

from typing import Any

from plimsoll.dialects import ChatRequest, Dialect
from plimsoll.gateway.dropin.client_request import ClientRequest
from plimsoll.gateway.http.body import Refused, bad_request
from plimsoll.models import ModelCard


def read_foreign(client_request: ClientRequest, target: Dialect) -> tuple[ChatRequest, tuple[str, ...]]:
    """The canonical request and the dropped fields; raises `Refused` if it cannot be translated."""
    findings = client_request.dialect.untranslatable(client_request.body, target.name)
    if findings.refused:
        raise _refusal(client_request.dialect, target, ", ".join(findings.refused))
    body, path = client_request.body, client_request.path
    return client_request.dialect.decode_request(body, path), tuple(findings.dropped)


def write_foreign(
    request: ChatRequest, client: Dialect, target: Dialect, card: ModelCard
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The body for the upstream, and the fields that the model does not accept."""
    body = target.encode_request(target.adapted(request), card)
    return body, tuple(client.field_name(field, request) for field in target.unwritten(request, body))


def _refusal(client: Dialect, target: Dialect, fields: str) -> Refused:
    return bad_request(
        f"The upstream uses {target.title}'s dialect, which has no equivalent of {fields}, and the answer would be "
        f"wrong without it. Leave it out, or set model.base_url to an upstream that speaks {client.title}'s.",
    )
