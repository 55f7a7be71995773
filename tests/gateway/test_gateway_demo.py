"""Without an upstream the gateway says what to set; the embedded model answers only where it was asked for."""

import asyncio
from pathlib import Path

import pytest
from clients import http
from gateway_keys import ASK, MODELS, PATHS, error_of
from gateway_server import RunningGateway

from plimsoll.config import Settings
from plimsoll.gateway.runtime_options import RuntimeOptions
from plimsoll.gateway.upstream.target import Targets


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_without_an_upstream_the_error_names_the_setting_in_the_clients_dialect(
    tmp_path: Path, dialect: str
) -> None:
    with RunningGateway(Settings(), tmp_path) as gateway:
        reply = http().post(gateway.url + PATHS[dialect], json={"model": MODELS[dialect], **ASK})
        sessions = f"{gateway.url}/sessions"
        id = http().post(sessions, json={}).json()["id"]
        said = http().post(f"{sessions}/{id}/messages", json={"content": "Where does the lantern hang?"})
    assert reply.status_code == 503
    told = error_of(reply)["message"]
    assert told.startswith(
        "No upstream is configured: set OPENAI_API_KEY, ANTHROPIC_API_KEY or model.base_url"
    )
    assert "plimsoll gateway --demo" in told
    assert (reply.json().get("type") == "error") == (dialect == "anthropic")
    assert said.status_code >= 400
    assert "No upstream is configured" in said.text


def test_with_demo_the_embedded_model_is_asked(tmp_path: Path) -> None:
    """It is not fetched here, and the error is about that."""
    with RunningGateway(Settings(), tmp_path, RuntimeOptions(demo=True)) as gateway:
        reply = http().post(gateway.url + PATHS["openai"], json={"model": MODELS["openai"], **ASK})
    assert reply.status_code == 503
    assert "No upstream is configured" not in error_of(reply)["message"]


@pytest.mark.parametrize(
    ("model", "environ", "told"),
    [
        ({}, {}, ["upstream: none. Clients that send their provider's key are served"]),
        ({"base_url": "http://127.0.0.1:9/v1"}, {}, ["upstream: http://127.0.0.1:9/v1 "]),
        (
            {},
            {"OPENAI_API_KEY": "k"},
            [
                "upstream of Anthropic clients: https://api.openai.com",
                "upstream of Google clients: https://api.openai.com",
                "upstream of OpenAI clients: https://api.openai.com",
                "upstream of OpenAI Responses clients: https://api.openai.com",
            ],
        ),
    ],
)
def test_start_up_shows_which_upstream_answers(
    tmp_path: Path, model: dict[str, str], environ: dict[str, str], told: list[str]
) -> None:
    settings = Settings.model_validate({"model": model}).model
    lines = asyncio.run(Targets(settings, environ, tmp_path).descriptions())
    assert len(lines) == len(told)
    assert all(line.startswith(start) for line, start in zip(lines, told, strict=True)), lines
