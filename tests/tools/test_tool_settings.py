"""The sections `tools` and `mcp_servers`."""

import pytest
from pydantic import ValidationError

from plimsoll.settings.tools import McpServerSettings, ToolSettings


def test_defaults_are_two_minutes_and_thirty_thousand_characters():
    assert ToolSettings() == ToolSettings(timeout=120.0, output_limit=30_000)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "either command or url"),
        ({"command": "x", "url": "http://x"}, "no effect with command"),
        ({"url": "ftp://x"}, "must be an http:// or https:// address"),
        ({"url": "http://x y"}, "must be an http:// or https:// address"),
        ({"url": "http://me:word@x"}, r"replace it with \${NAME}"),
        ({"url": "http://x/mcp?api_key=word"}, r"replace it with \${NAME}"),
        ({"command": "x", "headers": {"a": "b"}}, "no effect with command"),
        ({"url": "http://x", "env": {"a": "b"}}, "no effect with url"),
        ({"url": "http://x", "args": ["a"]}, "no effect with url"),
        ({"command": "x", "timeout": 0}, "greater than 0"),
        ({"command": "x", "args": "-v"}, "valid"),
        ({"command": "x", "colour": "red"}, "Extra inputs"),
    ],
)
def test_a_server_that_makes_no_sense_is_refused(values, said):
    with pytest.raises(ValidationError, match=said):
        McpServerSettings(**values)


def test_a_server_is_a_command_or_an_address():
    assert McpServerSettings(command="x", args=["a"], env={"A": "b"}).enabled
    assert McpServerSettings(url="https://x/mcp", headers={"A": "b"}).timeout == 60


def test_a_key_in_an_address_comes_from_the_environment():
    assert McpServerSettings(url="https://x/mcp?api_key=${KEY}&page=2").url
    assert McpServerSettings(url="https://${HOST}/mcp").url
