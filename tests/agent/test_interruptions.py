"""Ctrl-C in the middle of an answer: what was streamed is kept, and history is valid for both dialects."""

import asyncio

import pytest
from equipped import equipped

from plimsoll.agent import INTERRUPTED, UNANSWERED, TextReceived
from plimsoll.errors import ProviderError
from plimsoll.messages import text_of, validate
from plimsoll.testing.scripted_server import ScriptedServer, call, fault, say

LONG = say("One two three four five six seven eight nine ten. " * 20)


async def stopped(server, path, when):
    """A turn that is stopped at an event, then another one; the stored messages and the view."""
    async with equipped(server, path) as conversation:
        turn = None

        def emit(event):
            if when(event):
                turn.cancel()

        turn = asyncio.create_task(conversation.say({"role": "user", "content": "Count."}, emit))
        with pytest.raises(asyncio.CancelledError):
            await turn
        broken_off = conversation.agent.view[-1]
        await conversation.say({"role": "user", "content": "Go on."}, lambda event: None)
        stored = [one.message for one in await conversation.archive.messages(conversation.session.id)]
        return broken_off, stored, list(conversation.agent.view)


def check(stored, view):
    assert stored == view
    assert validate(view) == validate(view, "anthropic") == []


def test_the_text_so_far_is_stored_and_marked(tmp_path):
    slow = fault("slow", between=0.02, then=LONG)
    with ScriptedServer([slow, say("Eleven.")], model="claude-sonnet-5") as server:
        last, stored, view = asyncio.run(
            stopped(server, tmp_path, lambda event: isinstance(event, TextReceived))
        )
        sent = server.requests[-1].request.messages
    assert text_of(last).startswith("One")
    assert text_of(last).endswith(f"\n\n{INTERRUPTED}")
    assert len(text_of(last)) < 900
    assert text_of(sent[-2]) == text_of(last)
    check(stored, view)


def test_calls_that_were_being_written_are_dropped(tmp_path):
    slow = fault("slow", between=0.02, then=say("I will look.") + call("recall", handle="h:" + "0" * 500))
    with ScriptedServer([slow, say("Eleven.")], model="claude-sonnet-5") as server:
        last, stored, view = asyncio.run(
            stopped(server, tmp_path, lambda event: isinstance(event, TextReceived))
        )
    assert "tool_calls" not in last
    assert text_of(last).endswith(INTERRUPTED)
    check(stored, view)


def test_an_answer_that_breaks_off_by_itself_is_kept_as_far_as_it_came(tmp_path):
    async def run(server):
        async with equipped(server, tmp_path) as conversation:
            with pytest.raises(ProviderError):
                await conversation.say({"role": "user", "content": "Count."}, lambda event: None)
            return conversation.agent.view

    with ScriptedServer([fault("cut", times=None, then=LONG)], model="claude-sonnet-5") as server:
        view = asyncio.run(run(server))
    assert text_of(view[-1]).startswith("One")
    assert text_of(view[-1]).endswith(UNANSWERED)
    check(view, view)
