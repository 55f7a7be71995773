"""What `plimsoll models` promises at the command line."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from plimsoll.errors import LocalModelError, MissingKey, UnknownModel, UserError
from plimsoll.models import shipped_cards
from plimsoll.providers import providers
from plimsoll.providers.local import LocalServer, stop_shared
from plimsoll.terminal.models import models
from plimsoll.testing.scripted_server import ScriptedServer, fault, say

SECRET = "plk-secret-0123456789"
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in an empty home and without any key."""
    keys = {key.variable for facts in providers().values() for key in facts.keys}
    addresses = {name for facts in providers().values() for name in facts.addresses}
    for name in [n for n in os.environ if n.startswith("PLIMSOLL_") or n in keys | addresses]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")  # the port where nobody listens
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(models, list(arguments))

    return call


def facts(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_list_shows_every_card_and_every_provider(run: Run):
    found = facts(run("list", "--json"))
    assert len(found["models"]) == len(shipped_cards())
    assert [one["provider"] for one in found["providers"]] == list(providers())
    assert not any(one["usable"] for one in found["providers"])


def test_list_can_be_filtered(run: Run):
    found = facts(run("list", "Claude-Sonnet", "--json"))
    assert found["models"]
    assert all("claude-sonnet" in one["name"] for one in found["models"])
    table = run("list", "claude-sonnet").stdout
    assert "claude-sonnet-4.5" in table
    assert "gpt" not in table.split("provider")[0]
    assert "No known model matches 'zebra'" in run("list", "zebra").stdout


@pytest.mark.parametrize("columns", [60, 80])
def test_list_cuts_no_name_and_no_figure(run: Run, monkeypatch: pytest.MonkeyPatch, columns: int):
    monkeypatch.setenv("COLUMNS", str(columns))
    table = run("list").stdout
    assert "…" not in table
    assert max(map(len, table.splitlines())) <= columns
    shown = {line.split()[0] for line in table.splitlines() if line.strip()}
    assert {card.name for card in shipped_cards()} | set(providers()) <= shown


def test_list_says_which_provider_can_be_asked_and_why(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    states = {one["provider"]: one for one in facts(run("list", "--json"))["providers"]}
    assert states["openai"] == {
        "provider": "openai",
        "usable": True,
        "why": "OPENAI_API_KEY is set",
        "default_model": "gpt-5",
    }
    assert "ANTHROPIC_API_KEY" in states["anthropic"]["why"]
    assert SECRET not in run("list").output


def test_list_sees_an_ollama_server(run: Run, monkeypatch: pytest.MonkeyPatch):
    with ScriptedServer(model="llama3.2", models=("qwen3",)) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        states = {one["provider"]: one for one in facts(run("list", "--json"))["providers"]}
    assert states["ollama"]["usable"]
    assert states["ollama"]["default_model"] == "llama3.2"


def test_test_asks_says_why_and_shows_what_it_cost(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with ScriptedServer([say("A line \x1b[31mpainted on the hull.")]) as server:
        result = run("test", "gpt-5", "--base-url", server.openai_url)
    assert result.exit_code == 0, result.output
    assert f"model.base_url is {server.openai_url}" in result.stdout
    assert "A line painted on the hull." in result.stdout
    assert "tokens in" in result.stdout
    assert SECRET not in result.output


def test_test_reports_a_failure_in_a_sentence(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with ScriptedServer([fault(401, message=f"Incorrect API key provided: {SECRET}")]) as server:
        result = run("test", "gpt-5", "--base-url", server.openai_url)
    assert isinstance(result.exception, UserError)
    assert "rejected the key" in str(result.exception)
    assert SECRET not in result.output + str(result.exception)


def test_test_names_the_variable_of_a_missing_key(run: Run):
    result = run("test", "claude-sonnet-4.5")
    assert isinstance(result.exception, MissingKey)
    assert "ANTHROPIC_API_KEY" in str(result.exception)


def test_test_never_asks_the_embedded_model_in_place_of_another(run: Run):
    result = run("test", "qwen3-8b", "--provider", "local")
    assert isinstance(result.exception, UnknownModel)
    assert "qwen3-8b is not a model on this machine" in str(result.exception)
    assert "smollm2-135m-instruct" in str(result.exception)


def test_test_with_nothing_configured_names_the_command_that_fetches_a_model(run: Run):
    result = run("test")
    assert isinstance(result.exception, LocalModelError)
    assert "plimsoll models fetch" in str(result.exception) or "pip install" in str(result.exception)
    assert "OPENAI_API_KEY is not set" in result.stdout


@pytest.mark.slow
def test_test_talks_to_the_embedded_model(
    run: Run, embedded_home: Path, small_model: LocalServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PLIMSOLL_HOME", str(embedded_home))
    monkeypatch.setenv("PLIMSOLL_MODEL__CONTEXT_LENGTH", "1024")
    monkeypatch.setenv("PLIMSOLL_MODEL__MAX_OUTPUT_TOKENS", "16")
    try:
        result = run("test", "--provider", "local", "--ask", "Say hello.")
    finally:
        stop_shared()
    assert result.exit_code == 0, result.output
    assert "the embedded model answers" in result.stdout
    assert "tokens in" in result.stdout
    assert "is installed" in run("fetch").stdout
