"""The server bills as the cache simulator does, from the markers that are really on the wire."""

import threading

import pytest
from scripted_clients import ANTHROPIC_TOOL, CLAUDE, GPT, HI, OPENAI_TOOL, post, sdks

from plimsoll.caching import BlockChain, CacheSimulator, apply_anthropic_cache_control, breakpoints_in
from plimsoll.dialects import ChatRequest, Reply, Usage, anthropic
from plimsoll.models import card_for
from plimsoll.testing.scripted_server import Clock, ScriptedServer, say

MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
LONG = "A rule that the model should keep in mind at all times. " * 200


@pytest.fixture
def server():
    with ScriptedServer(lambda request: say("ok"), clock=Clock(lambda: 0.0)) as running:
        yield running


def usage(server, **more):
    response = post(server, "anthropic", **more)
    assert response.status_code == 200, response.text
    return response.json()["usage"]


def system(**marker):
    return [{"type": "text", "text": LONG, **marker}]


def test_what_was_marked_is_written_first_and_read_afterwards(server):
    first, second = usage(server, system=system(**MARK)), usage(server, system=system(**MARK))
    written = first["cache_creation_input_tokens"]
    assert written > 1024
    assert first["cache_read_input_tokens"] == 0
    assert first["cache_creation"] == {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0}
    assert second["cache_read_input_tokens"] == written
    assert second["cache_creation_input_tokens"] == 0
    assert first["input_tokens"] == second["input_tokens"] > 0, "what is cached is not counted as input"


def test_without_a_marker_nothing_is_cached(server):
    for _ in range(2):
        counted = usage(server, system=system())
        assert counted["cache_read_input_tokens"] == counted["cache_creation_input_tokens"] == 0


def test_entries_of_an_hour_are_distinguished(server):
    created = usage(server, system=system(**HOUR))["cache_creation"]
    assert created["ephemeral_1h_input_tokens"] > 0
    assert created["ephemeral_5m_input_tokens"] == 0


def test_an_entry_is_gone_when_its_time_has_passed(server):
    usage(server, system=system(**MARK))
    server.clock.advance(299)
    assert usage(server, system=system(**MARK))["cache_read_input_tokens"] > 0, "reading it renews it"
    server.clock.advance(301)
    assert usage(server, system=system(**MARK))["cache_read_input_tokens"] == 0


@pytest.mark.parametrize(
    "marked",
    [
        {"tools": [{**ANTHROPIC_TOOL, "description": LONG, **MARK}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": LONG, **MARK}]}]},
        {
            "messages": [
                *HI,
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "t", "name": "x", "input": {"a": LONG}, **MARK}],
                },
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]},
            ]
        },
        {
            "messages": [
                *HI,
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "x", "input": {}}]},
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "t", "content": LONG, **MARK}],
                },
            ]
        },
        {**MARK, "system": LONG},
    ],
    ids=["tool", "text", "tool_use", "tool_result", "automatic"],
)
def test_a_marker_counts_wherever_it_may_stand(server, marked):
    usage(server, **marked)
    assert usage(server, **marked)["cache_read_input_tokens"] > 1024


def test_the_automatic_marker_writes_for_as_long_as_it_says(server):
    hour = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    written = usage(server, system=LONG, **hour)["cache_creation"]
    assert written["ephemeral_1h_input_tokens"] > 1024
    assert written["ephemeral_5m_input_tokens"] == 0


def test_each_key_has_a_cache_of_its_own(server):
    usage(server, system=system(**MARK), headers={"x-api-key": "one"})
    assert usage(server, system=system(**MARK), headers={"x-api-key": "two"})["cache_read_input_tokens"] == 0


def test_a_conversation_is_billed_exactly_as_the_simulator_says(server):
    simulator, card, chain = CacheSimulator(), card_for(CLAUDE), BlockChain()
    messages = [{"role": "system", "content": LONG}]
    for turn in range(5):
        messages = [*messages, {"role": "user", "content": f"{turn}: {LONG}"}]
        marked = apply_anthropic_cache_control(messages, native_anthropic=True)
        body = anthropic.encode_request(ChatRequest(CLAUDE, tuple(marked), max_tokens=100))
        usage(server, **{key: body[key] for key in ("system", "messages")})
        prompt = chain.prompt(anthropic.decode_request(body).messages)
        expected = simulator.request(
            10.0 * turn, prompt, card, breakpoints_in(prompt, marked, True), first_token=1
        )
        billed = server.requests[-1].bill
        assert (billed.read, billed.write_5m, billed.plain) == (
            expected.read,
            expected.write_5m,
            expected.plain,
        )
        messages = [*messages, {"role": "assistant", "content": "ok"}]
    assert billed.read > billed.write_5m > 0


