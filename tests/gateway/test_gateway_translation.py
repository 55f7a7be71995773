"""A request that is translated loses nothing in silence: fields are mapped, named in a header, or refused."""

from pathlib import Path
from typing import Any

import pytest
from clients import http
from gateway_server import RunningGateway, settings_for

from plimsoll.testing.scripted_server import ScriptedServer, call, say

ANTHROPIC = {"x-api-key": "key", "anthropic-version": "2023-06-01"}
HELLO = [{"role": "user", "content": "Hello"}]
SEARCH = {"type": "web_search_20250305", "name": "web_search"}


@pytest.mark.parametrize("stream", [False, True])
def test_fields_without_an_equivalent_are_named_in_a_header(stream: bool, tmp_path: Path) -> None:
    openai_body = {"model": "claude-sonnet-4-5", "messages": HELLO, "seed": 7, "user": "me", "stream": stream}
    anthropic_body = {"model": "gpt-5", "messages": HELLO, "max_tokens": 99, "top_k": 5, "temperature": 0.2}
    with ScriptedServer() as server:
        with RunningGateway(settings_for(server), tmp_path / "a") as gateway:
            first = http().post(f"{gateway.openai_url}/chat/completions", json=openai_body)
            plain = http().post(
                f"{gateway.url}/v1/messages", json={**anthropic_body, "seed": 7}, headers=ANTHROPIC
            )
        with RunningGateway(settings_for(server, "openai"), tmp_path / "b") as gateway:
            second = http().post(
                f"{gateway.url}/v1/messages", json={**anthropic_body, "stream": stream}, headers=ANTHROPIC
            )
    assert (first.status_code, second.status_code) == (200, 200), (first.text, second.text)
    assert first.headers["x-plimsoll-dropped"] == "seed"
    assert second.headers["x-plimsoll-dropped"] == "top_k, temperature"
    assert "x-plimsoll-dropped" not in plain.headers
    assert server.requests[0].body is not None
    assert server.requests[0].body["metadata"] == {"user_id": "me"}


@pytest.mark.parametrize(
    ("path", "upstream", "field", "more"),
    [
        ("/v1/chat/completions", "anthropic", "n", {"n": 2}),
        (
            "/v1/chat/completions",
            "anthropic",
            "tools[custom]",
            {"tools": [{"type": "custom", "custom": {"name": "x"}}]},
        ),
        ("/v1/messages", "openai", "tools[*]", {"tools": [SEARCH]}),
        ("/v1/messages", "openai", "container", {"container": "c_1"}),
    ],
)
def test_a_request_whose_answer_would_be_wrong_is_refused_in_the_clients_dialect(
    path: str, upstream: str, field: str, more: dict[str, Any], tmp_path: Path
) -> None:
    body = {"model": "some-model", "messages": HELLO, "max_tokens": 99, **more}
    with ScriptedServer() as server, RunningGateway(settings_for(server, upstream), tmp_path) as gateway:
        response = http().post(gateway.url + path, json=body, headers=ANTHROPIC)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert f"no equivalent of {field}," in error["message"]
    assert server.requests == []


def test_an_image_in_a_tool_result_reaches_an_openai_upstream(tmp_path: Path) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    messages = [
        *HELLO,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "image", "source": source}]}
            ],
        },
    ]
    tools = [{"name": "look", "input_schema": {"type": "object", "properties": {}}}]
    body = {"model": "gpt-4o", "max_tokens": 99, "messages": messages, "tools": tools}
    with (
        ScriptedServer(model="gpt-4o") as server,
        RunningGateway(settings_for(server, "openai"), tmp_path) as gateway,
    ):
        response = http().post(f"{gateway.url}/v1/messages", json=body, headers=ANTHROPIC)
    assert response.status_code == 200, response.text


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_of_the_first_tool_protocol_gets_a_function_call(stream: bool, tmp_path: Path) -> None:
    functions = [{"name": "look", "parameters": {"type": "object", "properties": {}}}]
    body = {"model": "claude-sonnet-4-5", "messages": HELLO, "functions": functions, "stream": stream}
    with (
        ScriptedServer([say("Well.") + call("look", key="x")]) as server,
        RunningGateway(settings_for(server), tmp_path) as gateway,
    ):
        response = http().post(f"{gateway.openai_url}/chat/completions", json=body)
    assert response.status_code == 200, response.text
    assert "function_call" in response.text
    assert "tool_calls" not in response.text
