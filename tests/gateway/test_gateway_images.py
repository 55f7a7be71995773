"""Images and unknown fields pass, in one dialect and between two."""

import base64
from pathlib import Path
from typing import Any

from clients import http
from gateway_server import RunningGateway, settings_for

from plimsoll.testing.scripted_server import ScriptedServer

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
        "0000000049454e44ae426082"
    )
).decode()
ANTHROPIC_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
OPENAI_IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}


def asked(path: str, image: dict[str, Any], upstream: str, home: Path) -> Any:
    content = [{"type": "text", "text": "What is this?"}, image]
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 50,
        "messages": [{"role": "user", "content": content}],
    }
    with ScriptedServer() as server, RunningGateway(settings_for(server, upstream), home) as gateway:
        response = http().post(gateway.url + path, json=body, headers=HEADERS)
        assert response.status_code == 200, response.text
    return (server.requests[0].body or {})["messages"][0]["content"][1]


def plain(block: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key != "cache_control"}


def test_an_image_stays_what_it_is_in_one_dialect(tmp_path: Path) -> None:
    assert plain(asked("/v1/messages", ANTHROPIC_IMAGE, "anthropic", tmp_path)) == ANTHROPIC_IMAGE
    assert asked("/v1/chat/completions", OPENAI_IMAGE, "openai", tmp_path) == OPENAI_IMAGE


def test_an_image_is_translated_between_two(tmp_path: Path) -> None:
    assert plain(asked("/v1/messages", ANTHROPIC_IMAGE, "openai", tmp_path)) == OPENAI_IMAGE
    assert plain(asked("/v1/chat/completions", OPENAI_IMAGE, "anthropic", tmp_path)) == ANTHROPIC_IMAGE
