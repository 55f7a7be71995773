"""Adapters in their real hosts, far past the window: the answers, the history and the views are right."""

import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from adapters import ADAPTERS, KEPT, AdapterCase
from cases import DRIVERS
from observed import breaks
from processes import run_client, running_gateway, upstream_settings
from script import answer

sys.path.insert(0, str(DRIVERS))

from adapter_task import FILLER, lookup

from plimsoll.context.markers import is_summary
from plimsoll.messages import SYSTEM_ROLES, parts_of, text_of, validate
from plimsoll.testing.pressure import window_usage_mentions
from plimsoll.testing.scripted_server import CapturedRequest, ScriptedServer

ROOMY = 900_000


def questions(turns: int) -> list[str]:
    """One for each turn; the model looks every ship up with a tool."""
    return [f"ship{number}: where does it lie? {FILLER}".strip() for number in range(turns)]


def run(
    case: AdapterCase, server: ScriptedServer, window: int, folder: Path, turns: int = 0
) -> dict[str, Any]:
    """One conversation of the host with this server."""
    task = {
        "url": server.url,
        "model": case.model,
        "questions": questions(turns or case.turns),
        "code": case.code(server.url, window),
    }
    offline = {
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "LANGSMITH_TRACING": "false",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    result: Any = run_client(case.command, task, folder, offline)
    found: dict[str, Any] = result
    return found


def through_gateway(
    case: AdapterCase, whole: list[CapturedRequest], folder: Path
) -> list[list[dict[str, Any]]]:
    """What a gateway sends upstream for requests with the whole history."""
    with ScriptedServer(answer, model=case.model, window=case.window) as server:
        settings = {
            **upstream_settings(server, whole[0].dialect),
            "MODEL__CONTEXT_LENGTH": str(case.window),
            "COMPRESSION__PROTECT_LAST_N": str(KEPT),
            "COMPRESSION__BACKGROUND": "false",
        }
        with (
            running_gateway(folder, settings) as gateway,
            httpx.Client(timeout=60, trust_env=False) as client,
        ):
            for seen in whole:
                sent = client.post(
                    gateway.url + seen.path, content=seen.raw, headers={"authorization": "Bearer any"}
                )
                assert sent.status_code == 200, sent.text
        # Where no summary model is configured, the gateway asks the main model. Its answer is no summary, so code
        # writes it, as in the adapters.
        return [found for seen in server.requests if not _asks_for_summary(found := messages_of(seen))]


def _asks_for_summary(messages: list[dict[str, Any]]) -> bool:
    return text_of(messages[0]).startswith("You keep the working memory of an AI agent.")


def messages_of(seen: CapturedRequest) -> list[dict[str, Any]]:
    """The messages of a request in canonical form."""
    assert seen.request is not None
    return list(seen.request.messages)


def comparable(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same with one system message and with content in parts.

    Some hosts send the note of a compaction in a message of its own, and some send every text as a part.
    """
    count = next((n for n, one in enumerate(messages) if one.get("role") not in SYSTEM_ROLES), len(messages))
    lead = {"role": "system", "content": "\n".join(map(text_of, messages[:count]))}
    return [{**one, "content": parts_of(one)} for one in (lead, *messages[count:])]


@pytest.fixture(autouse=True)
def every_request_extends_the_one_before() -> None:
    """Instead of the suite's net, which knows nothing of compactions inside a host; the test itself looks."""
    return


@pytest.mark.parametrize("case", ADAPTERS, ids=lambda case: case.name)
def test_an_adapter_keeps_its_host_within_the_window(case: AdapterCase, tmp_path: Path) -> None:
    assert case.peer.is_installed, f"{case.peer.name} is not installed; run `make peers`"
    with ScriptedServer(answer, model=case.model, window=ROOMY) as server:
        expected = run(case, server, ROOMY, tmp_path / "whole")
    whole = list(server.requests)
    with ScriptedServer(answer, model=case.model, window=case.window) as server:
        result = run(case, server, case.window, tmp_path / "compacted")
    seen = list(server.requests)

    # The host gets the same answers from requests that its provider accepts.
    assert len(result["answers"]) == case.turns
    assert result["answers"] == expected["answers"]
    assert [(one.status, one.refusal) for one in (*whole, *seen) if one.status != 200] == []
    assert max(one.usage.prompt_tokens for one in seen if one.usage) <= case.window
    assert all(validate(messages_of(one)) == [] for one in seen)
    assert window_usage_mentions(one.body for one in seen if one.body) == window_usage_mentions(
        one.body for one in whole if one.body
    )

    # Nothing but a compaction breaks the prefix.
    assert breaks(whole) == []
    broken = breaks(seen)
    assert len(broken) >= 3
    for number in broken:
        assert any(map(is_summary, messages_of(seen[number])))
        assert len(messages_of(seen[number])) < len(messages_of(seen[number - 1])) + 4

    # The host has every message at the end.
    if case.keeps_all:
        stored = result["stored"]
        assert all(question in stored for question in questions(case.turns))
        assert case.turns >= 60
        assert all(lookup(f"ship{number}").strip() in stored for number in range(case.turns))

    # The views are those of the gateway.
    if not case.differs:
        gateway = through_gateway(case, whole, tmp_path / "gateway")
        for number, (one, other) in enumerate(zip(seen, gateway, strict=True)):
            assert comparable(messages_of(one)) == comparable(other), f"request {number} differs"


@pytest.mark.parametrize("case", [one for one in ADAPTERS if one.recovers], ids=lambda case: case.name)
def test_a_request_that_the_provider_finds_too_long_is_compacted_and_sent_again(
    case: AdapterCase, tmp_path: Path
) -> None:
    """The adapter believes in a large window; the provider states its own when it refuses."""
    assert case.peer.is_installed, f"{case.peer.name} is not installed; run `make peers`"
    with ScriptedServer(answer, model=case.model, window=case.window) as server:
        result = run(case, server, ROOMY, tmp_path / "host", turns=30)
    assert len(result["answers"]) == 30
    assert all("lies at pier" in text for text in result["answers"])
    refused = [number for number, one in enumerate(server.requests) if one.status != 200]
    assert len(refused) == 1
    assert any(map(is_summary, messages_of(server.requests[refused[0] + 1])))
