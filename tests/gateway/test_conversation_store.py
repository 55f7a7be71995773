"""A conversation is stored while its client's next request arrives already."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from clients import http
from gateway_server import RunningGateway, settings_for

from plimsoll.archive import OPERATOR, ArchiveStore, CompactionEvent, UsageRecord
from plimsoll.archive.open_archive import open_archive
from plimsoll.context.markers import OwnSummary
from plimsoll.dialects import ANTHROPIC
from plimsoll.gateway.dropin.chain import chain_of, root_of
from plimsoll.gateway.dropin.client_conversation import ClientConversation
from plimsoll.gateway.dropin.conversation_index import FILE_NAME, ConversationIndex
from plimsoll.gateway.dropin.conversation_store import ConversationStore
from plimsoll.sessions import ArchiveJournal
from plimsoll.testing.scripted_server import ScriptedServer

MODEL = "claude-sonnet-4-5"
ROOT = root_of(b"caller", "anthropic")
SAID = [{"role": ("user", "assistant")[n % 2], "content": f"message {n}"} for n in range(11)]
FIRST, NEXT = SAID[:9], SAID  # what the client sends, and what it sends in its next request
SUMMARY = "[CONTEXT COMPACTION] Earlier turns were compacted.\n\n## Goal\n- To count."


def seen(thread: ClientConversation, said: list[dict[str, Any]]) -> ClientConversation:
    thread.extend(said, chain_of(ROOT, said))
    return thread


def new_thread(said: list[dict[str, Any]]) -> ClientConversation:
    return seen(ClientConversation(ANTHROPIC, (), OPERATOR), said)


@asynccontextmanager
async def keepers(home: Path) -> AsyncIterator[tuple[ConversationStore, ConversationStore]]:
    """Those of two processes with the same archive and index."""
    async with await open_archive(None, home) as store:
        indexes = [await ConversationIndex.open(home / FILE_NAME) for _ in range(2)]
        one, two = (
            ConversationStore(store.for_owner, index, f"process {n}") for n, index in enumerate(indexes)
        )
        try:
            yield one, two
        finally:
            await one.close()
            await two.close()


async def compact(conversation_store: ConversationStore, thread: ClientConversation) -> None:
    view = thread.view()
    compacted = [view[0], OwnSummary(role="assistant", content=SUMMARY), *view[6:]]
    await conversation_store.commit(thread, compacted, CompactionEvent("threshold", "compressor"), MODEL)


def extends_during(
    monkeypatch: pytest.MonkeyPatch, kind: type, name: str, thread: ClientConversation
) -> None:
    """The client's next request arrives while this method runs."""
    original = getattr(kind, name)

    async def interrupted(self: Any, *arguments: Any) -> Any:
        done = await original(self, *arguments)
        seen(thread, NEXT)
        return done

    monkeypatch.setattr(kind, name, interrupted)


