"""Warm summaries: the exact conversation and one instruction, read at the cache price where that is cheaper."""

import asyncio

import pytest
from auxiliary_conversations import GOOD, auxiliary, candidate, ships

from plimsoll import ContextCompressor, apply_anthropic_cache_control, validate
from plimsoll.caching import choose_summary, without_markers
from plimsoll.dialects import ChatRequest
from plimsoll.models import card_for
from plimsoll.providers import Client
from plimsoll.testing.scripted_server import Clock, ScriptedServer, fault, say

SONNET, HAIKU = "claude-sonnet-4-5", "claude-haiku-4-5"
TOOLS = (
    {
        "type": "function",
        "function": {"name": "bash", "description": "Run.", "parameters": {"type": "object"}},
    },
)
NUMBERS = {"cached_tokens": 90_000, "fresh_tokens": 1_000, "cold_tokens": 60_000, "output_tokens": 1_500}


def answer(request):
    return say(GOOD if "Use exactly these headings" in str(request.messages[-1]["content"]) else "Noted.")


def asked(server, endpoint, turns=4):
    """A few turns of a long conversation with the main model: the view, and the last request with its reply."""

    async def converse():
        view = ships(100, 700)[:-1]
        async with Client(endpoint) as client:
            for turn in range(turns):
                view = [*view, {"role": "user", "content": f"And ship {turn}?"}]
                marked = apply_anthropic_cache_control(view, native_anthropic=endpoint.dialect == "anthropic")
                request = ChatRequest(endpoint.model, tuple(marked), TOOLS, max_tokens=1_000)
                reply = await client.complete(request)
                view = [*view, reply.message]
        return [*view, {"role": "user", "content": "And the last one?"}], request, reply

    return asyncio.run(converse())


class Harbour:
    """A main model, its cheap sibling, the auxiliary over both, on one clock; a few turns have been taken."""

    def __init__(self, server, dialect="anthropic"):
        names = (SONNET, HAIKU) if dialect == "anthropic" else (f"anthropic/{SONNET}", f"anthropic/{HAIKU}")
        self.server = server
        self.main, self.cheap = (
            candidate(server, names[0], dialect, "main"),
            candidate(server, names[1], dialect),
        )
        self.writer = auxiliary(self.cheap, self.main, main=self.main, clock=server.clock.now)
        self.view, self.request, reply = asked(server, self.main.endpoint)
        self.writer.sent(self.request, reply.usage)
        self.turns = len(server.requests)

    def compacted(self, view=None):
        engine = ContextCompressor(context_length=200_000, protect_last_n=4, summarizer=self.writer)
        result = engine.compress(view or self.view)
        assert validate(result) == []
        return engine.last_report

    @property
    def summaries(self):
        return self.server.requests[self.turns :]


@pytest.fixture(params=["anthropic", "openai"])
def harbour(request):
    with ScriptedServer(answer, clock=Clock(lambda: 0.0)) as server:
        made = Harbour(server, request.param)
        with made.writer:
            yield made


def test_while_the_cache_is_warm_the_summary_is_read_from_it(harbour):
    report = harbour.compacted()
    assert report.summary_source == "model"
    (summary,) = harbour.summaries
    assert summary.request.model.endswith(SONNET)
    assert summary.bill.read >= 0.9 * summary.bill.prompt_tokens
    assert summary.bill.written == 0
    cold = summary.bill.prompt_tokens * card_for(SONNET).prices.input / 1e6
    assert summary.bill.input_money <= 0.25 * cold


def test_the_warm_request_extends_the_last_one_byte_for_byte(harbour):
    harbour.compacted()
    (summary,), last = harbour.summaries, harbour.server.requests[harbour.turns - 1]
    assert summary.body.get("tools") == last.body.get("tools")
    assert summary.body.get("system") == last.body.get("system")
    assert summary.body["messages"][: len(last.body["messages"])] == last.body["messages"], "markers included"
    *_, instruction = summary.request.messages
    assert "from message 4 (user, which begins “Ship 0 came in.”)" in str(instruction["content"])
    assert "Do not go on with the work" in str(instruction["content"])


