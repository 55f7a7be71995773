"""A result that is too large for the window: whole in the log, head, tail and a handle before the model."""

import asyncio
import json

import pytest
from equipped import equipped, tool
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.agent import Compacted
from plimsoll.agent.large_results import MAX_TOKENS, largest_result, results_of
from plimsoll.archive import SearchQuery
from plimsoll.context.compressor.prune import prune_old_tool_results
from plimsoll.context.compressor.shorten import shorten
from plimsoll.messages import handle_of, text_of, validate
from plimsoll.models import estimate_message_tokens, estimate_messages_tokens_rough, estimate_tokens
from plimsoll.sessions.recall import page_of
from plimsoll.testing.scripted_server import ScriptedServer, call, say
from plimsoll.tools import CallOutcome, ToolResult

HUGE = "".join(f"line {n}: the value is {n * 7919 % 10007}\n" for n in range(40_000)) + "needle at the end"
ASK = {"role": "user", "content": "Read it."}


def outcome(text, full=None, parts=(), id="c1"):
    call = {"id": id, "type": "function", "function": {"name": "dump", "arguments": "{}"}}
    return CallOutcome(call, ToolResult(text, full=full, parts=parts))


def quiet(event):
    return None


async def spoken(server, path, *said, window=32_000):
    events = []
    async with equipped(server, path, window=window, tools=[tool("dump", lambda: HUGE)]) as conversation:
        for text in said:
            await conversation.say({"role": "user", "content": text}, events.append)
        id, archive = conversation.session.id, conversation.archive
        stored = [one.message for one in await archive.messages(id)]
        items = [item.message for item in await archive.items(id)]
        found = await archive.search(SearchQuery("needle at the end"))
        return events, stored, items, list(conversation.agent.view), await archive.compactions(id), found


def test_the_whole_is_in_the_log_and_the_model_sees_head_tail_size_and_handle(tmp_path):
    with ScriptedServer([call("dump"), say("Read.")], model="claude-sonnet-5", window=32_000) as server:
        events, stored, items, view, compactions, found = asyncio.run(spoken(server, tmp_path, "Read it."))
        sent = text_of(server.requests[-1].request.messages[-1])
    whole = next(message for message in stored if message["role"] == "tool")
    assert text_of(whole) == HUGE
    assert sent.startswith("line 0:")
    assert "needle at the end" in sent
    assert sent.endswith(f"[{len(HUGE):,} characters in all; full text under handle {handle_of(whole)}]")
    assert estimate_tokens(sent) <= largest_result(32_000)
    assert items == view
    assert [hit.role for hit in found.hits] == ["tool"]
    assert compactions == [event for event in events if isinstance(event, Compacted)] == []


def test_the_model_reads_the_rest_page_by_page_to_the_last_character(tmp_path):
    read = []

    def reading(request):
        last = request.messages[-1]
        if last["role"] == "user":
            return call("dump")
        text = text_of(last)
        if text.startswith("{"):
            page = json.loads(text)
            read.append(page["text"])
            return call("recall", handle=handle, offset=page["next"]) if page["next"] else say("All read.")
        return call("recall", handle=handle, offset=len(HUGE) - 20_000)

    handle = handle_of({"content": HUGE})
    with ScriptedServer(reading, model="claude-sonnet-5", window=64_000) as server:
        asyncio.run(spoken(server, tmp_path, "Read it.", window=64_000))
    assert len(read) >= 3
    assert "".join(read) == HUGE[-20_000:]


@pytest.mark.rewrites_history("an undone compaction brings the earlier view back, which is what is tested")
def test_undo_returns_past_large_results_to_before_the_last_compaction(tmp_path):
    async def run(server):
        async with equipped(
            server, tmp_path, window=64_000, tools=[tool("dump", lambda: HUGE)]
        ) as conversation:
            for n in range(14):
                await conversation.say({"role": "user", "content": f"{n} " + "word " * 500}, quiet)
            before = list(conversation.agent.view)
            event = await conversation.compress(quiet)
            await conversation.say(ASK, quiet)
            since = conversation.agent.view[-4:]
            await conversation.undo()
            return before, event, since, list(conversation.agent.view)

    def answer(request):
        return call("dump") if text_of(request.messages[-1]) == "Read it." else say("Good. " * 200)

    with ScriptedServer(answer, model="claude-sonnet-5", window=64_000) as server:
        before, event, since, undone = asyncio.run(run(server))
    assert event.outcome == "compacted"
    assert undone == [*before, *since]
    assert validate(undone) == []
    assert estimate_messages_tokens_rough(undone[-4:]) < 20_000


