"""`gateway.recall`: a client's model reads back what a compaction removed, and the client does not notice."""

from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
from clients import http
from gateway_server import RunningGateway
from recalling import (
    FACT,
    LOOK,
    NAMES,
    QUESTION,
    STOCK,
    Upstream,
    gateway_settings,
    history,
    offered,
    recalled,
    results_in,
    running,
)

from plimsoll.dialects import ANTHROPIC, OPENAI, dialect_named
from plimsoll.gateway.dropin.recall_definition import NAME
from plimsoll.messages import call_name, handle_of, text_of, tool_calls
from plimsoll.models import estimate_tokens
from plimsoll.testing.prefix import broken_prefixes
from plimsoll.testing.scripted_server import call, fault, say, think


@pytest.fixture(scope="module", params=NAMES)
def upstream(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upstream]:
    with running(request.param, tmp_path_factory.mktemp(f"recall-{request.param}")) as one:
        yield one


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("client", NAMES)
def test_a_fact_that_only_the_archive_has_reaches_the_model_and_the_client_sees_one_answer(
    upstream: Upstream, client: str, stream: bool
) -> None:
    dialect, talk = dialect_named(client), history(f"{client} {stream}")
    _, (first,) = upstream.ask(dialect, talk[:2], stream)
    upstream.script.next = [think("Look it up.") + call(NAME, query="item-0417"), recalled]
    reply, asked = upstream.ask(dialect, talk, stream)
    assert text_of(reply.message) == f"There are {FACT}."
    assert not tool_calls(reply.message)
    assert reply.finish_reason == "stop"
    assert FACT not in str(asked[0].body)
    assert "h:" in str(asked[0].body) or NAME in str(asked[0].request.messages)
    assert [offered(one) for one in (first, *asked)] == [["look", NAME]] * 3
    assert reply.usage is not None
    assert reply.usage.prompt_tokens == sum(one.usage.prompt_tokens for one in asked)
    # The model calls the client's own tool in the same turn as the recall tool.
    both = think("Both.") + call(NAME, query="item-0417") + call("look", key="a")
    upstream.script.next = [both]
    talk = (*talk, reply.message, {"role": "user", "content": "Look again."})
    mixed, more = upstream.ask(dialect, talk, stream)
    assert [call_name(one) for one in tool_calls(mixed.message)] == ["look"]
    assert mixed.finish_reason == "tool_calls"
    result = {
        "role": "tool",
        "tool_call_id": tool_calls(mixed.message)[0]["id"],
        "name": "look",
        "content": "A.",
    }
    upstream.script.next = [recalled]
    talk = (*talk, mixed.message, result)
    ended, last = upstream.ask(dialect, talk, stream)
    assert text_of(ended.message) == f"There are {FACT}."
    assert results_in(last[0]) == [NAME, NAME, "look"]
    _, after = upstream.ask(dialect, (*talk, ended.message, {"role": "user", "content": "Thanks."}), stream)
    bodies = [one.body for one in (*asked, *more, *last, *after)]
    assert [str(found) for found in broken_prefixes(bodies)] == []
    assert FACT in str(after[0].body)


LOOK_UP = call(NAME, query="item-0417")


def test_an_answer_without_the_tool_reaches_the_client_byte_for_byte(tmp_path: Path) -> None:
    with running("openai", tmp_path) as upstream:
        with_tool = upstream.post(OPENAI, history("bytes")[:2], stream=True)
        off = {"x-plimsoll": "off", "authorization": "Bearer a-key"}
        body = OPENAI.encode_request(upstream.request(history("bytes")[:2], stream=True))
        plain = http().post(f"{upstream.gateway.openai_url}/chat/completions", json=body, headers=off)
        assert [offered(one) for one in upstream.server.requests] == [["look", NAME], ["look"]]
    # The tool is a part of the prompt that is billed.
    assert _pieces(with_tool.text) == _pieces(plain.text)


def _pieces(stream: str) -> list[str]:
    """The events without their ids and times, and without usage."""
    events = [
        line for line in stream.splitlines() if line.startswith("data: {") and '"choices":[]' not in line
    ]
    assert len(events) > 1
    return [event.partition('"model"')[2] for event in events]


