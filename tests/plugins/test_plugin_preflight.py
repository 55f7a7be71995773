"""A Hermes plugin hears of every request before it is sent, as its own host would let it."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from equipped import equipped

from plimsoll.plugins import resolve_plugins
from plimsoll.testing.scripted_server import ScriptedServer, say

HERE = Path(__file__).parent


@pytest.fixture
def harbour(place):
    """The plugin copied into place as it is, and made an engine."""
    shutil.copytree(HERE / "harbour_log", place.home / "plugins" / "context_engine" / "harbour_log")
    resolved = resolve_plugins("harbour_log", place.locations(), place.context(32_000))
    assert resolved.problems == ()
    yield resolved.engine
    resolved.engine.inner.log.connection.close()


def test_what_is_said_is_in_the_plugins_own_log_before_anything_is_compacted(harbour, place, tmp_path):
    said = [f"Look at berth {number}." for number in range(4)]

    async def talk(server):
        async with equipped(server, tmp_path, engine=harbour) as conversation:
            for text in said:
                await conversation.say({"role": "user", "content": text}, lambda _: None)
            return await conversation.archive.compactions(conversation.session.id)

    with ScriptedServer(lambda _request: say("It is empty."), model="claude-sonnet-5") as server:
        assert asyncio.run(talk(server)) == []
    with closing(sqlite3.connect(place.home / "harbour.db")) as log:
        kept = [row[0] for row in log.execute("select content from messages")]
    assert [text for text in kept if text.startswith("look")] == [text.lower() for text in said]
