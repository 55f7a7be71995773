"""Cache breakpoints: a client's own are respected, ours are added where it has none, never more than four."""

import json
from pathlib import Path
from typing import Any

import pytest
from clients import AnthropicClient, converse, http, model
from gateway_server import RunningGateway, settings_for

from plimsoll.testing.scripted_server import ScriptedServer, say, think

HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01", "anthropic-beta": "one,two"}
MARK = {"type": "ephemeral"}
# The shape in which Claude Code asks: three system blocks, two of them marked, a system message among the others.
CLAUDE_CODE: dict[str, Any] = {
    "model": "claude-opus-5",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "<system-reminder>a</system-reminder>"},
                                     {"type": "text", "text": "Look around.", "cache_control": MARK}]},
        {"role": "system", "content": "Tools may have changed."},
    ],
    "system": [
        {"type": "text", "text": "x-billing: 1"},
        {"type": "text", "text": "You are an agent.", "cache_control": MARK},
        {"type": "text", "text": "Long instructions.", "cache_control": {"type": "ephemeral", "ttl": "5m"}},
    ],
    "tools": [
        {"name": f"Tool{n}", "description": "A tool.", "input_schema": {"type": "object", "properties": {}}}
        for n in range(25)
    ],
    "metadata": {"user_id": "u"},
    "max_tokens": 32_000,
    "thinking": {"type": "adaptive"},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    "output_config": {"effort": "high"},
    "stream": True,
    "unheard_of": {"nested": [1, 2.5, None]},
}  # fmt: skip


def marks(body: Any) -> list[str]:
    """The positions of the markers."""
    found = [f"tools.{n}" for n, tool in enumerate(body.get("tools") or []) if "cache_control" in tool]
    system = body.get("system")
    found += [
        f"system.{n}"
        for n, b in enumerate(system if isinstance(system, list) else [])
        if "cache_control" in b
    ]
    for n, message in enumerate(body["messages"]):
        content = message["content"] if isinstance(message["content"], list) else []
        found += [f"messages.{n}.{k}" for k, block in enumerate(content) if "cache_control" in block]
    return found


def test_what_claude_code_sends_is_passed_on_byte_for_byte(tmp_path: Path) -> None:
    raw = json.dumps(CLAUDE_CODE, indent=2).encode()
    with (
        ScriptedServer([think("Hm.") + say("I see.")], model="claude-opus-5") as server,
        RunningGateway(settings_for(server), tmp_path) as gateway,
    ):
        response = http().post(f"{gateway.url}/v1/messages?beta=true", content=raw, headers=HEADERS)
        assert response.status_code == 200, response.text
        assert "message_stop" in response.text
        assert ": plimsoll {" in response.text
    assert server.requests[0].raw == raw
    assert server.requests[0].headers["anthropic-beta"] == "one,two"


def test_a_client_without_markers_gets_ours_and_nothing_else_changes(tmp_path: Path) -> None:
    body = {key: value for key, value in CLAUDE_CODE.items() if key not in ("system", "messages")}
    body |= {"system": "You are an agent.", "messages": [{"role": "user", "content": "Look around."}]}
    with (
        ScriptedServer(model="claude-opus-5") as server,
        RunningGateway(settings_for(server), tmp_path) as gateway,
    ):
        assert http().post(f"{gateway.url}/v1/messages", json=body, headers=HEADERS).status_code == 200
    sent = server.requests[0].body or {}
    assert marks(sent) == ["system.0", "messages.0.0"]
    assert {k: v for k, v in sent.items() if k not in ("system", "messages")} == {
        k: v for k, v in body.items() if k not in ("system", "messages")
    }


def test_markers_stay_four_at_most_through_a_whole_conversation(tmp_path: Path) -> None:
    small: dict[str, Any] = {"model": {"context_length": 8_000}, "compression": {"protect_last_n": 4}}
    with (
        ScriptedServer(model, window=8_000) as server,
        RunningGateway(settings_for(server, **small), tmp_path) as gateway,
    ):
        converse(AnthropicClient(gateway.url), 20)
    counts = [len(marks(seen.body)) for seen in server.requests if seen.body and seen.body.get("tools")]
    assert max(counts) <= 4
    assert min(counts[4:]) >= 3


