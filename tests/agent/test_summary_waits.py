"""A turn never hangs on the summary model, over a real wire and on a real archive."""

import asyncio
import threading
from pathlib import Path

from conversing import MODEL, connection_to, conversing

from plimsoll.agent import Compacted, CompactionRules, Notice, SummaryProgress
from plimsoll.models import card_for
from plimsoll.providers import Retries
from plimsoll.providers.auxiliary import Auxiliary, Candidate
from plimsoll.testing.scripted_server import ScriptedServer, fault, say

SUMMARY = "## Goal\nTalk about words.\n## Progress\n### Done\nMany were said.\n"
RULES = CompactionRules(background=False)


def is_summary_request(request):
    return "## Critical Context" in str(request.messages[-1]["content"])


def writer_at(server, **options):
    connection = connection_to(server)
    candidate = Candidate(connection.client.endpoint, card_for(MODEL), 200_000, "configured")
    return Auxiliary([candidate], home=Path("/nonexistent"), retries=Retries(first_wait=0.001), **options)


async def talk(server, path, writer, until, heard=lambda event, conversation: None):
    """Turns until an event of a kind has come; all events."""
    events = []
    async with conversing(server, path, window=8_000, summarizer=writer, rules=RULES) as conversation:

        def emit(event):
            events.append(event)
            heard(event, conversation)

        while not [event for event in events if isinstance(event, until)]:
            await conversation.say({"role": "user", "content": "word " * 150}, emit)
    return events


def test_a_turn_continues_without_a_summary_model_that_hangs(tmp_path):
    def answer(request):
        return fault("hang") if is_summary_request(request) else say("word " * 150)

    with ScriptedServer(answer, model=MODEL) as server, writer_at(server, idle=0.05) as writer:
        events = asyncio.run(talk(server, tmp_path, writer, Compacted))
    (done,) = [event.event for event in events if isinstance(event, Compacted)]
    assert done.outcome == "compacted"
    assert done.ledger["degraded"] is True
    notices = [event.sentence for event in events if isinstance(event, Notice)]
    assert [one for one in notices if "auxiliary.compression.idle_timeout" in one]


def test_a_person_continues_without_a_summary_that_is_being_written(tmp_path):
    released = threading.Event()

    def answer(request):
        if is_summary_request(request):
            released.wait(30)
            return say(SUMMARY)
        return say("word " * 150)

    def skip(event, conversation):
        if isinstance(event, SummaryProgress):
            conversation.agent.compactor.skip_summary()

    with ScriptedServer(answer, model=MODEL) as server, writer_at(server, idle=600.0) as writer:
        try:
            events = asyncio.run(talk(server, tmp_path, writer, Compacted, skip))
        finally:
            released.set()
    (done,) = [event.event for event in events if isinstance(event, Compacted)]
    assert done.outcome == "compacted"
    assert any("the user continued without" in step for step in done.ledger["steps"])
    assert not [event for event in events if isinstance(event, Notice)]


def test_a_person_who_waits_sees_how_far_the_summary_is(tmp_path):
    def answer(request):
        return say(SUMMARY) if is_summary_request(request) else say("word " * 150)

    with ScriptedServer(answer, model=MODEL) as server, writer_at(server, idle=600.0) as writer:
        events = asyncio.run(talk(server, tmp_path, writer, Compacted))
    told = [event.characters for event in events if isinstance(event, SummaryProgress)]
    assert told[0] == 0
    assert told == sorted(told)
    assert told[-1] > 0
    (done,) = [event.event for event in events if isinstance(event, Compacted)]
    assert done.ledger["summary"] == "model"