def test_a_pinned_large_result_keeps_its_form_and_hinders_no_compaction(tmp_path):
    async def run(server):
        async with equipped(
            server, tmp_path, window=64_000, tools=[tool("dump", lambda: HUGE)]
        ) as conversation:
            await conversation.say(ASK, quiet)
            await conversation.pin(4)
            shown = conversation.agent.view[3]
            for n in range(14):
                await conversation.say({"role": "user", "content": f"{n} " + "word " * 500}, quiet)
            event = await conversation.compress(quiet)
            return shown, event, list(conversation.agent.view)

    def answer(request):
        return call("dump") if text_of(request.messages[-1]) == "Read it." else say("Good. " * 200)

    with ScriptedServer(answer, model="claude-sonnet-5", window=64_000) as server:
        shown, event, view = asyncio.run(run(server))
    assert event.outcome == "compacted"
    assert shown in view


def test_what_a_compaction_clears_or_cuts_of_a_stub_names_the_handle_of_the_whole():
    results = results_of([outcome(HUGE)], 32_000)
    asked = {"role": "assistant", "content": None, "tool_calls": [dict(outcome("").call)]}
    _, cleared = prune_old_tool_results([ASK, asked, *results.seen, ASK], 0, 3)
    assert [one.handle for one in cleared] == [handle_of(results.whole[0])]
    assert text_of(shorten(results.seen[0], 300)).endswith(f"under handle {handle_of(results.whole[0])}]")


def test_what_a_tool_shortened_itself_is_stored_whole():
    results = results_of([outcome("head … tail", full="head and much more and tail")], 200_000)
    assert text_of(results.whole[0]) == "head and much more and tail"
    assert text_of(results.seen[0]).startswith(
        "head … tail\n[27 characters in all; full text under handle h:"
    )


RECORDS = [{"id": n, "name": f"ship {n}"} for n in range(9_000)]
TABLE = "id,name\n" + "".join(f"{n},ship {n}\n" for n in range(9_000))
CODE = "".join(f"def berth_{n}(ship):\n    return {n}\n\n" for n in range(9_000))


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        (
            json.dumps(RECORDS),
            '[json, {size} characters, 1 lines]\n[9,000 × {{"id": 0, "name": "ship 0"}}]\n\n[{{',
        ),
        (
            TABLE,
            "[table, {size} characters, 9,002 lines]\n9,000 rows: id, name\nfirst row: 0,ship 0\n\nid,name",
        ),
        (CODE, "[code, {size} characters, 27,001 lines]\n1: def berth_0(ship):\n4: def berth_1(ship):\n"),
    ],
)
def test_what_has_a_shape_is_shown_with_it_in_front_of_head_and_tail(text, begins):
    shown = text_of(results_of([outcome(text)], 32_000).seen[0])
    assert shown.startswith(begins.format(size=f"{len(text):,}"))
    assert text[-80:].strip() in shown
    assert estimate_tokens(shown) <= largest_result(32_000)


def test_what_a_tool_shortened_itself_gets_the_shape_of_the_whole_in_front():
    results = results_of([outcome("the first ships …", full=TABLE)], 32_000)
    shown = text_of(results.seen[0])
    assert "9,000 rows: id, name" in shown
    assert "\n\nthe first ships …\n[" in shown


def test_images_next_to_a_large_text_stay():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    results = results_of([outcome("word " * 50_000, parts=(picture,))], 32_000)
    assert results.seen[0]["content"][1] == picture
    assert results.whole[0]["content"][0]["text"] == "word " * 50_000


@given(
    sizes=st.lists(st.integers(0, 60_000), min_size=1, max_size=8),
    window=st.integers(4_000, 400_000),
    letter=st.sampled_from(["word ", "語", '{"a": 1}\n', "a,b\n", "def a():\n"]),
)
def test_no_result_takes_more_than_its_share_and_all_together_half(sizes, window, letter):
    outcomes = [outcome((letter * size)[:size] or "-", id=f"c{n}") for n, size in enumerate(sizes)]
    results = results_of(outcomes, window)
    tokens = [estimate_message_tokens(message) for message in results.seen]
    overhead = 80  # a message's own frame
    assert all(one <= min(window // 4, MAX_TOKENS) + overhead for one in tokens)
    assert sum(tokens) <= window // 2 + overhead * len(tokens)
    assert [text_of(m) for m in results.whole] == [o.result.text for o in outcomes]


@given(
    text=st.text(st.sampled_from('ab \n"\\語😀\x00'), max_size=3_000),
    most=st.integers(64, 4_000),
)
def test_pages_join_to_the_whole_text_whatever_the_script_and_the_room(text, most):
    read, offset = "", 0
    while offset is not None:
        page = json.loads(page_of(text, offset, most, 30_000))
        read += page["text"]
        offset = page["next"]
    assert read == text
