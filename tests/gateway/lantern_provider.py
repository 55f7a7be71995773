"""The scripted server as a provider of Lantern."""

from collections.abc import Iterator
from typing import Any

from lantern_dialect import LanternDialect

from plimsoll.dialects import SseEvent
from plimsoll.dialects.sse import json_event
from plimsoll.messages import validate
from plimsoll.testing.scripted_server.provider import ScriptedProvider
from plimsoll.testing.scripted_server.rules.checked_request import CheckedRequest
from plimsoll.testing.scripted_server.rules.refusal import Refusal

LANTERN = LanternDialect()


class LanternProvider(ScriptedProvider):
    """Keeps nothing itself, so that a request that continues a reply is refused."""

    dialect = LANTERN
    reply_prefix = "lan_"

    def key_refusal(self, key: str) -> Refusal:
        return Refusal(401, "BadToken", "This token is not known.")

    def not_json(self, error: Exception) -> str:
        return "This is not JSON."

    def shape_refusals(self, body: dict[str, Any], counts_only: bool) -> Iterator[Refusal]:
        if not isinstance(body.get("turns"), list):
            yield Refusal(400, "BadRequest", "There are no turns.")
        if body.get("continues"):
            yield Refusal(404, "NotThere", f"The reply {body['continues']} is not known.")

    def refusals(self, checked: CheckedRequest) -> Iterator[Refusal]:
        for violation in validate(checked.request.messages):
            yield Refusal(400, "BadRequest", str(violation))
        window = checked.card.window
        if checked.prompt_tokens > window:
            told = f"prompt is too long: {checked.prompt_tokens} tokens > {window} maximum"
            yield Refusal(400, "TooLong", told)

    def usual_refusal(self, status: int) -> Refusal:
        return Refusal(status, self.dialect.error_kind(status), "It did not work.")

    def quota_refusal(self) -> Refusal:
        return Refusal(402, "NoMoney", "There is no money left.")

    def error_body(self, refusal: Refusal, request_id: str) -> dict[str, Any]:
        return {"fault": {"name": refusal.kind, "text": refusal.message}}

    def failure_event(self, kind: str, message: str) -> SseEvent:
        return json_event({"fault": {"name": kind, "text": message}}, "fault")