def test_what_a_request_writes_can_be_read_only_after_its_response_began():
    both_arrived = threading.Barrier(2, timeout=60)

    def wait_for_both(request):
        both_arrived.wait()
        return say("ok")

    with ScriptedServer(wait_for_both, clock=Clock(lambda: 0.0)) as server:
        threads = [
            threading.Thread(target=usage, args=(server,), kwargs={"system": system(**MARK)}) for _ in "ab"
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [request.bill.read for request in server.requests] == [0, 0]
        server.inject(say("third"))
        assert usage(server, system=system(**MARK))["cache_read_input_tokens"] > 0


def test_openais_automatic_cache_reads_in_steps_of_128(server):
    with sdks(server) as (client, _):
        asked = {"model": GPT, "messages": [{"role": "system", "content": LONG}, *HI]}
        first, second = (client.chat.completions.create(**asked).usage for _ in range(2))
    assert first.prompt_tokens_details.cached_tokens == 0
    cached = second.prompt_tokens_details.cached_tokens
    assert cached >= 1024
    assert cached % 128 == 0
    assert second.prompt_tokens == first.prompt_tokens > cached, "what is cached is part of the prompt"


def test_newer_openai_models_report_what_they_wrote(server):
    asked = {"model": "gpt-5.6", "messages": [{"role": "system", "content": LONG}, *HI]}
    first, second = (post(server, "openai", asked).json()["usage"]["prompt_tokens_details"] for _ in range(2))
    assert first["cache_write_tokens"] == second["cached_tokens"] > 1024


def test_claude_through_a_router_is_cached_by_its_markers(server):
    part = {"type": "text", "text": LONG, **MARK}
    asked = {"model": "anthropic/claude-sonnet-4.5", "messages": [{"role": "system", "content": [part]}, *HI]}
    first, second = (post(server, "openai", asked).json()["usage"] for _ in range(2))
    assert first["prompt_tokens_details"]["cache_write_tokens"] > 1024
    assert second["prompt_tokens_details"]["cached_tokens"] > 1024
    assert first["prompt_tokens"] == second["prompt_tokens"]


def test_another_tool_choice_misses_the_messages_but_not_the_tools(server):
    tool = {**ANTHROPIC_TOOL, "description": LONG, **MARK}
    said = [{"role": "user", "content": [{"type": "text", "text": LONG, **MARK}]}]
    usage(server, tools=[tool], messages=said)
    forced = usage(server, tools=[tool], messages=said, tool_choice={"type": "any"})
    assert forced["cache_read_input_tokens"] > 0 < forced["cache_creation_input_tokens"]


def test_the_usage_of_a_stream_is_that_of_the_same_answer_at_once(server):
    with sdks(server) as (o, a):
        asked = {"model": CLAUDE, "max_tokens": 50, "system": system(**MARK), "messages": HI}
        a.messages.create(**asked)
        at_once = a.messages.create(**asked).usage
        with a.messages.stream(**asked) as stream:
            streamed = stream.get_final_message().usage
        assert streamed.cache_read_input_tokens == at_once.cache_read_input_tokens > 0
        assert (streamed.input_tokens, streamed.output_tokens) == (
            at_once.input_tokens,
            at_once.output_tokens,
        )
        question = {"model": GPT, "messages": HI, "tools": [OPENAI_TOOL]}
        options = {"stream": True, "stream_options": {"include_usage": True}}
        chunks = list(o.chat.completions.create(**question, **options))
        assert chunks[-1].usage.total_tokens == o.chat.completions.create(**question).usage.total_tokens


def test_a_reply_with_a_usage_of_its_own_keeps_it():
    told = Usage(prompt_tokens=123_456, completion_tokens=7, total_tokens=123_463)
    reply = Reply({"role": "assistant", "content": "ok"}, "stop", told)
    with ScriptedServer([reply]) as server:
        assert post(server, "openai").json()["usage"]["prompt_tokens"] == 123_456
        assert server.requests[0].usage == told


def test_time_only_moves_on():
    clock = Clock(lambda: 5.0)
    readings = [clock.now() for _ in range(100)]
    assert sorted(set(readings)) == readings
    clock.advance(10)
    assert clock.now() >= 15
    with pytest.raises(ValueError, match="must not be negative"):
        clock.advance(-1)
