"""The core of the adapters: the same view again, extended between two compactions, and nothing of the host lost."""

import asyncio
import gc
import importlib
import json
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from ships import (
    LOOKUP,
    SYSTEM,
    BatchCodec,
    PieceCodec,
    batches,
    call,
    conversation,
    pieces,
    requests,
)

from plimsoll import ContextCompressor, validate
from plimsoll.context.lcm import LcmEngine
from plimsoll.context.markers import NOTE, is_summary
from plimsoll.errors import SettingError, UserError
from plimsoll.integrations import ChatCodec, HistoryCompactor
from plimsoll.integrations.context_tools import asked_a_turn_ago
from plimsoll.messages import Message, safe_cuts, text_of
from plimsoll.testing.strategies import conversations

CHAT = ChatCodec()
WINDOW = 6_000
LOG = conversation(24)


@pytest.fixture
def history() -> Iterator[HistoryCompactor]:
    with HistoryCompactor(window=WINDOW, protect_last_n=4) as made:
        yield made


def test_requests_extend_one_another_between_compactions(history: HistoryCompactor) -> None:
    sent: list[Message] = []
    compactions = 0
    for asked in requests(LOG):
        view = history.view(CHAT, asked, system=[SYSTEM], tools=[LOOKUP])
        assert validate(view.canonical) == []
        assert view.tokens <= WINDOW
        assert view.messages[-1] is asked[-1]
        if view.compacted:
            compactions += 1
        else:
            assert view.canonical[: len(sent)] == sent
        sent = view.canonical
    assert compactions >= 3
    assert view.system == ({**SYSTEM, "content": [*_blocks(SYSTEM), {"type": "text", "text": NOTE}]},)
    assert sum(map(is_summary, view.messages)) == 1


def _blocks(message: Message) -> list[dict[str, Any]]:
    return [{"type": "text", "text": message["content"]}]


def test_a_repeated_request_gets_the_same_view(history: HistoryCompactor) -> None:
    for asked in requests(LOG):
        first = history.view(CHAT, asked, system=[SYSTEM])
        history.observe(
            first, 2 * first.tokens
        )  # what the provider counts must not change a request afterwards
        again = history.view(CHAT, asked, system=[SYSTEM])
        assert again.canonical == first.canonical
        assert again.event is None


def test_the_system_prompt_may_be_among_the_messages(history: HistoryCompactor) -> None:
    for asked in requests(LOG):
        beside = history.view(CHAT, asked, system=[SYSTEM], conversation="beside")
        inside = history.view(CHAT, [SYSTEM, *asked], conversation="inside")
        assert inside.messages == beside.canonical
    assert inside.has_note


def test_a_history_that_was_rewound_sees_no_summary_of_later_messages(history: HistoryCompactor) -> None:
    views = [history.view(CHAT, asked, system=[SYSTEM]) for asked in requests(LOG)]
    for asked, first in zip(requests(LOG), views, strict=True):
        branch = [*asked[:-1], {"role": "user", "content": "Something else: which ship is the oldest?"}]
        view = history.view(CHAT, branch, system=[SYSTEM])
        assert view.messages[-1] == branch[-1]
        later = "\n".join(map(text_of, LOG[len(asked) :]))
        for ship in range(24):
            name = f"ship{ship} lies at"
            if name in later:
                assert not any(name in text_of(one) for one in view.messages), (len(asked), name)
        assert history.view(CHAT, asked, system=[SYSTEM]).canonical == first.canonical


@pytest.mark.parametrize("host", ["batches", "pieces"])
def test_every_message_of_the_host_that_stays_is_the_same_object(
    history: HistoryCompactor, host: str
) -> None:
    codec: Any = BatchCodec() if host == "batches" else PieceCodec()
    whole = batches(LOG) if host == "batches" else pieces(LOG)
    step = 2 if host == "batches" else 6
    for end in range(step, len(whole) + 1, step):
        view = history.view(codec, whole[:end])
        known = {id(one) for one in whole}
        own = [one for one in view.messages if id(one) not in known]
        decoded = [one for group in codec.decode(view.messages) for one in group.messages]
        assert decoded == view.canonical
        assert len(own) <= (8 if view.changed else 0)
    assert view.changed


def test_the_host_form_does_not_change_the_view(history: HistoryCompactor) -> None:
    whole = pieces(LOG)
    for end in range(3, len(LOG), 4):
        by_piece = history.view(PieceCodec(), whole[: 2 * end], conversation="pieces")
        plain = history.view(CHAT, LOG[:end], conversation="chat")
        assert by_piece.canonical == plain.canonical


