"""How a conversation is recognised: pure rules over chains, threads and sights."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.archive import OPERATOR, ViewItem
from plimsoll.dialects import ANTHROPIC
from plimsoll.gateway.dropin.chain import chain_of, root_of
from plimsoll.gateway.dropin.client_conversation import ClientConversation
from plimsoll.gateway.dropin.compacted_view import CompactedView, make_compacted_view
from plimsoll.gateway.dropin.known_conversations import KnownConversations
from plimsoll.gateway.dropin.usage_watch import UsageWatch
from plimsoll.models import estimate_message_tokens

ROOT = root_of(b"caller", "anthropic")
texts = st.text(min_size=1, max_size=12).filter(str.strip)
blocks = texts.map(lambda text: {"type": "text", "text": text})
contents = texts | st.lists(blocks, min_size=1, max_size=3)
roles = st.sampled_from(["user", "assistant"])
messages = st.builds(lambda role, content: {"role": role, "content": content}, roles, contents)
histories = st.lists(messages, min_size=1, max_size=12)


def marked(message: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    parts[-1] = {**parts[-1], "cache_control": {"type": "ephemeral"}}
    return {**message, "content": parts}


@given(histories, st.data())
def test_markers_and_the_two_ways_to_write_a_text_do_not_change_a_chain(
    history: list[dict[str, Any]], data: st.DataObject
) -> None:
    moved = [marked(message) if data.draw(st.booleans()) else message for message in history]
    assert chain_of(ROOT, history) == chain_of(ROOT, map(ANTHROPIC.unmarked, moved))


@given(histories, histories)
def test_chains_agree_exactly_as_far_as_the_histories_do(one: list[Any], other: list[Any]) -> None:
    def plain(message: dict[str, Any]) -> str:
        return json.dumps({**marked(message)}, sort_keys=True)

    shared = 0
    while shared < min(len(one), len(other)) and plain(one[shared]) == plain(other[shared]):
        shared += 1
    first, second = chain_of(ROOT, one), chain_of(ROOT, other)
    assert first[:shared] == second[:shared]
    assert set(first[shared:]).isdisjoint(second[shared:])


def test_callers_dialects_and_names_have_chains_of_their_own() -> None:
    roots = {
        root_of(b"one", "openai"), root_of(b"two", "openai"), root_of(b"one", "anthropic"),
        root_of(b"one", "openai", b"name"), root_of(b"one", "openai", b"other"),
    }  # fmt: skip
    assert len(roots) == 5


@given(st.lists(histories, min_size=1, max_size=5), histories)
def test_the_longest_known_beginning_is_found(known: list[list[Any]], asked: list[Any]) -> None:
    threads = KnownConversations(100, 10**9, lambda _thread: None)
    for history in known:
        thread = ClientConversation(ANTHROPIC, (), OPERATOR)
        thread.extend(history, chain_of(ROOT, history))
        threads.keep(thread, 1)
    chain = chain_of(ROOT, asked)
    longest = 0
    for history in known:
        other = chain_of(ROOT, history)
        longest = max(longest, sum(a == b for a, b in zip(chain, other, strict=False)))
    found = threads.find(chain)
    assert (found[1] if found else 0) == longest
    if found:
        assert found[0].chain[: found[1]] == chain[: found[1]]


@given(st.lists(st.tuples(histories, st.integers(1, 50)), max_size=30))
def test_what_is_remembered_stays_within_its_bounds(uses: list[tuple[list[Any], int]]) -> None:
    forgotten: list[ClientConversation] = []
    threads = KnownConversations(4, 100, forgotten.append)
    for history, weight in uses:
        thread = ClientConversation(ANTHROPIC, (), OPERATOR)
        thread.extend(history, chain_of(ROOT, history))
        threads.keep(thread, weight)
        assert len(threads) <= 4
        assert threads.memory_bytes <= 100
        assert threads.memory_bytes == sum(one.memory_bytes for one in threads.all())
        assert threads.find(chain_of(ROOT, history)) is not None
    assert len(forgotten) + len(threads) == len(uses)


@given(histories, st.data())
def test_a_fork_knows_the_shared_beginning_and_nothing_else(history: list[Any], data: st.DataObject) -> None:
    thread = ClientConversation(ANTHROPIC, (), OPERATOR)
    thread.extend(history, chain_of(ROOT, history))
    wire = data.draw(st.integers(0, len(history)))
    fork = thread.fork(wire)
    again = ClientConversation(ANTHROPIC, (), OPERATOR)
    again.extend(history[:wire], chain_of(ROOT, history[:wire]))
    assert (fork.chain, fork.ends, fork.log, fork.tokens) == (
        again.chain,
        again.ends,
        again.log,
        again.tokens,
    )


@given(histories, st.data())
def test_a_sight_sends_what_was_left_alone_as_the_client_has_it(
    history: list[Any], data: st.DataObject
) -> None:
    """Drop a run of messages for a summary: everything else is the client's own object, in its order."""
    thread = ClientConversation(ANTHROPIC, (), OPERATOR)
    thread.extend(history, chain_of(ROOT, history))
    first = data.draw(st.integers(0, len(thread.log)))
    last = data.draw(st.integers(first, len(thread.log)))
    items = [
        ViewItem(message, estimate_message_tokens(message), sequence=n + 1)
        for n, message in enumerate(thread.log)
    ]
    summary = ViewItem({"role": "user", "content": "[summary]"}, 3, node="n:1")
    kept = [*items[:first], summary, *items[last:]]
    compacted_view = make_compacted_view(
        kept, thread.ends, 0, len(thread.log), number=1, dialect=ANTHROPIC, model="claude-sonnet-4.5"
    )
    later = [*history, {"role": "assistant", "content": "more"}, {"role": "user", "content": "and more"}]
    for said in (history, later):
        sent = compacted_view.messages_for(said, ANTHROPIC)
        own = [message for message in sent if not any(message is one for one in said)]
        assert json.dumps(own).count("[summary]") == 1
        assert [m for m in sent if any(m is one for one in said)] == [*said[:first], *said[last:]]
    assert compacted_view.tokens == sum(item.tokens for item in kept[: len(compacted_view.messages)])