@pytest.mark.rewrites_history("conversations with and without the tool begin with the same words")
def test_a_conversation_keeps_the_choice_with_which_it_began(tmp_path: Path) -> None:
    old, new = history("old"), history("new")
    with running("anthropic", tmp_path) as upstream:
        server = upstream.server
        upstream.ask(ANTHROPIC, old[:2], False)
        upstream.ask(ANTHROPIC, old[:4], False)
        with RunningGateway(gateway_settings(server, "anthropic", recall=False), tmp_path) as off:
            later = Upstream("anthropic", upstream.script, server, off)
            kept = later.ask(ANTHROPIC, old[:6], False)[1]
            begun = later.ask(ANTHROPIC, new[:2], False)[1]
            again = later.ask(ANTHROPIC, old[:2], False)[1]  # the same words, and another conversation
        stays = upstream.ask(ANTHROPIC, new[:4], False)[1]
        still = upstream.ask(ANTHROPIC, old[:8], False)[1]
    assert [offered(one) for one in (*kept, *begun, *again, *stays, *still)] == [
        ["look", NAME],
        ["look"],
        ["look"],
        ["look"],
        ["look", NAME],
    ]


@pytest.mark.rewrites_history("two callers begin alike, and one of them regenerates its answer")
def test_an_exchange_survives_a_restart_and_belongs_to_one_caller_and_one_answer(tmp_path: Path) -> None:
    talk = history("restart")
    with running("anthropic", tmp_path) as upstream:
        upstream.ask(ANTHROPIC, talk[:2], False)
        upstream.ask(ANTHROPIC, talk[:2], False, key="another-key")
        upstream.script.next = [LOOK_UP, recalled]
        reply, asked = upstream.ask(ANTHROPIC, talk, False)
        going_on = (*talk, reply.message, {"role": "user", "content": "Thanks."})
        upstream.gateway.stop()
        with RunningGateway(gateway_settings(upstream.server, "anthropic"), tmp_path) as again:
            later = Upstream("anthropic", upstream.script, upstream.server, again)
            (same,) = later.ask(ANTHROPIC, going_on, False)[1]
            assert broken_prefixes([asked[-1].body, same.body]) == []
            assert results_in(same) == [NAME]
            edited = (*talk, {"role": "assistant", "content": "Many."}, going_on[-1])
            assert results_in(later.ask(ANTHROPIC, edited, False)[1][0]) == []
            (other,) = later.ask(ANTHROPIC, going_on, False, key="another-key")[1]
            assert results_in(other) == []
            assert FACT in str(other.body)  # its own words, which say the number


@pytest.mark.rewrites_history("conversations of two callers begin with the same system prompt")
def test_handles_of_another_owner_and_unknown_ones_are_not_found(tmp_path: Path) -> None:
    told: list[str] = []

    def noted(request):
        told.append(text_of([m for m in request.messages if m["role"] == "tool"][-1]))
        return say("Ok.")

    with running("anthropic", tmp_path) as upstream:
        for key in ("one", "two"):
            upstream.ask(ANTHROPIC, history(key)[:2], False, key=key)
        upstream.ask(ANTHROPIC, history("one"), False, key="one")
        handle = handle_of({"content": STOCK})
        upstream.script.next = [call(NAME, handle=handle), noted, call(NAME), noted]
        upstream.ask(ANTHROPIC, history("two")[:4], False, key="two")
        upstream.script.next = [call(NAME, handle="h:0123456789"), noted, call(NAME, handle=handle), noted]
        upstream.ask(ANTHROPIC, (*history("one"), *history("one")[-2:]), False, key="one")
    assert told[0].startswith("Nothing has been removed")
    assert told[1].startswith("No content in this conversation")


@pytest.mark.rewrites_history("the client goes back and asks something else")
def test_a_branch_recalls_nothing_that_was_said_after_it_left(tmp_path: Path) -> None:
    told: list[str] = []

    def noted(request):
        told.append(text_of([m for m in request.messages if m["role"] == "tool"][-1]))
        return say("Ok.")

    talk, later = history("branch"), "The harbour code is 7731."
    answered = (*talk, {"role": "assistant", "content": "Ok."})
    after = (*answered, {"role": "user", "content": later}, {"role": "assistant", "content": "Ok."})
    with running("anthropic", tmp_path) as upstream:
        upstream.ask(ANTHROPIC, talk[:2], False)
        upstream.ask(ANTHROPIC, talk, False)
        upstream.ask(ANTHROPIC, (*after, {"role": "user", "content": "Go on."}), False)
        for arguments in ({"query": "harbour code"}, {"handle": handle_of({"content": later})}):
            upstream.script.next = [call(NAME, **arguments), noted]
            branch = (*answered, {"role": "user", "content": f"Which code? {arguments}"})
            upstream.ask(ANTHROPIC, branch, False)
        upstream.script.next = [call(NAME, query="item-0417"), noted]
        upstream.ask(ANTHROPIC, (*answered, {"role": "user", "content": "And the stock?"}), False)
    assert told[0] == "No message of this conversation matches 'harbour code'."
    assert told[1].startswith("No content in this conversation has the handle")
    assert FACT in told[2]


