"""Tool schemas take a large part of the window: sizes still hold, and compactions stay few."""

import asyncio

import pytest
from conversing import LOOKUP, MODEL, answering, talk, wish

from plimsoll.agent import Compacted, CompactionRules, Compactor, Notice
from plimsoll.context import ContextCompressor
from plimsoll.context.lcm import LcmEngine
from plimsoll.models import estimate_messages_tokens_rough, estimate_tools_tokens
from plimsoll.testing.scripted_server import ScriptedServer
from plimsoll.tools import Definition, FunctionTool, ToolBox

WINDOW = 64_000
TOOLS = 35
TURNS = 20
FIELDS = 12  # of each tool's schema, so that all schemas together have about 20 000 tokens
ENGINES = pytest.mark.parametrize("kind", [ContextCompressor, LcmEngine])


def many_tools(sentences=180):
    """The tool that the scripted model calls, and others that only take room in every request."""

    async def look_up(arguments, _context):
        n = arguments["n"]
        return f"record {n}: " + f"value-{n} is stored on shelf {n % 7}. " * sentences

    async def not_called(_arguments, _context):
        raise AssertionError("the scripted model calls only look_up")

    def unused(n):
        fields = {
            f"field_{n}_{m}": {
                "type": "string",
                "description": f"What field {m} of register {n} must contain for a record to be listed, "
                "as text or as a pattern with wildcards.",
            }
            for m in range(FIELDS)
        }
        schema = {"type": "object", "properties": fields}
        return FunctionTool(Definition(f"search_{n}", f"Search register {n}.", schema), not_called)

    called = FunctionTool(Definition("look_up", "Look up a record.", LOOKUP), look_up, True)
    return ToolBox((called, *(unused(n) for n in range(TOOLS - 1))))


class Run:
    """A conversation with many tools: its compactions, what the server counted after each, and the notices."""

    def __init__(self, path, kind, threshold):
        self.compactions, self._sent_before = [], []
        with ScriptedServer(answering, model=MODEL, window=WINDOW) as server:

            def heard(event):
                if isinstance(event, Compacted):
                    self.compactions.append(event.event)
                    self._sent_before.append(len(server.requests))

            options = {"engine": kind(MODEL, WINDOW, threshold=threshold), "tools": many_tools()}
            events, stored, _, _ = asyncio.run(talk(server, path, TURNS, heard, **options))
            requests = list(server.requests)
        self.counted_after = [requests[n].usage.prompt_tokens for n in self._sent_before]
        self.notices = [event.sentence for event in events if isinstance(event, Notice)]
        self.refused = [request for request in requests if request.status != 200]
        first = requests[0]
        self.schemas = estimate_tools_tokens(first.request.tools)
        self.fixed = first.usage.prompt_tokens  # the least that is fixed: tools, system prompt, first request
        self.system, *said = (estimate_messages_tokens_rough([one.message]) for one in stored)
        self.growth = sum(said)


@ENGINES
def test_with_many_tools_compactions_are_few_and_their_sizes_are_what_the_provider_counts(tmp_path, kind):
    run = Run(tmp_path, kind, threshold=0.5)
    assert 18_000 < run.schemas < 22_000
    assert run.refused == []
    assert {event.outcome for event in run.compactions} == {"compacted"}
    headroom = (WINDOW // 2 - run.fixed) / 3
    assert 2 <= len(run.compactions) <= run.growth / headroom
    for before, after in zip(run.compactions, run.compactions[1:], strict=False):
        assert after.tokens_before - before.tokens_after >= headroom
    for event, counted in zip(run.compactions, run.counted_after, strict=True):
        assert event.tokens_after == pytest.approx(counted, rel=0.05)
        assert counted < WINDOW // 2
    assert run.notices == []


@ENGINES
def test_the_user_gets_one_notice_when_tools_alone_reach_the_threshold(tmp_path, kind):
    run = Run(tmp_path, kind, threshold=0.3)
    threshold = int(WINDOW * 0.3)
    assert run.fixed > threshold
    assert run.refused == []
    (told,) = run.notices
    assert f"reaches the threshold of {threshold:,}" in told
    assert f"overhead {run.schemas:,}, system prompt {run.system:,}," in told
    assert "compression.threshold" in told
    # Compaction starts halfway between the fixed part and the end of the window.
    assert {event.outcome for event in run.compactions} == {"compacted"}
    assert 1 <= len(run.compactions) <= run.growth / ((WINDOW - run.fixed) / 2 / 3)
    assert all(event.tokens_before >= (run.fixed + WINDOW) // 2 for event in run.compactions)
    for event, counted in zip(run.compactions, run.counted_after, strict=True):
        assert event.tokens_after == pytest.approx(counted, rel=0.05)


def test_the_user_gets_another_notice_when_another_model_has_a_smaller_window():
    engine = ContextCompressor(MODEL, WINDOW, threshold=0.3)
    compactor = Compactor(engine, CompactionRules(), lambda: 0.0)
    view = [{"role": "system", "content": "You look things up."}, {"role": "user", "content": wish(1)}]
    told = []
    for window in (WINDOW, WINDOW, WINDOW // 2, WINDOW // 2, WINDOW * 4):
        engine.update_model(MODEL, window)
        compactor.trigger.measure_fixed_part(view, 20_000)
        told += compactor.host.take_notices()
    first, second = told
    assert f"{int(WINDOW * 0.3):,}" in first
    assert f"{int(WINDOW * 0.3 / 2):,}" in second