CALLS = [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
LOG: list[dict[str, Any]] = [
    {"role": "user", "content": "first"}, {"role": "assistant", "content": "answer"},
    {"role": "user", "content": "second"}, {"role": "assistant", "content": None, "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "c", "content": "a result"}, {"role": "user", "content": "and quickly"},
    {"role": "assistant", "content": "done"}, {"role": "user", "content": "third"},
]  # fmt: skip


def sight_through(through: int, whole: set[int], made_at: int = 0) -> CompactedView:
    return CompactedView(1, (), (), (), 0, through, through, (), frozenset(whole), made_at)


def test_a_view_serves_no_request_whose_newest_message_it_summarises() -> None:
    assert not sight_through(3, {0, 1}).serves(LOG[:3])
    assert sight_through(2, {0}).serves(LOG[:3])
    assert not sight_through(3, {0, 1}).serves(LOG[:2])


def test_a_view_serves_no_request_whose_results_it_shortened() -> None:
    assert not sight_through(5, {0, 1, 2, 3}).serves(LOG[:5])
    assert not sight_through(5, {0, 1, 2, 3}).serves(LOG[:6])  # the result still waits for an answer
    assert sight_through(5, {0, 1, 2, 3}).serves(LOG)


def test_a_view_serves_the_request_that_it_was_made_for_though_its_results_did_not_fit() -> None:
    assert sight_through(5, {0, 1, 2, 3}, made_at=5).serves(LOG[:5])
    assert sight_through(5, {0, 1, 2, 3}, made_at=5).serves(LOG[:6])
    assert sight_through(5, {0, 1, 2, 3}, made_at=5).shared_up_to(4) is None
    before = sight_through(4, {0, 1, 2, 3}, made_at=5).shared_up_to(4)
    assert before is not None
    assert before.made_at == 0


def test_a_view_is_given_up_where_its_summary_takes_later_replies_into_account() -> None:
    view = replace(sight_through(2, {0}, made_at=6), answered=4)
    assert view.shared_up_to(3) is None
    assert view.shared_up_to(4) is not None


def test_a_view_without_the_newest_request_serves_no_later_step_of_it() -> None:
    assert not sight_through(4, {0, 1}).serves(LOG[:5])
    assert sight_through(4, {0, 2}).serves(LOG[:5])


def test_a_reply_to_continue_is_at_the_end() -> None:
    assert not sight_through(7, {0, 2, 5}).serves(LOG[:7])
    assert sight_through(6, {0, 2, 5}).serves(LOG[:7])


@given(st.integers(1, 40))
def test_usage_is_read_from_a_stream_however_it_is_cut(size: int) -> None:
    stream = (
        b'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":7,'
        b'"cache_read_input_tokens":90,"output_tokens":1}}}\n\n'
        b'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"\\"usage\\""}}\n\n'
        b'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":12}}\n\n'
    )
    watch = UsageWatch(ANTHROPIC)
    for start in range(0, len(stream), size):
        watch.feed(stream[start : start + size])
    usage = watch.usage()
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cache_read_tokens) == (97, 12, 90)