@settings(max_examples=12, phases=[Phase.generate])
@given(conversations(min_turns=4, max_turns=14), st.data())
def test_any_conversation_keeps_its_newest_request_and_stays_valid(
    log: list[Message], data: st.DataObject
) -> None:
    with HistoryCompactor(window=3_000, protect_last_n=2) as history:
        sent: list[Message] = []
        ends = [end for end in safe_cuts(log) if end and log[end - 1]["role"] != "assistant"]
        for end in sorted(data.draw(st.sets(st.sampled_from(ends), min_size=1, max_size=8))):
            view = history.view(CHAT, log[:end])
            assert len(validate(view.canonical)) <= len(validate(log[:end]))
            request = next((one for one in reversed(log[:end]) if one["role"] == "user"), None)
            assert request is None or request in view.messages
            if not view.compacted:
                assert view.canonical[: len(sent)] == sent
            sent = view.canonical
            assert history.view(CHAT, log[:end]).canonical == sent


def test_reported_tokens_decide_when_it_is_due(history: HistoryCompactor) -> None:
    asked = requests(LOG)[:4]
    first = history.view(CHAT, asked[0], conversation="counted")
    assert not first.changed
    history.observe(first, 2_900)
    assert history.view(CHAT, asked[3], conversation="counted").compacted
    history.view(CHAT, asked[0], conversation="told")
    assert history.view(CHAT, asked[3], conversation="told", reported=2_900).compacted
    assert not history.view(CHAT, asked[3], conversation="silent").changed


def test_an_overflow_compacts_below_the_window_that_the_provider_states() -> None:
    with HistoryCompactor(window=200_000, protect_last_n=4) as history:
        asked = requests(LOG)[-1]
        assert not history.view(CHAT, asked).changed
        refusal = RuntimeError("prompt is too long: 9000 tokens > 8000 maximum")
        view = history.view_after_overflow(refusal, CHAT, asked)
        assert view.compacted
        assert view.tokens < 4_000
        assert history.view(CHAT, asked).canonical == view.canonical
        with pytest.raises(ZeroDivisionError):
            history.view_after_overflow(ZeroDivisionError("division by zero"), CHAT, asked)


def test_a_host_that_stores_the_view_continues_from_it(history: HistoryCompactor) -> None:
    """The same views as for a host that keeps everything, and recall still finds what the host gave up."""
    log, stored = conversation(36), list[Message]()
    compactions = 0
    for message in log:
        stored.append(message)
        if message["role"] == "assistant":
            continue
        end = log.index(message) + 1
        whole = history.view(CHAT, log[:end], system=[SYSTEM], conversation="whole")
        view = history.view(CHAT, stored, system=[SYSTEM], conversation="stored")
        assert view.canonical == whole.canonical
        if view.compacted:
            compactions += 1
            stored = list(view.messages)
            history.replaced(CHAT, view, "stored")
    assert compactions >= 3
    assert len(stored) < len(LOG)
    assert "pier 2." in history.answer("recall", {"query": "ship2 pier"})


def test_the_agent_compacts_with_a_tool(history: HistoryCompactor) -> None:
    log = conversation(5)
    assert not history.view(CHAT, log[:-1]).changed
    result = history.answer("compact_context", {"focus": "ship3"})
    asked = [*log, call(0, "compact_context", focus="ship3"), _result(0, "compact_context", result)]
    view = history.view(CHAT, asked)
    assert view.compacted
    assert view.event is not None
    assert view.event.trigger == "manual"
    assert history.view(CHAT, asked).canonical == view.canonical
    following = [*asked, {"role": "assistant", "content": "Done."}, {"role": "user", "content": "Go on."}]
    assert history.view(CHAT, following).canonical[: len(view.canonical)] == view.canonical


def test_a_host_that_shows_a_turn_when_it_has_ended_compacts_once_at_the_next(
    history: HistoryCompactor,
) -> None:
    turn = [
        call(0, "compact_context", focus="ship3"),
        _result(0, "compact_context", history.answer("compact_context", {})),
        {"role": "assistant", "content": "Compacted."},
    ]
    before = [*conversation(5), {"role": "user", "content": "Compact."}]
    asked = [*before, *turn, {"role": "user", "content": "Go on."}]
    assert asked_a_turn_ago(before) is None
    assert asked_a_turn_ago([*before, *turn]) is None
    assert not history.view(CHAT, [*before, *turn], compact=asked_a_turn_ago([*before, *turn])).changed
    view = history.view(CHAT, asked, compact=asked_a_turn_ago(asked))
    assert view.event is not None
    assert (view.event.trigger, view.compacted) == ("manual", True)
    assert history.view(CHAT, asked, compact=asked_a_turn_ago(asked)).canonical == view.canonical
    later = [*asked, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "And now?"}]
    assert asked_a_turn_ago(later) is None