def test_rounds_and_tokens_are_limited(tmp_path: Path) -> None:
    with running("openai", tmp_path, recall_rounds=2, recall_tokens=300) as upstream:
        talk = history("limits")
        upstream.ask(OPENAI, talk[:2], False)
        upstream.script.next = [call(NAME, handle=handle_of({"content": STOCK}))] * 9
        for stream in (False, True):
            reply, asked = upstream.ask(OPENAI, (*talk, *talk[1:2] * stream), stream)
            assert (len(asked), reply.finish_reason, tool_calls(reply.message)) == (3, "stop", [])
        results = [text_of(m) for m in asked[-1].request.messages if m["role"] == "tool"]
        assert sum(map(estimate_tokens, results)) < 400
        assert "limit for recalled content" in results[-1]


def test_a_failure_in_a_later_round_ends_the_stream_in_the_clients_dialect(tmp_path: Path) -> None:
    with running("openai", tmp_path) as upstream:
        upstream.script.next = [say("Let me see.") + LOOK_UP, fault("server_error"), fault("server_error")]
        streamed = upstream.post(ANTHROPIC, history("fails")[:2], True)
        assert "Let me see." in streamed.text
        assert streamed.text.rstrip().splitlines()[-1].startswith('data: {"type":"error"')
        upstream.script.next = [LOOK_UP, fault("server_error")]
        assert upstream.post(ANTHROPIC, history("fails")[:2], False).status_code >= 500


def test_the_openai_sdk_gets_one_answer_and_its_own_calls_and_pays_for_all_rounds(tmp_path: Path) -> None:
    with (
        running("openai", tmp_path) as upstream,
        openai.OpenAI(base_url=upstream.gateway.openai_url, api_key="a-key", max_retries=0) as sdk,
    ):
        talk = list(history("sdk"))
        create = sdk.chat.completions.create
        create(model="gpt-4.1", messages=talk[:2], tools=[LOOK])
        before = len(upstream.server.requests)
        upstream.script.next = [LOOK_UP, recalled]
        answer = create(model="gpt-4.1", messages=talk, tools=[LOOK])
        assert answer.choices[0].message.content == f"There are {FACT}."
        assert answer.choices[0].message.tool_calls is None
        seen = [one for one in upstream.server.requests[before:] if one.request and one.request.tools]
        assert answer.usage.prompt_tokens == sum(one.usage.prompt_tokens for one in seen)
        talk += [
            answer.choices[0].message.model_dump(exclude_none=True),
            {"role": "user", "content": "Again."},
        ]
        upstream.script.next = [LOOK_UP + call("look", key="a"), recalled]
        with create(model="gpt-4.1", messages=talk, tools=[LOOK], stream=True) as stream:
            calls = [one for piece in stream for one in (piece.choices[0].delta.tool_calls or ())]
        assert [one.function.name for one in calls if one.function.name] == ["look"]
        arguments = "".join(one.function.arguments or "" for one in calls)
        made = {"id": calls[0].id, "type": "function", "function": {"name": "look", "arguments": arguments}}
        talk += [
            {"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": made["id"], "content": "A."},
        ]
        assert (
            create(model="gpt-4.1", messages=talk, tools=[LOOK]).choices[0].message.content
            == f"There are {FACT}."
        )


@pytest.mark.rewrites_history("the first compaction is what the test is about")
def test_the_cached_tools_and_system_prompt_survive_the_first_compaction(tmp_path: Path) -> None:
    system = {"role": "system", "content": "Be brief. " + "Follow the rules of the house. " * 400}
    with running("anthropic", tmp_path) as upstream:
        talk = (system, *history("cache")[1:])
        (before,) = upstream.ask(ANTHROPIC, talk[:2], False)[1]
        (compacted,) = upstream.ask(ANTHROPIC, talk, False)[1]
    assert before.body["tools"] == compacted.body["tools"]
    assert compacted.usage.prompt_tokens < 10_000
    assert compacted.usage.cache_read_tokens > 2_500
    assert QUESTION in str(compacted.body)