def test_another_process_finds_a_compaction_though_the_next_request_came_while_it_was_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with keepers(tmp_path) as (one, two):
            thread = new_thread(FIRST)
            await compact(one, thread)
            extends_during(monkeypatch, ConversationStore, "store", thread)
            await one.used(thread, UsageRecord(MODEL))
            other = new_thread(NEXT)
            await two.update_from_archive(other, MODEL)
            assert other.stored_name == thread.stored_name
            assert other.view() == thread.view()
            assert len(other.view()) < len(NEXT)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("kind", "name"),
    [(ConversationStore, "_begun"), (ArchiveJournal, "compacted")],
    ids=["stored", "committed"],
)
def test_a_request_that_comes_during_a_compaction_is_not_left_out_of_the_view(
    kind: type, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with keepers(tmp_path) as (one, _):
            thread = new_thread(FIRST)
            extends_during(monkeypatch, kind, name, thread)
            await compact(one, thread)
            assert thread.compacted_view is not None
            assert [message["content"] for message in thread.view()[-2:]] == ["message 9", "message 10"]

    asyncio.run(run())


def test_a_compaction_keeps_what_a_person_has_pinned(tmp_path: Path) -> None:
    async def run() -> None:
        async with keepers(tmp_path) as (one, _), await open_archive(None, tmp_path) as store:
            thread = new_thread(FIRST)
            journal = await one.store(thread, MODEL)
            await store.for_owner(OPERATOR).pin(journal.session, 4)
            await compact(one, thread)
            assert [message["content"] for message in thread.view()] == [
                "message 0", SUMMARY, "message 3", "message 6", "message 7", "message 8"
            ]  # fmt: skip

    asyncio.run(run())


def test_messages_that_wait_for_an_answer_are_stored_when_the_answer_comes_back(tmp_path: Path) -> None:
    async def run() -> None:
        async with keepers(tmp_path) as (one, _), await open_archive(None, tmp_path) as store:
            thread = new_thread(FIRST)
            await compact(one, thread)
            assert await _contents(store, thread) == [f"message {n}" for n in range(8)]
            seen(thread, NEXT)
            await one.used(thread, UsageRecord(MODEL))
            assert await _contents(store, thread) == [f"message {n}" for n in range(10)]

    asyncio.run(run())


def test_messages_that_a_compaction_shortened_are_stored_with_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with keepers(tmp_path) as (one, _), await open_archive(None, tmp_path) as store:
            thread = new_thread(FIRST)
            compacted = [*thread.view()[:8], {"role": "user", "content": "mess…"}]
            await one.commit(thread, compacted, CompactionEvent("overflow", "compressor"), MODEL)
            assert await _contents(store, thread) == [f"message {n}" for n in range(9)]
            assert thread.view()[-1]["content"] == "mess…"

    asyncio.run(run())


def test_of_two_branches_that_are_compacted_at_the_same_time_the_second_sees_the_first_compaction(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        async with keepers(tmp_path) as (one, _), await open_archive(None, tmp_path) as store:
            thread = new_thread(FIRST)
            await one.store(thread, MODEL)
            branch = seen(thread.fork(8), [*SAID[:8], {"role": "user", "content": "instead"}])
            await compact(one, thread)
            await compact(one, branch)
            assert (branch.stored_name, len(await store.sessions())) == (thread.stored_name, 1)
            assert branch.view() == [*thread.view()[:-1], {"role": "user", "content": "instead"}]

    asyncio.run(run())


def test_a_branch_whose_session_went_on_differently_is_compacted_in_a_session_of_its_own(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        async with keepers(tmp_path) as (one, _), await open_archive(None, tmp_path) as store:
            thread = new_thread(FIRST)
            await one.store(thread, MODEL)
            other = [*SAID[:8], *({"role": role, "content": role} for role in ("user", "assistant", "user"))]
            branch = seen(thread.fork(8), other)
            await one.store(seen(thread, NEXT), MODEL)
            await compact(one, branch)
            assert branch.stored_name != thread.stored_name
            assert await _contents(store, thread) == [f"message {n}" for n in range(10)]
            assert await _contents(store, branch) == [one["content"] for one in other[:-1]]
            assert len(branch.view()) < len(other)

    asyncio.run(run())


async def _contents(store: ArchiveStore, thread: ClientConversation) -> list[Any]:
    stored = await store.for_owner(OPERATOR).messages(thread.stored_name)
    return [one.message["content"] for one in stored]


@pytest.mark.parametrize(("memory", "kept"), [(1_000_000, 1), (256_000_000, 3)])
def test_conversation_memory_is_how_much_of_the_conversations_a_process_keeps(
    tmp_path: Path, memory: int, kept: int
) -> None:
    settings = {"gateway": {"conversation_memory": memory}, "model": {"context_length": 2_000_000}}
    with (
        ScriptedServer() as server,
        RunningGateway(settings_for(server, "openai", **settings), tmp_path) as gateway,
    ):
        for number in range(3):
            said = [{"role": "user", "content": f"{number} " + "a boat " * 130_000}]
            body = {"model": "gpt-4.1", "messages": said}
            assert http().post(f"{gateway.url}/v1/chat/completions", json=body).status_code == 200
        assert len(gateway.within.conversations) == kept
