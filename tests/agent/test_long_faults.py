"""Many turns while the summary model fails in every way, and while the window is smaller than stated."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
from conversing import answering, connection_to, extends, talk, wish

from plimsoll.agent import Compacted
from plimsoll.context.markers import is_summary
from plimsoll.messages import text_of, validate
from plimsoll.models import card_for, estimate_messages_tokens_rough, estimate_tools_tokens
from plimsoll.providers import Endpoint, Retries
from plimsoll.providers.auxiliary import Auxiliary, Candidate
from plimsoll.testing.scripted_server import KINDS, ScriptedServer, fault, say

WINDOW = 32_000
WRITER = "claude-haiku-4-5"
GOOD = say("## Goal\nlook things up\n## Progress\n### Done\nlooked up many records\n")
REFUSED = (400, 401, 403, 404, 413)
UNUSABLE = {
    "no headings": say("We looked up a few things and they were fine."),
    "cut off": say("## Goal\nlook things up\n## Pro").ending("length"),
    "refusal": say("I cannot help with that.").ending("content_filter"),
}
# One is good, so that the next one that fails can update a model's summary.
WAYS = {
    **{name: fault(name, times=None, then=GOOD) for name in sorted(KINDS - {"status"})},
    "good": GOOD,
    **{f"status {status}": fault(status, times=None) for status in REFUSED},
    **UNUSABLE,
}


class Failing:
    """A summary model that fails in another way at each compaction."""

    def __init__(self, dialect):
        self.ways = list(WAYS)
        self.met = {}  # way -> who wrote the summary
        self.server = ScriptedServer(lambda request: WAYS[self.way], model=WRITER)
        self.dialect = dialect

    @property
    def way(self):
        return self.ways[len(self.met) % len(self.ways)]

    def __enter__(self):
        server = self.server.start()
        anthropic = self.dialect == "anthropic"
        endpoint = Endpoint(
            "anthropic" if anthropic else "custom",
            server.anthropic_url if anthropic else server.openai_url,
            self.dialect,
            "any",
            WRITER,
            headers=(("anthropic-version", "2023-06-01"),) if anthropic else (),
            sent="x-api-key" if anthropic else "bearer",
        )
        candidate = Candidate(endpoint, card_for(WRITER), 200_000, "configured")
        # A refused key would otherwise keep it from failing in the next way.
        quick = {"pause": 0.0, "retries": Retries(first_wait=0.001, longest_wait=0.002)}
        self.auxiliary = Auxiliary((candidate,), home=Path("/nonexistent"), **quick)
        self.set_deadline()
        return self

    def __exit__(self, *exc_info):
        self.auxiliary.close()
        self.server.stop()

    def heard(self, event):
        """After each compaction the next way is tried."""
        if isinstance(event, Compacted):
            self.met.setdefault(self.way, event.event)
            self.set_deadline()

    def set_deadline(self):
        self.auxiliary.deadline = 0.3 if self.way == "hang" else 60.0


def compactions(events):
    return [event.event for event in events if isinstance(event, Compacted)]


def check(seen, stored, view, turns, done):
    """What must hold after any long run: `seen` are the requests that were answered."""
    said = [text_of(s.message) for s in stored if s.role == "user"]
    assert said == [wish(n) for n in range(turns)]
    assert [s.role for s in stored] == ["system", *["user", "assistant", "tool", "assistant"] * turns]
    assert sum(map(is_summary, view)) == 1
    assert validate(view) == validate(view, "anthropic") == []
    newest = [next(m for m in reversed(r.request.messages) if m["role"] == "user") for r in seen]
    assert [text_of(message) for message in newest] == [wish(n) for n in range(turns) for _ in "ab"]
    assert all(r.usage.prompt_tokens < WINDOW for r in seen)
    pairs = pairwise(seen)
    assert sum(not extends(old.body, new.body) for old, new in pairs) == len(done)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
def test_125_turns_survive_a_summary_model_that_fails_in_every_way(tmp_path, dialect):
    turns = 125
    with (
        ScriptedServer(answering, model="claude-sonnet-5", window=WINDOW) as server,
        Failing(dialect) as failing,
    ):
        events, stored, view, _ = asyncio.run(
            talk(
                server,
                tmp_path,
                turns,
                heard=failing.heard,
                summarizer=failing.auxiliary,
                connection=connection_to(server, dialect=dialect),
                sentences=224,
            )
        )
        seen, asked = server.requests, failing.server.requests
    done = compactions(events)
    assert {event.outcome for event in done} == {"compacted"}
    assert len(done) >= 10
    assert set(failing.met) == set(WAYS)
    assert {request.fault.kind for request in asked if request.fault} == KINDS
    assert [request.refusal for request in asked if request.refusal and not request.fault] == []
    assert [request.status for request in seen] == [200] * len(seen)
    check(seen, stored, view, turns, done)


REAL_WINDOW = 16_000
HEAVIER = 1.3  # tokens that the window holds for each that the server reports


def refusing(has_number):
    """A server that refuses what is far below the window by its own reports, and says so only when it is too late."""

    def answer(request):
        reported = estimate_messages_tokens_rough(request.messages) + estimate_tools_tokens(request.tools)
        tokens = round(reported * HEAVIER)
        if tokens > REAL_WINDOW:
            numbers = f": {tokens} tokens > {REAL_WINDOW} maximum" if has_number else ""
            return fault(400, message=f"prompt is too long{numbers}")
        return answering(request)

    return answer


@pytest.mark.slow
@pytest.mark.parametrize("has_number", [True, False])
def test_60_turns_continue_with_overflows_in_place_of_a_threshold(tmp_path, has_number):
    turns = 60
    with ScriptedServer(refusing(has_number), model="claude-sonnet-5", window=200_000) as server:
        # The threshold is the whole window that the card states, so that nothing is due before an overflow.
        options = {"window": 200_000, "threshold": 1.0, "sentences": 200}
        events, stored, view, _ = asyncio.run(talk(server, tmp_path, turns, **options))
        seen = server.requests
    done = compactions(events)
    overflows = [event for event in done if event.trigger == "overflow"]
    assert {event.outcome for event in done} == {"compacted"}
    assert len(done) >= 10
    # With a number every compaction comes from an overflow. Without one the refused sizes are learned from.
    assert len(overflows) == len(done) if has_number else 1 <= len(overflows) < len(done)
    refused = [request for request in seen if request.fault]
    assert len(refused) == len(overflows)
    check([request for request in seen if not request.fault], stored, view, turns, done)
    assert [request.status for request in seen if not request.fault] == [200] * (2 * turns)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
def test_a_window_smaller_than_the_card_says_is_learned_once_and_the_answer_keeps_its_room(tmp_path, dialect):
    turns, max_tokens = 60, 4_000
    with ScriptedServer(answering, model="claude-sonnet-5", window=REAL_WINDOW) as server:
        connection = connection_to(server, max_tokens, dialect)
        events, stored, view, _ = asyncio.run(
            talk(server, tmp_path, turns, window=200_000, connection=connection, sentences=134)
        )
        seen = server.requests
    done = compactions(events)
    refused = [request for request in seen if request.refusal]
    assert len(done) >= 10
    assert [event.trigger for event in done] == ["overflow", *["threshold"] * (len(done) - 1)]
    assert len(refused) == 1
    assert str(REAL_WINDOW) in refused[0].refusal.message
    check([request for request in seen if not request.refusal], stored, view, turns, done)
    # An answer that was cut short for one full prompt would stay that short for the rest of the conversation.
    assert {request.request.max_tokens for request in seen} == {max_tokens}
