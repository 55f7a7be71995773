"""`api_mode`: the wire format of an endpoint, for the main model and for summaries."""

import asyncio
from pathlib import Path
from typing import Any, get_args

import pytest

from plimsoll.dialects import ChatRequest, Reply, dialects
from plimsoll.messages import text_of, tool_calls
from plimsoll.providers import Client, Endpoint, resolve
from plimsoll.providers.auxiliary import resolve_auxiliary
from plimsoll.settings.context import AuxiliaryCompressionSettings
from plimsoll.settings.model import ApiMode, ModelSettings
from plimsoll.testing.scripted_server import ScriptedServer, call, say

GOOGLE = "https://generativelanguage.googleapis.com"
BEARER = ("authorization", "Bearer secret")
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def endpoint_of(environ: dict[str, str] | None = None, **settings: Any) -> Endpoint:
    found = resolve(ModelSettings(**settings), environ or {}, home=Path("/nowhere"))
    return asyncio.run(found).endpoint


def test_every_dialect_can_be_named():
    assert {"auto", *(dialect.api_mode for dialect in dialects())} == set(get_args(ApiMode))


@pytest.mark.parametrize(
    ("settings", "dialect", "header", "value"),
    [
        ({"api_mode": "gemini", "base_url": "https://host/x"}, "gemini", "x-goog-api-key", "secret"),
        ({"api_mode": "auto", "base_url": "https://host/v1beta"}, "gemini", "x-goog-api-key", "secret"),
        ({"api_mode": "anthropic_messages", "base_url": "https://host"}, "anthropic", "x-api-key", "secret"),
        ({"api_mode": "chat_completions", "base_url": "https://h/v1beta"}, "openai", *BEARER),
        ({"name": "gemini-2.5-flash"}, "gemini", "x-goog-api-key", "secret"),
        ({"provider": "gemini", "base_url": f"{GOOGLE}/v1beta/openai"}, "openai", *BEARER),
        ({"base_url": GOOGLE}, "gemini", "x-goog-api-key", "secret"),
    ],
)  # fmt: skip
def test_the_wire_and_the_header_of_the_key_belong_together(
    settings: dict[str, str], dialect: str, header: str, value: str
) -> None:
    found = endpoint_of({"PLIMSOLL_API_KEY": "secret", "GEMINI_API_KEY": "secret"}, **settings)
    assert (found.dialect, found.request_headers()[header]) == (dialect, value)
    assert ("anthropic-version" in found.request_headers()) == (dialect == "anthropic")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", ["gemini-2.5-pro", "gemini-3-pro"])
def test_a_turn_with_tools_runs_on_googles_wire(name: str, streamed: bool) -> None:
    with ScriptedServer([call("look"), say("Done.")], model=name, api_key="secret") as server:
        endpoint = endpoint_of(
            {"PLIMSOLL_API_KEY": "secret"}, name=name, base_url=server.url, api_mode="gemini"
        )
        asked = ChatRequest(name, ({"role": "user", "content": "Look."},), tools=(TOOL,))

        async def turn() -> Reply:
            async with Client(endpoint) as client:
                heard = (lambda _delta: None) if streamed else None
                first = await client.complete(asked, on_delta=heard)
                (made,) = tool_calls(first.message)
                result = {"role": "tool", "tool_call_id": made["id"], "name": "look", "content": "Seen."}
                again = ChatRequest(name, (*asked.messages, first.message, result), tools=(TOOL,))
                return await client.complete(again, on_delta=heard)

        reply = asyncio.run(turn())
        seen = server.requests
    assert text_of(reply.message) == "Done."
    assert [(one.dialect, one.status) for one in seen] == [("gemini", 200)] * 2
    assert reply.usage is not None
    assert reply.usage.prompt_tokens > 0


def test_a_summary_model_has_an_api_mode_of_its_own() -> None:
    settings = AuxiliaryCompressionSettings(
        model="small", provider="own", base_url="http://127.0.0.1:9/x", api_mode="gemini"
    )
    found = asyncio.run(resolve_auxiliary(settings, ModelSettings(), {}, home=Path("/nowhere")))
    assert found.candidates[0].endpoint.dialect == "gemini"