def test_when_the_cache_has_expired_the_cheap_model_reads_excerpts(harbour):
    harbour.server.clock.advance(301)
    assert harbour.compacted().summary_source == "model"
    assert {one.request.model.rpartition("/")[2] for one in harbour.summaries} == {HAIKU}
    assert all(one.bill.read == 0 for one in harbour.summaries)


def test_a_conversation_that_is_not_what_was_sent_is_never_asked_warm(harbour):
    other = [*harbour.view]
    other[4] = {**other[4], "content": "Something else was said."}
    assert harbour.compacted(other).summary_source == "model"
    assert all(one.request.model.endswith(HAIKU) for one in harbour.summaries)


@pytest.mark.parametrize("wrong", [say("No headings here."), fault("tool_call"), fault(400)])
def test_where_the_warm_way_fails_the_ordinary_one_is_used(harbour, wrong):
    harbour.server.inject(wrong)
    assert harbour.compacted().summary_source == "model"
    models = [one.request.model.rpartition("/")[2] for one in harbour.summaries]
    assert models[0] == SONNET
    assert models[-1] == HAIKU


def test_a_request_without_markers_was_not_cached(harbour):
    plain = ChatRequest(SONNET, tuple(without_markers(harbour.request.messages)), TOOLS)
    harbour.writer.sent(plain)
    harbour.compacted()
    assert all(one.request.model.endswith(HAIKU) for one in harbour.summaries)


@pytest.mark.parametrize(
    ("main", "cheap", "changes", "way"),
    [
        ("claude-sonnet-4.5", "claude-sonnet-4.5", {}, "warm"),
        ("claude-sonnet-4.5", "claude-haiku-4.5", {}, "warm"),
        ("claude-sonnet-4.5", "claude-haiku-4.5", {"age": 299.0}, "cold"),
        ("claude-sonnet-4.5", "claude-haiku-4.5", {"age": 400.0, "lifetime": 3_600.0}, "warm"),
        ("claude-opus-4.1", "claude-haiku-5.5", {}, "cold"),
        ("claude-sonnet-4.5", "claude-haiku-4.5", {"cold_tokens": 5_000}, "cold"),
        ("claude-sonnet-4.5", "claude-haiku-4.5", {"cached_tokens": 0}, "cold"),
        ("smollm2", "smollm2", {}, "warm"),
        ("claude-sonnet-4.5", "smollm2", {}, "cold"),
    ],
)
def test_prices_decide(main, cheap, changes, way):
    numbers = {**NUMBERS, "age": 30.0, "lifetime": 300.0, **changes}
    choice = choose_summary(card_for(main), card_for(cheap), **numbers)
    assert choice.way == way
    assert choice.sentence.startswith(card_for(main if way == "warm" else cheap).name)


@pytest.mark.parametrize("model", ["claude-sonnet-4.5", "claude-opus-5.5"])
def test_the_input_of_a_warm_summary_costs_at_most_a_quarter_of_a_cold_one(model):
    card = card_for(model)
    numbers = {**NUMBERS, "output_tokens": 0, "cold_tokens": 91_000, "lifetime": 300.0, "age": 1.0}
    choice = choose_summary(card, card, **numbers)
    assert choice.warm <= 0.25 * choice.cold


def test_a_conversation_with_too_many_images_is_summarised_from_an_excerpt():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400}}
    with ScriptedServer(answer, clock=Clock()) as server:
        harbour = Harbour(server)
        with harbour.writer as writer:
            assert writer.warm(harbour.view, 60_000, 1_000) is not None
            pictures = [{"role": "user", "content": [image] * 101}]
            assert writer.warm([*harbour.view, *pictures], 60_000, 1_000) is None
