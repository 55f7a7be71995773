"""A client that changes its model in the middle of a conversation gets the compaction settings of the new model."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from clients import FILLER, http
from gateway_server import RunningGateway, settings_for

from plimsoll.archive import UsageRecord
from plimsoll.archive.open_archive import open_archive
from plimsoll.config import Settings
from plimsoll.testing.scripted_server import CapturedRequest, ScriptedServer, say

WINDOW, THRESHOLD = 16_000, 0.5
NEAR, DUE = (
    7_200,
    8_400,
)  # tokens: above 85 % of the threshold, where a summary is prepared; above the threshold
OLD, NEW = "gpt-4.1", "gpt-4o"
# Complete, so that it is accepted: a preparation without a model's text is not shared.
SUMMARY = (
    "## Goal\nThe harbour master wrote down every ship that came in.\n"
    "## Progress\n### Done\n- The ships were written down, with their draught, cargo and line.\n"
)


def settings_with(server: ScriptedServer, writer: ScriptedServer, models: dict[str, Any]) -> Settings:
    return settings_for(
        server,
        "openai",
        model={"context_length": WINDOW},
        compression={"protect_last_n": 4, "threshold": THRESHOLD},
        auxiliary={"compression": {"model": "small", "provider": "custom", "base_url": writer.openai_url}},
        models=models,
    )


def ask(gateway: RunningGateway, said: list[dict[str, Any]], model: str, text: str) -> None:
    said.append({"role": "user", "content": text})
    body = {"model": model, "max_tokens": 100, "messages": said}
    reply = http().post(f"{gateway.openai_url}/chat/completions", json=body)
    assert reply.status_code == 200, reply.text
    said.append({"role": "assistant", "content": reply.json()["choices"][0]["message"]["content"]})


def talk_up_to(
    gateway: RunningGateway, server: ScriptedServer, said: list[dict[str, Any]], tokens: int
) -> None:
    """Ask the old model until a request has so many tokens."""
    while not server.requests or tokens_of(server.requests[-1]) < tokens:
        ask(gateway, said, OLD, f"ship{len(said)}: {FILLER * 12}")


def tokens_of(seen: CapturedRequest) -> int:
    assert seen.usage is not None
    return seen.usage.prompt_tokens


def summary_usage(home: Path) -> list[UsageRecord]:
    """What the archive knows about the summaries of the only session."""

    async def work() -> list[UsageRecord]:
        async with await open_archive(None, home) as store:
            (session,) = await store.sessions()
            used = await store.for_owner(session.owner).usage(session.id)
            return [one for one in used if one.purpose == "summary"]

    return asyncio.run(work())


@pytest.mark.rewrites_history("a compaction under the settings of another model")
def test_the_summary_model_of_the_new_model_writes_the_next_summary(tmp_path: Path) -> None:
    models = {OLD: {"summary_model": "first"}, NEW: {"summary_model": "second"}}
    with (
        ScriptedServer(lambda _request: say("Written down.")) as server,
        ScriptedServer(lambda _request: say(SUMMARY)) as writer,
        RunningGateway(settings_with(server, writer, models), tmp_path) as gateway,
    ):
        said: list[dict[str, Any]] = []
        talk_up_to(gateway, server, said, NEAR)
        assert writer.wait_until(lambda: any(one.is_done for one in writer.requests))
        ask(gateway, said, NEW, f"And now the whole log: {FILLER * 60}")
        assert tokens_of(server.requests[-1]) < NEAR
    written = [(seen.body or {})["model"] for seen in writer.requests]
    assert written == ["first", "second"], "the first was prepared while the old model answered"
    stored = summary_usage(tmp_path)
    assert sorted(one.model for one in stored) == ["first", "second"]
    assert sum(one.input + one.cache_read + one.cache_write + one.output for one in stored) == sum(
        one.usage.total_tokens for one in writer.requests if one.usage
    )


@pytest.mark.rewrites_history("a compaction under the settings of another model")
@pytest.mark.parametrize("wanted", [{"target_tokens": 2_500}, {"target_ratio": 0.1, "target_tokens": 3_000}])
def test_a_compaction_leaves_what_the_new_model_is_to_have(wanted: dict[str, Any], tmp_path: Path) -> None:
    models = {OLD: {"target_tokens": 6_000, "target_ratio": 0.5}, NEW: wanted}
    with (
        ScriptedServer(lambda _request: say("Written down.")) as server,
        ScriptedServer(lambda _request: say(SUMMARY)) as writer,
        RunningGateway(settings_with(server, writer, models), tmp_path) as gateway,
    ):
        said: list[dict[str, Any]] = []
        talk_up_to(gateway, server, said, NEAR)
        assert writer.wait_until(lambda: all(one.is_done for one in writer.requests))
        ask(gateway, said, NEW, f"And now the whole log: {FILLER * 60}")
        left = tokens_of(server.requests[-1])
    assert left < wanted["target_tokens"] + 60 * 25, "the newest request is about 1,200 tokens of it"


@pytest.mark.rewrites_history("a compaction under the settings of another model")
def test_models_with_the_same_settings_share_what_was_prepared(tmp_path: Path) -> None:
    with (
        ScriptedServer(lambda _request: say("Written down.")) as server,
        ScriptedServer(lambda _request: say(SUMMARY)) as writer,
        RunningGateway(settings_with(server, writer, {}), tmp_path) as gateway,
    ):
        said: list[dict[str, Any]] = []
        talk_up_to(gateway, server, said, NEAR)
        assert writer.wait_until(lambda: any(one.is_done for one in writer.requests))
        ask(gateway, said, NEW, f"And now the whole log: {FILLER * 60}")
        assert tokens_of(server.requests[-1]) < NEAR
    assert len(writer.requests) == 1


@pytest.mark.rewrites_history("a compaction, which is what the test is about")
def test_settings_for_a_model_apply_under_the_name_that_clients_write(tmp_path: Path) -> None:
    """Names are read without dates and in one spelling to find out what a model can do."""
    models = {"gpt-4.1-2025-04-14": {"summary_model": "second", "threshold": 0.3, "target_tokens": 2_000}}
    with (
        ScriptedServer(lambda _request: say("Written down.")) as server,
        ScriptedServer(lambda _request: say(SUMMARY)) as writer,
        RunningGateway(settings_with(server, writer, models), tmp_path) as gateway,
    ):
        said: list[dict[str, Any]] = []
        ask(gateway, said, next(iter(models)), FILLER * 20)
        for number in range(8):
            said += [
                {"role": role, "content": f"ship{number}: {FILLER * 16}"} for role in ("user", "assistant")
            ]
        ask(gateway, said, next(iter(models)), "Which ship came last?")
        assert tokens_of(server.requests[-1]) < 3_000
    assert {(seen.body or {})["model"] for seen in writer.requests} == {"second"}
