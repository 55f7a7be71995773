"""A preview shows what a compaction by hand does, and changes nothing."""

import asyncio
import time
from contextlib import asynccontextmanager

import pytest
from conversing import MODEL, connection_to, toolbox
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.agent import CompactionRules
from plimsoll.archive import OPERATOR
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.config import Settings
from plimsoll.plugins import EngineContext, PluginLocations, resolve_plugins
from plimsoll.sessions import Conversation, ConversationParts
from plimsoll.testing.scripted_server import ScriptedServer, say
from plimsoll.tools import ToolContext, Workspace

WINDOW = 16_000
ENGINES = pytest.mark.parametrize("engine", ["compressor", "lcm"])


@asynccontextmanager
async def conversing(server, path, engine, background=False):
    async with await SqliteStore.open(path / "archive.db") as store:
        archive = store.for_owner(OPERATOR)
        id = (await archive.create_session(model=MODEL, engine=engine)).id
        context = EngineContext(Settings(), WINDOW, path, MODEL, None, archive, id)
        resolved = resolve_plugins(engine, PluginLocations(path, path, {}, ()), context)
        assert resolved.problems == ()
        equipment = ConversationParts(
            connection=connection_to(server),
            engine=resolved.engine,
            rules=CompactionRules(background=background),
            toolbox=toolbox(),
            tool_context=ToolContext(Workspace(path)),
            clock=time.monotonic,
        )
        conversation = await Conversation.open(archive, id, "test", equipment)
        await conversation.begin("You keep the book of ships.")
        try:
            yield conversation
        finally:
            await conversation.close()


async def told(conversation, turns, words, answer=30):
    """This many turns, as the conversation contains them afterwards."""
    for n in range(turns):
        said = {"role": "user", "content": f"Ship {n} came in. " + f"crate-{n} " * words}
        await conversation.agent.add([said, {"role": "assistant", "content": "Written down. " * answer}])


async def prepared(conversation):
    """Turns until the next view has been prepared in the background."""
    compactor, n = conversation.agent.compactor, 0
    while compactor._prepared is None:
        n += 1
        said = {"role": "user", "content": f"Ship {n} came in. " + f"crate-{n} " * 60}
        await conversation.say(said, lambda event: None)
        reported = compactor.engine.last_prompt_tokens
    await asyncio.wait({compactor._prepared.task})
    return reported


async def state(conversation):
    """Everything that a preview could change."""
    archive, id, agent = conversation.archive, conversation.session.id, conversation.agent
    return (
        agent.compactor.engine.get_status() if agent.compactor.engine.name != "lcm" else None,
        agent.compactor.engine.compression_count,
        agent.compactor.engine.last_prompt_tokens,
        await archive.compactions(id),
        await archive.nodes(id),
        await archive.usage(id),
        (await archive.session(id)).view,
        list(agent.view),
    )


@ENGINES
def test_a_preview_changes_neither_the_counters_nor_the_archive(tmp_path, engine):
    async def run():
        with ScriptedServer(lambda request: say("Written down. " * 30)) as server:
            async with conversing(server, tmp_path, engine) as conversation:
                await told(conversation, 22, 60)
                before = await state(conversation)
                report = await conversation.agent.preview()
                assert report.outcome == "compacted"
                assert await state(conversation) == before
                assert await conversation.agent.preview() == report

    asyncio.run(run())


@ENGINES
def test_compress_does_what_the_preview_shows_where_the_provider_counts_more_than_the_estimate(
    tmp_path, engine
):
    async def run():
        with ScriptedServer(lambda request: say("Written down. " * 10)) as server:
            async with conversing(server, tmp_path, engine) as conversation:
                await told(conversation, 11, 20, 10)
                connection, view = conversation.agent.connection, conversation.agent.view
                estimate = connection._estimate(view)
                connection.anchor = connection.anchor.observe(estimate * 2, estimate)
                report = await conversation.agent.preview()
                event = await conversation.compress(lambda event: None)
                return report, event

    report, event = asyncio.run(run())
    assert (event.outcome == "compacted") == (report.outcome == "compacted")
    if event.outcome == "compacted":
        assert (event.messages_before, event.messages_after) == (
            report.messages_before,
            report.messages_after,
        )
        assert (event.tokens_before, event.tokens_after) == (report.tokens_before, report.tokens_after)


@ENGINES
@settings(max_examples=6, deadline=None)
@given(turns=st.integers(0, 24), words=st.integers(1, 90), counted=st.sampled_from([0.9, 1.0, 1.3, 2.0]))
def test_a_compaction_by_hand_happens_exactly_where_the_preview_shows_one(
    tmp_path_factory, engine, turns, words, counted
):
    async def run():
        path = tmp_path_factory.mktemp("preview")
        with ScriptedServer(lambda request: say("Written down. " * 10)) as server:
            async with conversing(server, path, engine) as conversation:
                await told(conversation, turns, words, 10)
                connection, view = conversation.agent.connection, conversation.agent.view
                estimate = connection._estimate(view)
                connection.anchor = connection.anchor.observe(round(estimate * counted), estimate)
                report = await conversation.agent.preview()
                return report, await conversation.compress(lambda event: None)

    report, event = asyncio.run(run())
    assert event.outcome == ("compacted" if report.outcome == "compacted" else "refused")
    if event.outcome == "compacted":
        assert (event.messages_before, event.messages_after) == (
            report.messages_before,
            report.messages_after,
        )
        assert (event.tokens_before, event.tokens_after) == (report.tokens_before, report.tokens_after)


@ENGINES
def test_a_preview_shows_what_was_prepared_and_compress_uses_it(tmp_path, engine):
    async def run():
        with ScriptedServer(lambda request: say("Written down. " * 30)) as server:
            async with conversing(server, tmp_path, engine, background=True) as conversation:
                compactor = conversation.agent.compactor
                await prepared(conversation)
                assert compactor.engine.compression_count == 0
                await conversation.agent.add([{"role": "user", "content": "One more ship."}])
                report = await conversation.agent.preview()
                event = await conversation.compress(lambda event: None)
                assert compactor.engine.compression_count == 1
                return report, event

    report, event = asyncio.run(run())
    assert event.outcome == report.outcome == "compacted"
    assert (event.messages_before, event.messages_after) == (report.messages_before, report.messages_after)


def test_what_is_only_prepared_is_not_counted_as_a_compaction(tmp_path):
    async def run():
        with ScriptedServer(lambda request: say("Written down. " * 30)) as server:
            async with conversing(server, tmp_path, "compressor", background=True) as conversation:
                compactor = conversation.agent.compactor
                reported = await prepared(conversation)
                assert compactor.engine.compression_count == 0
                assert compactor.engine.last_prompt_tokens == reported

    asyncio.run(run())
