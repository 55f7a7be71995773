"""A summary prepared in the background still fits when the conversation has grown meanwhile."""

import asyncio
from types import SimpleNamespace

import pytest
from conversing import MODEL, connection_to, toolbox
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.agent import Compacted, CompactionRules, Compactor, compaction_record
from plimsoll.archive import OPERATOR
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.context import ContextCompressor
from plimsoll.context.lcm import LcmEngine
from plimsoll.messages import text_of, validate
from plimsoll.models import estimate_messages_tokens_rough
from plimsoll.sessions import Conversation, ConversationParts
from plimsoll.testing.scripted_server import ScriptedServer, say
from plimsoll.tools import ToolContext, Workspace

WINDOW = 24_000
THRESHOLD = WINDOW // 2
PASTE = "".join(f"line {n:04d}: the crane lifts crate {n}\n" for n in range(2_000))[:30_000]
WRITTEN = "Many crates were counted on the quay."


class Writer:
    """A summary model that answers at once and counts its requests."""

    context_length = 200_000

    def __init__(self):
        self.asked = 0

    def summarize(self, prompt, max_tokens):
        self.asked += 1
        return f"## Goal\nCount the crates.\n## Progress\n### Done\n{WRITTEN}\n"


async def until_prepared(compactor):
    """Wait for the work in the background."""
    await asyncio.wait({compactor._prepared.task})


def turn(n, words):
    return [
        {"role": "user", "content": f"Turn {n}: " + f"crate {n} " * words},
        {"role": "assistant", "content": f"Counted {n}: " + f"crate {n} " * words},
    ]


async def pasted(path, engine):
    """A conversation that is prepared, then gets a large paste."""
    events = []
    with ScriptedServer(lambda request: say("Counted. " + "crate " * 150), model=MODEL) as server:
        async with await SqliteStore.open(path / "archive.db") as store:
            archive = store.for_owner(OPERATOR)
            id = (await archive.create_session(model=MODEL, engine=engine.name)).id
            equipment = ConversationParts(
                connection=connection_to(server),
                engine=engine,
                rules=CompactionRules(background=True),
                toolbox=toolbox(),
                tool_context=ToolContext(Workspace(path)),
                clock=lambda: 0.0,
            )
            conversation = await Conversation.open(archive, id, "test", equipment)
            await conversation.begin("You count crates.")
            compactor = conversation.agent.compactor
            n = 0
            while compactor._prepared is None:
                n += 1
                await conversation.say(turn(n, 60)[0], events.append)
            assert not [one for one in events if isinstance(one, Compacted)]
            await until_prepared(compactor)
            asked = getattr(engine.summarizer, "asked", 0)
            await conversation.say({"role": "user", "content": PASTE}, events.append)
            sent = server.requests[-1]
            view = list(conversation.agent.view)
            await conversation.close()
    (done,) = [one.event for one in events if isinstance(one, Compacted)]
    later = getattr(engine.summarizer, "asked", 0) - asked
    return SimpleNamespace(event=done, sent=sent, view=view, asked_later=later)


@pytest.mark.parametrize("kind", [ContextCompressor, LcmEngine])
def test_a_paste_after_preparation_does_not_leave_the_conversation_above_the_threshold(tmp_path, kind):
    engine = kind(MODEL, WINDOW, summarizer=Writer())
    run = asyncio.run(pasted(tmp_path, engine))
    assert run.event.outcome == "compacted"
    assert run.event.tokens_after < THRESHOLD
    assert run.sent.usage.prompt_tokens < THRESHOLD
    assert run.asked_later == 0
    assert validate(run.view) == []
    assert any(PASTE in text_of(message) for message in run.view)


def test_the_prepared_summary_is_kept_by_the_refit(tmp_path):
    engine = ContextCompressor(MODEL, WINDOW, summarizer=Writer())
    run = asyncio.run(pasted(tmp_path, engine))
    assert any(WRITTEN in text_of(message) for message in run.view)
    assert run.event.ledger["summary"] == "model"
    assert engine.compression_count == 1
    assert run.sent.usage.prompt_tokens < THRESHOLD


