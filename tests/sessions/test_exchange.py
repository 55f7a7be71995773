"""A message with a key is run once; a turn that a process left unfinished goes on or is ended in good order."""

import asyncio

import pytest
from equipped import equipped, tool

from message_builders import user
from plimsoll.agent import PROCESS_ENDED
from plimsoll.errors import AuthenticationFailed, UserError
from plimsoll.messages import text_of, validate
from plimsoll.testing.scripted_server import ScriptedServer, call, fault, say

MODEL = "claude-sonnet-5"
RAN = []


def quiet(event):
    return None


def look(**arguments):
    RAN.append(arguments)
    return "a ship"


def run_with(tmp_path, work, script, **more):
    RAN.clear()

    async def run(server):
        async with equipped(server, tmp_path, tools=[tool("look", look)], **more) as conversation:
            result = await work(conversation)
            stored = [one.message for one in await conversation.archive.messages(conversation.session.id)]
            assert validate(stored) == []
            return result, stored, len(server.requests)

    with ScriptedServer(script, model=MODEL) as server:
        return asyncio.run(run(server))


def test_a_message_that_is_sent_again_gets_the_answer_that_was_given(tmp_path):
    async def work(conversation):
        first = await conversation.exchange(user("Which ships?"), quiet, key="k1")
        await conversation.exchange(user("And then?"), quiet, key="k2")
        return first, await conversation.exchange(user("Which ships?"), quiet, key="k1")

    (first, again), stored, requests = run_with(tmp_path, work, [call("look"), say("Two."), say("None.")])
    assert requests == 3
    assert RAN == [{}]
    assert (
        (first.first, first.last, first.answer)
        == (again.first, again.last, again.answer)
        == (2, 5, stored[4])
    )
    assert (first.is_repeat, again.is_repeat) == (False, True)
    assert len(stored) == 7


def test_a_key_belongs_to_one_message(tmp_path):
    async def work(conversation):
        await conversation.exchange(user("Which ships?"), quiet, key="k1")
        with pytest.raises(UserError, match="has different content"):
            await conversation.exchange(user("Which boats?"), quiet, key="k1")

    _, stored, requests = run_with(tmp_path, work, [say("Two.")])
    assert (len(stored), requests) == (3, 1)


def test_messages_without_a_key_or_with_others_are_all_run(tmp_path):
    async def work(conversation):
        for key in ("", "", "k1", "k2"):
            await conversation.exchange(user("Again."), quiet, key=key)

    _, stored, requests = run_with(tmp_path, work, lambda request: say("Yes."))
    assert (len(stored), requests) == (9, 4)


def test_whoever_sends_a_message_learns_its_number_before_the_model_is_asked(tmp_path):
    async def work(conversation):
        heard = []
        with pytest.raises(AuthenticationFailed):
            await conversation.exchange(user("Which ships?"), quiet, on_stored=heard.append)
        return heard

    heard, stored, _ = run_with(tmp_path, work, [fault(401)])
    assert heard == [2]
    assert [text_of(one) for one in stored[1:]] == ["Which ships?", "[no answer: the request failed]"]


async def left_by_another(conversation, messages, key="k1"):
    """Messages as a process leaves them that is killed in the middle of a turn."""
    archive, id = conversation.archive, conversation.session.id
    first = await archive.append(id, messages[:1], turn=f"key.{key}")
    if messages[1:]:
        await archive.append(id, messages[1:], turn=f"after.{first.last}")


ASKED = [user("Which ships?")]
CALLED = [
    *ASKED,
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    },
]
RETURNED = [*CALLED, {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "a ship"}]


@pytest.mark.parametrize("messages", [ASKED, CALLED, RETURNED])
def test_a_turn_that_was_left_continues_when_its_message_is_sent_again(tmp_path, messages):
    async def work(conversation):
        await left_by_another(conversation, messages)
        return await conversation.exchange(ASKED[0], quiet, key="k1")

    exchange, stored, requests = run_with(tmp_path, work, [say("One ship.")])
    assert (text_of(exchange.answer), exchange.first, exchange.is_repeat, requests) == (
        "One ship.",
        2,
        False,
        1,
    )
    assert RAN == []  # a call of which nobody knows whether it was run is not run again
    assert [one["role"] for one in stored].count("user") == 1
    assert stored[-1] == exchange.answer


@pytest.mark.parametrize("messages", [ASKED, CALLED, RETURNED])
def test_a_turn_that_was_left_is_ended_before_the_next_message(tmp_path, messages):
    async def work(conversation):
        await left_by_another(conversation, messages)
        await conversation.exchange(user("Hello?"), quiet, key="k2")
        return await conversation.exchange(ASKED[0], quiet, key="k1")

    exchange, stored, requests = run_with(tmp_path, work, [say("Here.")])
    assert requests == 1
    assert [text_of(one) for one in stored[-3:]] == [PROCESS_ENDED, "Hello?", "Here."]
    assert (exchange.ending, text_of(exchange.answer), exchange.is_repeat) == (
        "interrupted",
        PROCESS_ENDED,
        True,
    )
    assert RAN == []
