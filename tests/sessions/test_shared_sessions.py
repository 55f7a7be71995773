"""Two processes on one session: turns interleave, nothing is lost or doubled, one compacts at a time."""

import asyncio
import os
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from equipped import equipped

from message_builders import user
from plimsoll.archive import OPERATOR
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.errors import Conflict, StaleLease
from plimsoll.messages import text_of, validate
from plimsoll.sessions.turn_lock import PURPOSE
from plimsoll.testing.scripted_server import ScriptedServer, fault, say

TURNS = 14
SPEAKER = Path(__file__).with_name("speaking_process.py")


def quiet(event):
    return None


async def begun(path):
    async with await SqliteStore.open(path / "archive.db") as store:
        archive = store.for_owner(OPERATOR)
        id = (await archive.create_session(model="claude-sonnet-5", engine="compressor")).id
        await archive.append(id, [{"role": "system", "content": "You look things up."}], turn="begin")
        return id


async def kept(path, id):
    async with await SqliteStore.open(path / "archive.db") as store:
        archive = store.for_owner(OPERATOR)
        stored = [one.message for one in await archive.messages(id)]
        view = [item.message for item in await archive.items(id)]
        return stored, view, await archive.compactions(id), await store.check()


@pytest.mark.slow
@pytest.mark.rewrites_history("a compaction by one process reaches the other between its requests")
def test_two_processes_lose_nothing_and_store_nothing_twice(tmp_path):
    id = asyncio.run(begun(tmp_path))
    # The scripts are next to the tests, not in the package.
    places = os.pathsep.join(str(SPEAKER.parents[1] / name) for name in ("agent", "sessions"))
    environment = {**os.environ, "PYTHONPATH": places}
    with ScriptedServer(lambda request: say("ok " * 20), model="claude-sonnet-5", window=8_000) as server:
        speakers = [
            subprocess.Popen(
                [sys.executable, SPEAKER, server.anthropic_url, tmp_path, id, name, str(TURNS)],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for name in ("ada", "bob")
        ]
        done = [speaker.communicate(timeout=180) for speaker in speakers]
        assert [speaker.returncode for speaker in speakers] == [0, 0], done
        assert not any(seen.refusal for seen in server.requests)
    stored, view, compactions, faults = asyncio.run(kept(tmp_path, id))
    said = [text_of(message).split(".")[0] for message in stored if message["role"] == "user"]
    assert sorted(said) == sorted(f"{name} says {n}" for name in ("ada", "bob") for n in range(TURNS))
    for name in ("ada", "bob"):
        assert [one for one in said if one.startswith(name)] == [f"{name} says {n}" for n in range(TURNS)]
    assert [message["role"] for message in stored[1:]] == ["user", "assistant"] * (2 * TURNS)
    assert validate(view) == validate(view, "anthropic") == []
    assert faults == []
    made = [event for event in compactions if event.outcome == "compacted"]
    assert len(made) == sum(int(out) for out, _ in done) >= 1
    # Each was made from the view that the one before it left: none ran beside another.
    assert [event.view_before for event in made] == [0, *(event.view_after for event in made[:-1])]


async def two(stack, server, path, **more):
    id = await begun(path)
    return [
        await stack.enter_async_context(equipped(server, path, session=id, holder=name, **more))
        for name in ("ada", "bob")
    ]


def test_each_turn_begins_with_what_the_other_said(tmp_path):
    async def run(server):
        async with AsyncExitStack() as stack:
            ada, bob = await two(stack, server, tmp_path)
            for n in range(3):
                await ada.say(user(f"ada {n}"), quiet)
                await bob.say(user(f"bob {n}"), quiet)
            return bob.agent.view, await kept(tmp_path, bob.session.id)

    with ScriptedServer(lambda request: say("ok"), model="claude-sonnet-5") as server:
        view, (stored, *_) = asyncio.run(run(server))
    assert view == stored
    assert [text_of(message) for message in view if message["role"] == "user"] == [
        f"{name} {n}" for n in range(3) for name in ("ada", "bob")
    ]


@pytest.mark.rewrites_history("an undone compaction brings the earlier view back, which is what is tested")
def test_a_compaction_and_its_undoing_are_noticed_by_the_other(tmp_path):
    async def run(server):
        async with AsyncExitStack() as stack:
            ada, bob = await two(stack, server, tmp_path, window=64_000)
            for n in range(16):
                await ada.say(user(f"{n} " + "word " * 900), quiet)
            event = await ada.compress(quiet)
            await bob.say(user("Still there?"), quiet)
            seen = list(bob.agent.view)
            await ada.undo()
            await bob.say(user("And now?"), quiet)
            return event, seen, list(bob.agent.view), await kept(tmp_path, bob.session.id)

    with ScriptedServer(lambda request: say("ok " * 50), model="claude-sonnet-5") as server:
        event, seen, later, (stored, view, *_) = asyncio.run(run(server))
    assert event.outcome == "compacted"
    assert len(seen) == event.messages_after + 2
    assert later == view == stored


def test_whoever_speaks_into_a_turn_waits_and_then_is_told(tmp_path):
    async def run(server):
        async with AsyncExitStack() as stack:
            ada, bob = await two(stack, server, tmp_path, patience=0.3)
            turn = asyncio.create_task(ada.say(user("Think long."), quiet))
            await asyncio.to_thread(server.wait_until, lambda: len(server.requests) == 1)
            with pytest.raises(Conflict, match="Another process is answering in session"):
                await bob.say(user("Hello?"), quiet)
            turn.cancel()
            await asyncio.gather(turn, return_exceptions=True)
            await bob.say(user("Hello?"), quiet)
            return await kept(tmp_path, bob.session.id)

    with ScriptedServer([fault("hang"), say("Hello.")], model="claude-sonnet-5") as server:
        stored, *_ = asyncio.run(run(server))
    assert [text_of(one) for one in stored[1:]] == [
        "Think long.", "[interrupted by the user]", "Hello?", "Hello.",
    ]  # fmt: skip


def test_a_process_that_lost_its_turn_writes_nothing_more(tmp_path):
    async def run(server):
        async with AsyncExitStack() as stack:
            ada, bob = await two(stack, server, tmp_path)
            turn = asyncio.create_task(ada.say(user("Think long."), quiet))
            await asyncio.to_thread(server.wait_until, lambda: len(server.requests) == 1)
            # As if ada had slept for longer than her lease.
            lease = ada._journal.lease
            await bob.archive.release(lease)
            assert await bob.archive.acquire(lease.session, "bob", 60, purpose=PURPOSE)
            with pytest.raises(StaleLease):
                await turn
            return await kept(tmp_path, bob.session.id)

    slow = fault("slow", seconds=0.5, then=say("Late."))
    with ScriptedServer([slow], model="claude-sonnet-5") as server:
        stored, *_ = asyncio.run(run(server))
    assert [text_of(one) for one in stored[1:]] == ["Think long."]
