"""The response to a compaction request: one compaction item with readable text.

input ends in compaction_trigger     a response whose output is the item, streamed or not
POST /v1/responses/compact           an object with the user's messages and the item
"""

from dataclasses import dataclass

from plimsoll.dialects.interfaces import Body
from plimsoll.dialects.responses.compaction_items import compaction_item
from plimsoll.dialects.responses.items import GROUP, is_message
from plimsoll.dialects.responses.reply import envelope, item_id, usage_to_responses
from plimsoll.dialects.responses.request import split
from plimsoll.dialects.responses.stream_events import EventNumbers, whole_item
from plimsoll.dialects.sse import SseEvent
from plimsoll.dialects.usage import Usage

COMPACT_PATH = "/v1/responses/compact"


@dataclass(frozen=True, slots=True)
class ResponsesCompactionReply:
    """The reply to the request with this body."""

    request_body: Body
    path: str

    def body(self, text: str, reply_id: str, created: int, usage: Usage) -> Body:
        item = compaction_item(text, item_id("compaction", reply_id, 0))
        if self.path != COMPACT_PATH:
            return envelope(reply_id, "", self.request_body, created, [item], "stop", usage)
        _, items = split(self.request_body)
        kept = [
            entry for entry in items if GROUP not in entry and is_message(entry) and entry["role"] == "user"
        ]
        return {
            "id": reply_id,
            "object": "response.compaction",
            "created_at": created,
            "output": [*kept, item],
            "usage": usage_to_responses(usage),
        }

    def events(self, text: str, reply_id: str, created: int, usage: Usage) -> list[SseEvent]:
        numbers = EventNumbers()
        item = compaction_item(text, item_id("compaction", reply_id, 0))
        begun = envelope(reply_id, "", self.request_body, created, [], None, None, status="in_progress")
        ended = envelope(reply_id, "", self.request_body, created, [item], "stop", usage)
        return [
            numbers.event("response.created", response=begun),
            numbers.event("response.in_progress", response=begun),
            *whole_item(numbers, 0, item),
            numbers.event("response.completed", response=ended),
        ]
