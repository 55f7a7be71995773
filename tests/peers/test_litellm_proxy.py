"""LiteLLM's proxy in front of the gateway and behind it, as docs/recipes.md sets both up."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cases import CASES, PEERS
from processes import LOOPBACK_ONLY, free_port, running, running_gateway
from recipes import Recipe, read_recipes
from script import answer
from test_clients import (
    SUMMARY,
    Direct,
    check_answered,
    check_cached,
    compaction_settings,
    settings_of,
    talk,
)

from plimsoll.testing.scripted_server import ScriptedServer, say

pytestmark = pytest.mark.xdist_group("litellm proxy")
CASE = next(case for case in CASES if case.id == "openai-openai-on-openai-gpt-4.1")
PROXY = PEERS["litellm-proxy"]
FRONT, BEHIND = "LiteLLM in front of the gateway", "LiteLLM behind the gateway"
QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR", "OPENAI_API_KEY": "any"}


@pytest.fixture(autouse=True)
def every_request_extends_the_one_before() -> None:
    """Instead of the suite's net: the checks compare with what the client does without the gateway."""
    return


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Direct:
    """The conversation without gateway and proxy."""
    return Direct(CASE, tmp_path_factory.mktemp("direct") / "client")


@contextmanager
def running_proxy(upstream: str, home: Path) -> Iterator[str]:
    """LiteLLM's proxy as the recipe starts it, in front of a server; its address."""
    assert PROXY.is_installed, "litellm-proxy is not installed; run `make peers`"
    home.mkdir()
    port = free_port()
    recipe = read_recipes(upstream, port)[FRONT]
    _write(recipe, home)
    [[_, *arguments]] = recipe.commands
    command = [str(PROXY.program("litellm")), *(argument.replace("~", str(home)) for argument in arguments)]
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), **QUIET, **LOOPBACK_ONLY, **recipe.environment}
    address = f"http://127.0.0.1:{port}"
    with running(
        [*command, "--host", "127.0.0.1", "--telemetry", "False"],
        environ,
        home / "litellm.log",
        f"{address}/health/liveliness",
    ):
        yield address


def master_key() -> str:
    """What clients of the proxy use as their key."""
    return read_recipes()[FRONT].environment["LITELLM_MASTER_KEY"]


def _write(recipe: Recipe, home: Path) -> None:
    for path, text in recipe.files.items():
        file = home / path.removeprefix("~/")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")


def test_litellm_in_front_of_the_gateway_changes_no_answer(expected: Direct, tmp_path: Path) -> None:
    with (
        ScriptedServer(lambda _: say(SUMMARY)) as summaries,
        ScriptedServer(answer, model=CASE.model, window=CASE.window) as server,
        running_gateway(tmp_path / "plimsoll", settings_of(CASE, server, summaries)) as gateway,
        running_proxy(gateway.url, tmp_path / "litellm") as proxy,
    ):
        answers = talk(CASE, proxy, tmp_path / "client", CASE.model, key=master_key())
        compactions = gateway.compactions()
    check_answered(CASE, answers, server.requests, expected)
    assert compactions >= 2
    check_cached(CASE, server.requests, expected, compactions)


def test_litellm_behind_the_gateway_changes_no_answer(expected: Direct, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with (
        ScriptedServer(lambda _: say(SUMMARY)) as summaries,
        ScriptedServer(answer, model=CASE.model, window=CASE.window) as server,
        running_proxy(server.url, tmp_path / "litellm") as proxy,
    ):
        recipe = read_recipes(litellm_port=int(proxy.rpartition(":")[2]))[BEHIND]
        assert recipe.commands == [["plimsoll", "gateway"]]
        _write(recipe, home)
        with running_gateway(home / ".plimsoll", compaction_settings(CASE, summaries)) as gateway:
            answers = talk(CASE, gateway.url, tmp_path / "client", CASE.model, key=master_key())
            compactions = gateway.compactions()
    check_answered(CASE, answers, server.requests, expected)
    assert compactions >= 2
    check_cached(CASE, server.requests, expected, compactions)