class MarkingClient(AnthropicClient):
    """Marks its newest message, as clients do."""

    def ask(self) -> list[dict[str, Any]]:
        kept, newest = self.history, self.history[-1]
        content = newest["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        blocks[-1] = {**blocks[-1], "cache_control": MARK}
        self.history = [*kept[:-1], {**newest, "content": blocks}]
        try:
            return super().ask()
        finally:
            self.history = kept


def test_a_clients_own_markers_are_the_only_ones_also_after_a_compaction(tmp_path: Path) -> None:
    small: dict[str, Any] = {"model": {"context_length": 8_000}, "compression": {"protect_last_n": 4}}
    system = [{"type": "text", "text": "Be brief.", "cache_control": MARK}]
    with (
        ScriptedServer(model, window=8_000) as server,
        RunningGateway(settings_for(server, **small), tmp_path) as gateway,
    ):
        client = MarkingClient(gateway.url, system=system)
        converse(client, 20)
        assert client.last is not None
        assert client.last.headers["x-plimsoll-view"] == "compacted"
    for seen in server.requests:
        if not (seen.body or {}).get("tools"):
            continue  # a summary is being written
        found = marks(seen.body)
        assert found[0] == "system.0"
        assert len(found) == 2
        assert found[1].startswith(f"messages.{len((seen.body or {})['messages']) - 1}.")


SYSTEM = [{"type": "text", "text": "Be brief. " * 500, "cache_control": MARK}]
SMALL: dict[str, Any] = {"context_length": 10_000}


def cached_share(server: ScriptedServer, first: int) -> float:
    """The share of prompt tokens that the provider read from its cache, from this request on."""
    usages = [seen.usage for seen in server.requests[first:] if seen.usage and (seen.body or {}).get("tools")]
    return sum(usage.cache_read_tokens or 0 for usage in usages) / sum(
        usage.prompt_tokens for usage in usages
    )


@pytest.mark.parametrize("provider", ["openrouter", "scripted"])
def test_claude_on_openais_wire_stays_cached_after_a_compaction_for_a_client_that_marks(
    provider: str, tmp_path: Path
) -> None:
    settings = {"model": SMALL | {"provider": provider}, "compression": {"protect_last_n": 4}}
    with (
        ScriptedServer(model, model="claude-sonnet-4-5", window=10_000) as server,
        RunningGateway(settings_for(server, "openai", **settings), tmp_path) as gateway,
    ):
        client = MarkingClient(gateway.url, system=SYSTEM)
        client.tools = [{**tool, "cache_control": MARK} for tool in client.tools]
        converse(client, 24)
        assert client.last is not None
        assert client.last.headers["x-plimsoll-view"] == "compacted"
    assert [seen.refusal for seen in server.requests if seen.refusal] == []
    assert max(len(marks(seen.body)) for seen in server.requests if seen.body) <= 4
    assert cached_share(server, 24) > 0.7


def test_automatic_caching_of_an_anthropic_client_becomes_markers_on_openais_wire(tmp_path: Path) -> None:
    with (
        ScriptedServer(model, model="claude-sonnet-4-5") as server,
        RunningGateway(settings_for(server, "openai", model={"provider": "openrouter"}), tmp_path) as gateway,
    ):
        converse(AnthropicClient(gateway.url, cache_control=MARK), 1)
    assert [marks(seen.body) for seen in server.requests][-1] != []


@pytest.mark.parametrize(("strategy", "least", "most"), [("auto", 0.0, 0.0), ("planned", 0.7, 1.0)])
def test_claude_on_an_unknown_server_is_marked_only_if_the_settings_name_a_strategy(
    strategy: str, least: float, most: float, tmp_path: Path
) -> None:
    settings = {"prompt_caching": {"strategy": strategy}, "compression": {"protect_last_n": 4}}
    with (
        ScriptedServer(model, model="claude-sonnet-4-5", window=10_000) as server,
        RunningGateway(settings_for(server, "openai", model=SMALL, **settings), tmp_path) as gateway,
    ):
        converse(AnthropicClient(gateway.url), 24)
    assert least <= cached_share(server, 8) <= most


@pytest.mark.parametrize("edit", ["clear_tool_uses_20250919", "compact_20260112"])
def test_a_client_whose_provider_edits_its_history_is_left_alone(edit: str, tmp_path: Path) -> None:
    small: dict[str, Any] = {"model": {"context_length": 8_000}, "compression": {"protect_last_n": 4}}
    with (
        ScriptedServer(model, window=900_000) as server,
        RunningGateway(settings_for(server, **small), tmp_path) as gateway,
    ):
        client = AnthropicClient(gateway.url, context_management={"edits": [{"type": edit}]})
        converse(client, 20)
        assert client.last is not None
        assert client.last.headers["x-plimsoll-view"] == "log"
    sent = [seen.body or {} for seen in server.requests]
    assert all(body["context_management"]["edits"] == [{"type": edit}] for body in sent)
    assert len(sent[-1]["messages"]) == len(client.history) - 1


def test_bound_thinking_never_remains_after_an_edit(tmp_path: Path) -> None:
    def thinking(request: Any) -> Any:
        return think(f"About {len(request.messages)} messages.") + model(request)

    small: dict[str, Any] = {"model": {"context_length": 9_000}, "compression": {"protect_last_n": 4}}
    with (
        ScriptedServer(thinking, model="claude-opus-5.5", window=9_000) as server,
        RunningGateway(settings_for(server, **small), tmp_path) as gateway,
    ):
        client = AnthropicClient(
            gateway.url, model="claude-opus-5-5", thinking={"type": "adaptive"}, stream=True
        )
        converse(client, 24)
        assert client.last is not None
        assert client.last.headers["x-plimsoll-view"] == "compacted"
    assert [seen.refusal for seen in server.requests if seen.refusal] == []
