"""`compression.policy: cost` holds for a client that keeps its history too; the clock is moved by hand."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clients import FILLER, AnthropicClient, converse, model
from gateway_server import RunningGateway, settings_for

from plimsoll.archive import OPERATOR, CompactionEvent
from plimsoll.archive.open_archive import open_archive
from plimsoll.testing.scripted_server import ScriptedServer

WINDOW = 20_000
THRESHOLD = WINDOW // 2
LONG, SHORT = 600.0, 20.0  # seconds; an entry of the cache lives for 300


@dataclass(slots=True)
class Clock:
    """The time of day, as the test says."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def settings(server: ScriptedServer, policy: str) -> Any:
    compression = {"policy": policy, "protect_last_n": 4, "background": False}
    writer = {"compression": {"model": "claude-haiku-5.5", "provider": "main"}}
    return settings_for(server, model={"context_length": WINDOW}, compression=compression, auxiliary=writer)


def events(home: Path, client: AnthropicClient) -> list[CompactionEvent]:
    """What was compacted of the client's conversation, and why."""

    async def read() -> list[CompactionEvent]:
        assert client.last is not None
        session = client.last.headers.get("x-plimsoll-session")
        if session is None:
            return []
        async with await open_archive(None, home) as store:
            archive = store.for_owner(OPERATOR)
            return await archive.compactions(session)

    return asyncio.run(read())


def heavy(client: AnthropicClient) -> None:
    """A history that is worth compacting, and whose few requests do not pay for that yet.

    It opens with a short exchange: no compaction removes the first one, so its size counts towards the target.
    """
    client.say("fleet: how many ships are there?")
    for number in range(4):
        client.say(f"fleet{number}: list every ship. {FILLER * 66}")


def after_a_pause(policy: str, seconds: float, home: Path) -> list[CompactionEvent]:
    clock = Clock()
    with (
        ScriptedServer(model, model="claude-sonnet-4-5", window=WINDOW) as server,
        RunningGateway(settings(server, policy), home, clock=clock) as gateway,
    ):
        client = AnthropicClient(gateway.url)
        heavy(client)
        assert events(home, client) == []
        clock.now += seconds
        client.say("brig: and this one?")
        assert max(seen.usage.prompt_tokens for seen in server.requests if seen.usage) < THRESHOLD
    return events(home, client)


def test_after_a_pause_in_which_the_cache_expired_a_lighter_view_is_sent(tmp_path: Path) -> None:
    (event,) = after_a_pause("cost", LONG, tmp_path)
    assert event.trigger == "cost"
    assert event.outcome == "compacted"
    assert event.tokens_after < event.tokens_before < THRESHOLD


def test_a_short_pause_changes_nothing(tmp_path: Path) -> None:
    assert after_a_pause("cost", SHORT, tmp_path) == []


def test_the_threshold_policy_waits_for_the_threshold_however_long_the_pause(tmp_path: Path) -> None:
    assert after_a_pause("threshold", LONG, tmp_path) == []


def test_many_quick_requests_pay_for_a_compaction_before_the_threshold(tmp_path: Path) -> None:
    clock = Clock()
    with (
        ScriptedServer(model, model="claude-sonnet-4-5", window=WINDOW) as server,
        RunningGateway(settings(server, "cost"), tmp_path, clock=clock) as gateway,
    ):
        client = AnthropicClient(gateway.url)
        for number in range(40):
            converse(client, 1, first=number)
            clock.now += SHORT
    found = events(tmp_path, client)
    assert [event.outcome for event in found] == ["compacted"] * len(found)
    assert {event.trigger for event in found} == {"cost"}
    assert all(event.tokens_before < THRESHOLD for event in found)
    assert all(seen.status == 200 for seen in server.requests)


def test_a_process_that_sees_a_conversation_for_the_first_time_takes_its_cache_for_warm(
    tmp_path: Path,
) -> None:
    clock = Clock()
    with ScriptedServer(model, model="claude-sonnet-4-5", window=WINDOW) as server:
        with RunningGateway(settings(server, "cost"), tmp_path, clock=clock) as gateway:
            client = AnthropicClient(gateway.url)
            heavy(client)
        with RunningGateway(settings(server, "cost"), tmp_path, clock=clock) as gateway:
            client.url = gateway.url
            client.say("brig: and this one?")
            assert client.last is not None
            assert client.last.headers["x-plimsoll-view"] == "log"
            clock.now += LONG
            client.say("sloop: and that one?")
    (event,) = events(tmp_path, client)
    assert event.trigger == "cost"


def test_a_conversation_that_another_machine_kept_warm_is_not_mistaken_for_cold(tmp_path: Path) -> None:
    clock = Clock()
    with ScriptedServer(model, model="claude-sonnet-4-5", window=WINDOW) as server:
        one, two = tmp_path / "one", tmp_path / "two"
        one.mkdir()
        two.mkdir()
        with (
            RunningGateway(settings(server, "cost"), one, clock=clock) as first,
            RunningGateway(settings(server, "cost"), two, clock=clock) as second,
        ):
            client = AnthropicClient(first.url)
            heavy(client)
            # From one request of the first machine to the next is longer than an entry of the cache lives.
            client.url = second.url
            clock.now += 270.0
            client.say("brig: and this one?")
            client.url = first.url
            clock.now += 270.0
            client.say("sloop: and that one?")
            assert [*events(one, client), *events(two, client)] == []
