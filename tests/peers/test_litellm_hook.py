"""LiteLLM's proxy with our callback, as docs/integrations.md sets it up: each of its APIs is compacted."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from adapters import KEPT, PAGE, SHOWN_WINDOW
from cases import DRIVERS, PEERS
from observed import breaks
from processes import LOOPBACK_ONLY, free_port, run_client, running
from recipes import read_recipes

from plimsoll.context.markers import is_summary
from plimsoll.dialects import ChatRequest, dialect_named
from plimsoll.testing.scripted_server import CapturedRequest, ScriptedServer, say

PROXY = PEERS["adapter-litellm"]
KEY = "sk-plimsoll-peers-0123456789abcdef0123456789abcdef"
WINDOW = 6_000
TURNS = 60
FILLER = "The harbour master wrote down every ship that came in, its draught, its cargo and its line. "
PATHS = {"openai": "/v1/chat/completions", "responses": "/v1/responses", "anthropic": "/v1/messages"}
MODELS = {"openai": "gpt-4.1", "responses": "gpt-4.1", "anthropic": "claude-sonnet-4-5"}


@contextmanager
def running_proxy(upstream: ScriptedServer, home: Path) -> Iterator[str]:
    """The proxy with the files of the page; its address."""
    port, folder = free_port(), home / "litellm"
    folder.mkdir(parents=True)
    chosen = f"window={WINDOW}, protect_last_n={KEPT}"
    for path, text in read_recipes(upstream.url, page=PAGE)["LiteLLM"].files.items():
        (home / path.removeprefix("~/")).write_text(text.replace(SHOWN_WINDOW, chosen), "utf-8")
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR"}
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "LITELLM_MASTER_KEY": KEY}
    environ |= {**quiet, **LOOPBACK_ONLY}
    address = f"http://127.0.0.1:{port}"
    command = [str(PROXY.program("litellm")), "--config", str(folder / "config.yaml"), "--port", str(port)]
    command += ["--host", "127.0.0.1", "--telemetry", "False"]
    with running(command, environ, home / "litellm.log", f"{address}/health/liveliness"):
        yield address


def history(turns: int) -> list[dict[str, Any]]:
    """A conversation of so many turns that ends with a question."""
    said: list[dict[str, Any]] = [{"role": "system", "content": "You answer questions about ships."}]
    for ship in range(turns):
        said.append({"role": "user", "content": f"ship{ship}: where does it lie? {FILLER * 8}".strip()})
        said.append({"role": "assistant", "content": f"ship{ship} lies at pier {ship}."})
    return said[:-1]


def check(seen: list[CapturedRequest]) -> None:
    """Every request fits, at least three compactions, and nothing else breaks the prefix."""
    assert len(seen) == TURNS
    assert [(one.status, one.refusal) for one in seen if one.status != 200] == []
    broken = breaks(seen)
    assert len(broken) >= 3
    for number in broken:
        request = seen[number].request
        assert request is not None
        assert any(map(is_summary, request.messages))


@pytest.fixture(autouse=True)
def every_request_extends_the_one_before() -> None:
    """Instead of the suite's net, which knows nothing of compactions in the proxy; `check` looks."""
    return


def test_each_api_of_the_proxy_is_compacted(tmp_path: Path) -> None:
    assert PROXY.is_installed, "adapter-litellm is not installed; run `make peers`"
    with (
        ScriptedServer(lambda _: say("Here."), model="gpt-4.1", window=WINDOW) as server,
        running_proxy(server, tmp_path) as address,
        httpx.Client(timeout=120, trust_env=False, headers={"authorization": f"Bearer {KEY}"}) as client,
    ):
        for name, path in PATHS.items():
            dialect, first = dialect_named(name), len(server.requests)
            for turns in range(1, TURNS + 1):
                request = ChatRequest(MODELS[name], tuple(history(turns)), max_tokens=100)
                reply = client.post(address + path, json=dialect.encode_request(request))
                assert reply.status_code == 200, reply.text
            check(list(server.requests)[first:])


def test_a_call_of_the_proxy_is_looked_at_once_however_many_are_open(tmp_path: Path) -> None:
    assert PROXY.is_installed, "adapter-litellm is not installed; run `make peers`"
    calls = 1_100
    command = [str(PROXY.python), str(DRIVERS / "litellm_open_calls.py")]
    done = run_client(
        command, {"calls": calls}, tmp_path / "client", {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    )
    assert done == {"changed": 0, "attempts": calls}
