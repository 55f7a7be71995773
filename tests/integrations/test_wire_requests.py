"""Hosts that speak a provider's API: every dialect comes back in its own form, and requests extend one another."""

import asyncio
from typing import Any

import pytest
from ships import LOOKUP, SYSTEM, conversation, requests

from plimsoll.context.markers import is_summary
from plimsoll.dialects import ChatRequest, Dialect, dialects
from plimsoll.integrations import HistoryCompactor
from plimsoll.integrations.wire import HostRequest
from plimsoll.messages import validate
from plimsoll.testing.prefix import prefix_parts

MODEL = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}


def bodies(dialect: Dialect) -> list[dict[str, Any]]:
    """The requests of a conversation, with a field that Plimsoll does not know."""
    model = MODEL.get(dialect.name, "gpt-4.1")
    found = []
    for log in requests(conversation(20)):
        request = ChatRequest(model=model, messages=[SYSTEM, *log], tools=[LOOKUP], max_tokens=100)
        found.append({**dialect.encode_request(request), "x_unknown": {"kept": True}})
    return found


@pytest.mark.parametrize("dialect", dialects(), ids=lambda dialect: dialect.name)
def test_requests_of_every_dialect_are_compacted_in_their_own_form(dialect: Dialect) -> None:
    async def run() -> list[tuple[dict[str, Any], bool]]:
        found = []
        for body in bodies(dialect):
            request = HostRequest(dialect, body, model=MODEL.get(dialect.name, "gpt-4.1"))
            view = await request.view(history)
            found.append((request.with_view(view), view.compacted))
        return found

    with HistoryCompactor(window=6_000, protect_last_n=4) as history:
        sent = asyncio.run(run())
    assert sum(is_compacted for _, is_compacted in sent) >= 2
    parts: list[tuple[str, str]] = []
    for (body, is_compacted), whole in zip(sent, bodies(dialect), strict=True):
        assert body["x_unknown"] == {"kept": True}
        assert body.keys() == whole.keys()
        messages = dialect.decode_request(body).messages
        assert validate(messages) == []
        if not is_compacted:
            assert prefix_parts(body)[: len(parts)] == parts
        parts = prefix_parts(body)
    assert sum(map(is_summary, messages)) == 1
