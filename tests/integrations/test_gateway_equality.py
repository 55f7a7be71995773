"""An adapter and the gateway send the same messages, given the same history, tools, window and reported tokens."""

import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from ships import LOOKUP, SYSTEM, conversation, requests

sys.path.insert(0, str(Path(__file__).parents[1] / "gateway"))

from gateway_server import RunningGateway, settings_for

from plimsoll.integrations import ChatCodec, HistoryCompactor
from plimsoll.testing.scripted_server import ScriptedServer, say

WINDOW = 6_000
MODEL = "gpt-4.1"


@pytest.mark.parametrize(
    ("system", "turns", "least"), [([SYSTEM], 26, 3), ([], 12, 1)], ids=["with a system prompt", "without"]
)
def test_the_core_makes_the_views_of_the_gateway(
    system: list[dict[str, Any]], turns: int, least: int, tmp_path: Path
) -> None:
    asked = [[*system, *history] for history in requests(conversation(turns))]
    compression = {"protect_last_n": 4, "background": False}
    with (
        ScriptedServer(lambda _: say("Here."), model=MODEL, window=WINDOW) as server,
        HistoryCompactor(window=WINDOW, protect_last_n=4, model=MODEL) as history,
        RunningGateway(
            settings_for(server, "openai", model={"context_length": WINDOW}, compression=compression),
            tmp_path,
        ) as gateway,
        httpx.Client(timeout=60, trust_env=False) as client,
    ):
        compactions = 0
        for messages in asked:
            body = {"model": MODEL, "messages": messages, "tools": [LOOKUP]}
            client.post(f"{gateway.openai_url}/chat/completions", json=body).raise_for_status()
            seen = server.requests[-1]
            assert seen.body is not None
            assert seen.usage is not None
            view = history.view(ChatCodec(), messages, tools=[LOOKUP])
            assert seen.body["messages"] == view.messages
            history.observe(view, seen.usage.prompt_tokens)
            compactions += view.compacted
    assert compactions >= least