def test_a_tool_of_the_agent_that_is_named_like_ours_compacts_nothing(history: HistoryCompactor) -> None:
    log = [*conversation(5), call(0, "compact_context"), _result(0, "compact_context", "A tool of its own.")]
    asked = [*log, {"role": "assistant", "content": "Done."}, {"role": "user", "content": "Go on."}]
    assert not history.view(CHAT, log).changed
    assert asked_a_turn_ago(asked) is None


def test_the_thread_of_an_adapter_that_nothing_refers_to_ends() -> None:
    before = set(threading.enumerate())
    history = HistoryCompactor(window=6_000)
    history.view(CHAT, conversation(1)[:-1])
    (thread,) = set(threading.enumerate()) - before
    del history
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()


def _result(ship: int, name: str, content: str) -> Message:
    return {"role": "tool", "tool_call_id": f"call_{ship}_{name}", "content": content}


def test_a_search_does_not_find_earlier_searches_and_their_results(history: HistoryCompactor) -> None:
    log = [*requests(LOG)[-1], {"role": "assistant", "content": "Let me see."}]
    history.view(CHAT, log)
    first = history.answer("recall", {"query": "ship7 pier"})
    searched = [*log, call(7, "recall", query="ship7 pier"), _result(7, "recall", first)]
    history.view(CHAT, searched)
    assert history.answer("recall", {"query": "ship7 pier"}) == first


def test_recall_reads_only_the_conversation_that_asks(history: HistoryCompactor) -> None:
    def other() -> None:
        history.view(CHAT, [{"role": "user", "content": "My password is swordfish."}])

    asyncio.run(_in_task(other))
    history.view(CHAT, requests(LOG)[-1])
    assert "My password" not in history.answer("recall", {"query": "swordfish"})
    found = json.loads(history.answer("recall", {"query": "ship7 pier"}))["matches"]
    handle = next(one["handle"] for one in found if one["role"] == "tool")
    page = json.loads(history.answer("recall", {"handle": handle}))
    assert page["text"].startswith("ship7: pier 7.")


def test_recall_in_a_conversation_with_the_same_first_message_finds_nothing_of_another_one() -> None:
    with HistoryCompactor(window=WINDOW, protect_last_n=4, recall=True, max_conversations=2) as history:
        first = history.view(CHAT, LOG, system=[SYSTEM], force=True)
        history.replaced(CHAT, first)
        # The original is forgotten, and what the host stores in its place is used again.
        history.view(CHAT, [{"role": "user", "content": "Something else."}])
        stored = [
            *first.messages,
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": "Go on."},
        ]
        history.view(CHAT, stored, system=[SYSTEM])
        view = history.view(CHAT, LOG[:1])
        assert not view.changed
        assert history.answer("recall", {"query": "ship7 pier"}).startswith("No message")


def test_conversations_that_begin_alike_are_stored_with_their_own_system_prompts(tmp_path: Path) -> None:
    file = tmp_path / "archive.db"
    other: Message = {"role": "system", "content": "You answer questions about trains."}
    with HistoryCompactor(window=WINDOW, protect_last_n=4, archive=str(file)) as history:
        history.view(CHAT, LOG, system=[SYSTEM], force=True)
        branch = [*LOG[:4], *conversation(40)[100:]]
        history.view(CHAT, branch, system=[other], force=True)
    assert asyncio.run(_first_messages(file)) == {text_of(SYSTEM), text_of(other)}


def test_the_same_first_message_under_two_system_prompts_begins_two_conversations(tmp_path: Path) -> None:
    file = tmp_path / "archive.db"
    other: Message = {"role": "system", "content": "You answer questions about trains."}
    with HistoryCompactor(window=WINDOW, protect_last_n=4, archive=str(file)) as history:
        history.view(CHAT, LOG[:1], system=[SYSTEM])
        history.view(CHAT, LOG[:1], system=[other])
        history.view(CHAT, LOG, system=[other], force=True)
    assert asyncio.run(_first_messages(file)) == {text_of(other)}


async def _first_messages(file: Path) -> set[str]:
    from plimsoll.archive import OPERATOR
    from plimsoll.archive.sqlite import SqliteStore

    async with await SqliteStore.open(file) as store:
        archive = store.for_owner(OPERATOR)
        return {text_of((await archive.messages(one.id))[0].message) for one in await archive.sessions()}