def test_what_a_prepared_summary_kept_is_counted_before_anybody_waits_for_it(monkeypatch):
    counted = []
    counts = compaction_record.ledger_of
    monkeypatch.setattr(
        compaction_record, "ledger_of", lambda *given: counted.append(given) or counts(*given)
    )
    view = [{"role": "system", "content": "You count crates."}]
    view += [message for n in range(60) for message in turn(n, 60)]
    newest = {"role": "user", "content": "And now?"}

    async def compacted():
        compactor = Compactor(
            ContextCompressor(MODEL, WINDOW, summarizer=Writer()), CompactionRules(), lambda: 0.0
        )
        compactor.prepare(view, estimate_messages_tokens_rough(view))
        await until_prepared(compactor)
        assert len(counted) == 1
        grown = [*view, newest]
        return await compactor.compact(grown, estimate_messages_tokens_rough(grown), "threshold")

    attempt = asyncio.run(compacted())
    assert attempt.event.outcome == "compacted"
    assert attempt.event.ledger["summary"] == "model"
    assert len(counted) == 1


@pytest.mark.parametrize("kind", [ContextCompressor, LcmEngine])
@pytest.mark.parametrize(("learned", "ratio"), [(WINDOW // 3, 1), (WINDOW, 3), (WINDOW // 2, 2)])
def test_a_prepared_view_is_fitted_to_the_window_and_the_count_that_were_learned_since(kind, learned, ratio):
    view = [{"role": "system", "content": "You count crates."}]
    view += [message for n in range(60) for message in turn(n, 60)]
    view.append({"role": "user", "content": "And now?"})
    tokens = estimate_messages_tokens_rough(view)
    writer = Writer()

    async def compacted():
        compactor = Compactor(kind(MODEL, WINDOW, summarizer=writer), CompactionRules(), lambda: 0.0)
        compactor.prepare(view, tokens)
        await until_prepared(compactor)
        prepared = compactor._prepared.task.result().messages
        compactor.engine.update_model(MODEL, learned)
        writer.asked = 0
        return prepared, await compactor.compact(view, tokens * ratio, "overflow")

    prepared, attempt = asyncio.run(compacted())
    assert estimate_messages_tokens_rough(prepared) * ratio > learned // 2
    assert estimate_messages_tokens_rough(attempt.messages) * ratio <= learned // 2
    assert attempt.event.tokens_after <= learned // 2
    assert sum(WRITTEN in text_of(message) for message in attempt.messages) == 1
    assert writer.asked == 0
    assert validate(attempt.messages) == []


@settings(max_examples=12, deadline=None)
@given(
    words=st.integers(5, 120),
    later=st.lists(st.integers(1, 2_500), max_size=8),
    protect=st.integers(1, 20),
)
def test_a_refitted_view_is_below_the_threshold_wherever_a_fresh_compaction_is(words, later, protect):
    view = [{"role": "system", "content": "You count crates."}]
    n = 0
    while estimate_messages_tokens_rough(view) < THRESHOLD * 0.86:
        n += 1
        view += turn(n, words)
    arrived = [message for n, size in enumerate(later) for message in turn(1_000 + n, size)]
    newest = {"role": "user", "content": "And now?"}
    grown = [*view, *arrived, newest]
    tokens = estimate_messages_tokens_rough(grown)

    async def compacted():
        engine = ContextCompressor(MODEL, WINDOW, protect_last_n=protect, summarizer=Writer())
        compactor = Compactor(engine, CompactionRules(), lambda: 0.0)
        compactor.prepare(view, estimate_messages_tokens_rough(view))
        await until_prepared(compactor)
        return await compactor.compact(grown, tokens, "threshold")

    attempt = asyncio.run(compacted())
    fresh = ContextCompressor(MODEL, WINDOW, protect_last_n=protect).compress(grown, current_tokens=tokens)
    assert attempt.messages is not None
    assert validate(attempt.messages) == []
    assert newest in attempt.messages
    left = estimate_messages_tokens_rough(attempt.messages)
    assert left <= THRESHOLD or left <= estimate_messages_tokens_rough(fresh)
    assert sum(WRITTEN in text_of(message) for message in attempt.messages) == 1
