"""From the beginning of a session to its end, as the engine and the archive are told."""

import asyncio
import threading

from conversing import connection_to
from equipped import Plain, equipped

from plimsoll.agent import Compacted, CompactionRules, SummaryAccount
from plimsoll.context import ContextCompressor
from plimsoll.dialects import Usage
from plimsoll.models import card_for
from plimsoll.testing.scripted_server import ScriptedServer, say

MODEL = "claude-sonnet-5"
SUMMARY = "## Goal\nlook things up\n## Progress\n### Done\nlooked up many\n"


def quiet(event):
    return None


def ask(n):
    return {
        "role": "user",
        "content": f"{n}: please edit src/app{n}.py. Never use port 80{n}. " + "word " * 300,
    }


class Writer:
    """A summary model that tells an account what it used; `gate` holds it back."""

    context_length = 100_000

    def __init__(self, gate=None, account=None):
        self.gate, self.asked = gate, threading.Event()
        self.account = account or SummaryAccount()

    def summarize(self, prompt, max_tokens):
        self.asked.set()
        if self.gate:
            self.gate.wait(60)
        used = Usage(prompt_tokens=2_000, completion_tokens=100, total_tokens=2_100)
        self.account.add(card_for(MODEL), used)
        return SUMMARY


class Recording(Plain):
    def __init__(self):
        self.told = []

    def on_session_start(self, session_id, **kwargs):
        self.told.append(("start", kwargs["model"], kwargs["context_length"]))

    def on_session_end(self, session_id, messages):
        self.told.append(("end", len(messages)))

    def on_session_reset(self):
        self.told.append(("reset",))

    def update_model(self, model, context_length, base_url="", api_key="", provider="", api_mode=""):
        self.told.append(("model", model, context_length, base_url, api_key, provider, api_mode))
        super().update_model(model, context_length)


def test_the_engine_hears_of_a_real_end_and_not_of_a_closed_window(tmp_path):
    engine = Recording()

    async def run(server):
        async with equipped(server, tmp_path, engine=engine) as conversation:
            await conversation.say(ask(1), quiet)
            id = conversation.session.id
        assert [one[0] for one in engine.told] == ["model", "start"]
        async with equipped(server, tmp_path, engine=engine, session=id) as conversation:
            await conversation.end(reset=True)

    with ScriptedServer([say("ok")], model=MODEL) as server:
        asyncio.run(run(server))
        url = server.anthropic_url
    assert engine.told[0] == ("model", MODEL, 8_000, url, "any", "anthropic", "anthropic_messages")
    assert engine.told[1] == ("start", MODEL, 8_000)
    assert engine.told[-2:] == [("end", 3), ("reset",)]


def test_switching_the_model_notifies_the_engine_discards_what_is_prepared_and_changes_who_writes(tmp_path):
    gate = threading.Event()
    before, after = Writer(gate), Writer()
    engine = ContextCompressor(MODEL, 20_000, summarizer=before)

    async def run(server):
        events = []
        rules = CompactionRules(background=True)
        async with equipped(
            server, tmp_path, engine=engine, rules=rules, summary_model="one"
        ) as conversation:
            n = 0
            while not before.asked.is_set():
                await conversation.say(ask(n := n + 1), events.append)
            prepared = conversation.agent.compactor._prepared
            await conversation.switch_model(connection_to(server), events.append, (after, "two"))
            gate.set()
            assert prepared.task.cancelled()
            window = engine.context_length
            # The window is the other model's; a small one, so that compaction is soon due.
            engine.update_model(MODEL, 16_000)
            while not any(isinstance(event, Compacted) for event in events):
                await conversation.say(ask(n := n + 1), events.append)
            return window, [event.event for event in events if isinstance(event, Compacted)]

    with ScriptedServer(lambda request: say("ok"), model=MODEL) as server:
        window, (event, *_) = asyncio.run(run(server))
    assert window == card_for(MODEL).prompt_limit
    assert engine.summarizer is after
    assert event.model == "two"


def test_an_event_has_model_money_time_and_what_became_of_the_facts(tmp_path):
    async def run(server):
        writer = Writer()
        engine = ContextCompressor(MODEL, 64_000, summarizer=writer)
        async with equipped(
            server, tmp_path, engine=engine, summary_model="writer", account=writer.account
        ) as conversation:
            for n in range(24):
                await conversation.say(ask(n), quiet)
            await conversation.compress(quiet)
            id = conversation.session.id
            (event,) = await conversation.archive.compactions(id)
            return event, await conversation.archive.usage(id), await conversation.archive.nodes(id)

    with ScriptedServer(lambda request: say("ok " * 30), model=MODEL) as server:
        event, usage, nodes = asyncio.run(run(server))
    assert (event.outcome, event.model) == ("compacted", "writer")
    bill = [one for one in usage if one.purpose == "summary"]
    assert event.money == sum(one.money for one in bill) > 0
    assert event.waited >= event.seconds > 0
    assert event.ledger["summary"] == "model"
    assert event.ledger["constraints"]["had"] >= event.ledger["constraints"]["kept"] >= 0
    assert [(node.model, node.degraded) for node in nodes] == [("writer", False)]


def test_a_summary_that_no_model_wrote_although_one_should_is_marked(tmp_path):
    class Failing(Writer):
        def summarize(self, prompt, max_tokens):
            raise RuntimeError("no answer")

    async def run(server):
        engine = ContextCompressor(MODEL, 64_000, summarizer=Failing())
        async with equipped(server, tmp_path, engine=engine, summary_model="writer") as conversation:
            for n in range(24):
                await conversation.say(ask(n), quiet)
            event = await conversation.compress(quiet)
            return event, await conversation.archive.nodes(conversation.session.id)

    with ScriptedServer(lambda request: say("ok " * 30), model=MODEL) as server:
        event, (node,) = asyncio.run(run(server))
    assert (event.model, event.money, node.degraded) == ("", None, True)


def test_by_hand_there_is_nothing_to_compress_in_a_short_conversation(tmp_path):
    async def run(server):
        events = []
        async with equipped(server, tmp_path) as conversation:
            for n in range(3):
                await conversation.say(ask(n), quiet)
            before = list(conversation.agent.view)
            event = await conversation.compress(events.append)
            assert conversation.agent.view == before
            return event, events

    with ScriptedServer(lambda request: say("ok"), model=MODEL) as server:
        event, events = asyncio.run(run(server))
    assert event.outcome == "refused"
    assert event.reason.startswith("nothing to compact yet (7 messages, ")
    assert events == [Compacted(event)]
