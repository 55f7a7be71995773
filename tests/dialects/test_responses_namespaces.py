"""Tools in a namespace, which a client offers in `tools` or in an item of its input."""

from typing import Any

import pytest

from plimsoll.dialects import RESPONSES, Reply
from plimsoll.testing.scripted_server.replies import steps_of

TOOLS = [
    {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}},
    {"type": "custom", "name": "patch", "description": "Changes a file."},
]
NAMESPACE = {"type": "namespace", "name": "functions", "description": "", "tools": TOOLS}
ASKED = {"role": "user", "content": "Go."}
BODIES: list[dict[str, Any]] = [
    {"model": "m", "input": [ASKED], "tools": [NAMESPACE]},
    {"model": "m", "input": [{"type": "additional_tools", "role": "developer", "tools": [NAMESPACE]}, ASKED]},
]
CALLS = [
    {"id": "c1", "type": "function", "function": {"name": "functions__run", "arguments": "{}"}},
    {"id": "c2", "type": "function", "function": {"name": "functions__patch", "arguments": '{"input": "x"}'}},
]
REPLY = Reply({"role": "assistant", "content": None, "tool_calls": CALLS}, "tool_calls", None, "resp_1", "m")


def answer(body: dict[str, Any], is_stream: bool) -> list[dict[str, Any]]:
    """The items of another provider's reply."""
    if not is_stream:
        whole: list[dict[str, Any]] = RESPONSES.encode_reply(REPLY, body, 7)["output"]
        return whole
    encoder = RESPONSES.encoder(body, 7)
    events = [event for step in steps_of(REPLY) for event in encoder.encode(step)] + encoder.finish()
    output: list[dict[str, Any]] = events[-1].decoded()["response"]["output"]
    return output


@pytest.mark.parametrize("body", BODIES, ids=["in tools", "in an item"])
def test_the_tools_of_a_namespace_are_functions_for_other_providers(body: dict[str, Any]) -> None:
    run, patch = (tool["function"] for tool in RESPONSES.decode_request(body).tools)
    assert (run["name"], patch["name"]) == ("functions__run", "functions__patch")
    assert patch["description"] == "Changes a file."
    assert patch["parameters"]["required"] == ["input"]


@pytest.mark.parametrize("is_stream", [True, False])
@pytest.mark.parametrize("body", BODIES, ids=["in tools", "in an item"])
def test_their_calls_come_back_as_the_client_offered_them(body: dict[str, Any], is_stream: bool) -> None:
    output = answer(body, is_stream)
    assert [(item["type"], item["namespace"], item["name"]) for item in output] == [
        ("function_call", "functions", "run"),
        ("custom_tool_call", "functions", "patch"),
    ]
    assert output[1]["input"] == "x"


@pytest.mark.parametrize("body", BODIES, ids=["in tools", "in an item"])
def test_calls_that_the_client_sends_back_have_the_names_of_the_tools(body: dict[str, Any]) -> None:
    output = answer(body, False)
    request = RESPONSES.decode_request({**body, "input": [*body["input"], *output]})
    assert request.messages[-1]["tool_calls"] == CALLS
    assert RESPONSES.encode_request(request)["input"][-2:] == output
