"""Refuses requests for objects in an upstream account that several callers of the gateway share.

Callers with gateway keys whose requests go upstream with the gateway's own key share its account there. With the id
of such an object, each could read what the others have stored.
"""

from plimsoll.gateway.dropin.client_request import ClientRequest
from plimsoll.gateway.http.body import Refused
from plimsoll.gateway.telemetry.request_facts import current_key
from plimsoll.gateway.upstream.headers import client_key
from plimsoll.gateway.upstream.target import Target


def refuse_shared_account(request: ClientRequest, target: Target, reason: str) -> None:
    """Raise `Refused`, starting with `reason`, if the request goes upstream with a key that other callers share."""
    is_own = target.endpoint.key is None and bool(client_key(request.named))
    if current_key() is None or is_own:
        return
    detail = (
        f"{reason}, which the callers of this gateway share. Send your own provider key, and the gateway's as "
        "x-plimsoll-key. The gateway forwards yours if it has none itself."
    )
    raise Refused(403, "permission_error", detail)


def refuse_account_fields(request: ClientRequest, target: Target) -> None:
    """Raise `Refused` if a field of the body uses what other callers may have stored in the upstream's account."""
    field = request.dialect.account_field(request.body)
    if field:
        stored = "it uses what is stored in the account of the upstream's key"
        refuse_shared_account(request, target, f"Send the whole conversation without {field}: {stored}")