async def _in_task(work: Any) -> None:
    await asyncio.to_thread(work)


def test_tool_texts_do_not_say_how_full_the_window_is(history: HistoryCompactor) -> None:
    with HistoryCompactor(window=WINDOW, recall=True) as recalling:
        names = [one["function"]["name"] for one in recalling.tool_definitions]
        texts = json.dumps(recalling.tool_definitions).lower()
    assert names == ["compact_context", "recall"]
    assert [one["function"]["name"] for one in history.tool_definitions] == ["compact_context"]
    assert not any(word in texts for word in ("window", "token", "percent", "%", "full", "limit"))


def test_with_recall_the_view_names_handles_that_the_tool_reads() -> None:
    with HistoryCompactor(window=WINDOW, protect_last_n=4, recall=True) as history:
        view = history.view(CHAT, requests(LOG)[-1])
        summary = next(text_of(one) for one in view.messages if is_summary(one))
        assert summary.endswith("recall searches them and reads them back.")


def test_an_archive_stores_the_whole_conversation_of_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "archive.db"
    with HistoryCompactor(window=WINDOW, protect_last_n=4, archive=str(file)) as history:
        for asked in requests(LOG):
            history.view(CHAT, asked, system=[SYSTEM])
    assert asyncio.run(_stored(file)) > 60


async def _stored(file: Path) -> int:
    from plimsoll.archive import OPERATOR
    from plimsoll.archive.sqlite import SqliteStore

    async with await SqliteStore.open(file) as store:
        archive = store.for_owner(OPERATOR)
        (session,) = await archive.sessions()
        stored = await archive.messages(session.id)
    known = [SYSTEM, *LOG]
    assert [one.message for one in stored] == known[: len(stored)]
    return len(stored)


def test_asynchronous_hosts_get_the_same_views(history: HistoryCompactor) -> None:
    async def views() -> list[list[Message]]:
        return [
            (await history.view_async(CHAT, asked, conversation="async")).canonical for asked in requests(LOG)
        ]

    assert asyncio.run(views()) == [history.view(CHAT, asked).canonical for asked in requests(LOG)]


def test_the_least_used_conversation_is_forgotten() -> None:
    with HistoryCompactor(window=WINDOW, protect_last_n=4, max_conversations=2) as history:
        asked = requests(LOG)[-1]
        first = history.view(CHAT, asked, conversation="a")
        assert history.view(CHAT, asked, conversation="a").event is None
        for other in "bc":
            history.view(CHAT, asked, conversation=other)
        again = history.view(CHAT, asked, conversation="a")
        assert again.compacted
        assert again.canonical == first.canonical


class _Forgetful(ContextCompressor):
    """An engine that loses everything."""

    def compress(self, messages: list[Message], *args: Any, **named: Any) -> list[Message]:
        return []


@pytest.mark.parametrize("kind", [ContextCompressor, _Forgetful, LcmEngine])
def test_any_engine_serves_and_a_broken_one_is_replaced(kind: type[ContextCompressor]) -> None:
    made: list[tuple[str, int]] = []

    def engine(model: str, window: int) -> ContextCompressor:
        made.append((model, window))
        return kind(model=model, context_length=window, protect_last_n=4)

    with HistoryCompactor(window=WINDOW, model="gpt-4.1", engine=engine) as history:
        view = history.view(CHAT, requests(LOG)[-1], system=[SYSTEM])
    assert set(made) == {("gpt-4.1", WINDOW)}
    assert view.compacted
    assert view.messages[-1] == LOG[-2]
    assert validate(view.canonical) == []


@pytest.mark.parametrize(
    ("adapter", "host", "extra"),
    [
        ("langchain", "langchain", "langchain"),
        ("litellm", "litellm", "litellm"),
        ("llama_index", "llama_index", "llama-index"),
        ("openai_agents", "agents", "openai-agents"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("smolagents", "smolagents", "smolagents"),
    ],
)
def test_an_adapter_without_its_host_names_the_extra(
    adapter: str, host: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, host, None)
    with pytest.raises(UserError, match=re.escape(f"[{extra}]'")):
        importlib.import_module(f"plimsoll.integrations.{adapter}")


def test_a_wrong_option_is_refused_with_its_value() -> None:
    for wrong in ({"window": 0}, {"threshold": 1.5}, {"protect_last_n": 0}, {"max_conversations": 0}):
        with pytest.raises(SettingError, match=str(next(iter(wrong.values())))):
            HistoryCompactor(**wrong)
