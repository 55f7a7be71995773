"""Conversations that a provider refuses are accepted after a repair; others stay as they are."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from broken_conversations import BODIES, VALID
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plimsoll.dialects import dialect_named
from plimsoll.messages import Message
from plimsoll.testing import conversations
from plimsoll.testing.scripted_server import ScriptedServer, say
from plimsoll.transcripts.portable import made_valid
from plimsoll.transcripts.repair import repair_body

MODELS = {
    "openai": "gpt-4.1",
    "anthropic": "claude-sonnet-4-5",
    "responses": "gpt-5",
    "gemini": "gemini-3-pro",
}
CASES = [(dialect, name) for dialect, bodies in BODIES.items() for name in bodies]
CLIENT = httpx.Client(timeout=60, trust_env=False)
pytestmark = pytest.mark.rewrites_history("every request is a conversation of its own")


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(lambda _request: say("Good."), window=4_000_000) as running, CLIENT:
        yield running


def sent(server: ScriptedServer, dialect: str, body: dict[str, Any]) -> tuple[int, str]:
    """The status and the words with which the provider answers."""
    wire = dialect_named(dialect)
    url = wire.url(wire.local_url(server.url), MODELS[dialect], False)
    name, value = wire.auth("any")
    answer = CLIENT.post(url, json=body, headers={name: value, "anthropic-version": "2023-06-01"})
    return answer.status_code, answer.text[:300]


def test_there_are_at_least_thirty_cases_over_all_dialects() -> None:
    assert len(CASES) >= 30
    assert {dialect for dialect, _ in CASES} == set(MODELS)


@pytest.mark.parametrize(("dialect", "name"), CASES, ids=[f"{dialect}: {name}" for dialect, name in CASES])
def test_a_refused_conversation_is_accepted_after_the_repair(
    server: ScriptedServer, dialect: str, name: str
) -> None:
    body = BODIES[dialect][name]
    before = copy.deepcopy(body)
    assert sent(server, dialect, body)[0] == 400
    repaired = repair_body(body, dialect, model=MODELS[dialect])
    assert repaired.findings
    status, words = sent(server, dialect, repaired.body)
    assert status == 200, words
    assert body == before
    assert repair_body(repaired.body, dialect, model=MODELS[dialect]).findings == ()


@pytest.mark.parametrize("dialect", VALID)
def test_a_valid_conversation_is_the_same_object_afterwards(server: ScriptedServer, dialect: str) -> None:
    body = VALID[dialect]
    assert sent(server, dialect, body)[0] == 200
    repaired = repair_body(body, dialect, model=MODELS[dialect])
    assert repaired.findings == ()
    assert repaired.body is body


@pytest.mark.parametrize("dialect", MODELS)
@given(messages=conversations(max_turns=1))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_is_found_in_a_conversation_that_was_made_valid(
    dialect: str, messages: list[Message]
) -> None:
    body = dialect_named(dialect).document(made_valid(messages), {}, is_object=True)
    assert repair_body(body, dialect).findings == ()


def dropped(draw: st.DrawFn, items: list[Any]) -> list[Any]:
    """Some of the items, in their order."""
    kept = draw(st.lists(st.booleans(), min_size=len(items), max_size=len(items)))
    return [one for one, stays in zip(items, kept, strict=True) if stays]


@st.composite
def damaged(draw: st.DrawFn, dialect: str) -> dict[str, Any]:
    """A conversation of which messages, blocks or items were lost."""
    messages = made_valid(draw(conversations(max_turns=1)))
    body = dialect_named(dialect).document(messages, {}, is_object=True)
    field = dialect_named(dialect).messages_field
    body[field] = dropped(draw, body[field])
    for message in body[field]:
        for key in ("content", "parts", "tool_calls"):
            if isinstance(message.get(key), list) and draw(st.booleans()):
                message[key] = dropped(draw, message[key])
    return json.loads(json.dumps(body))  # type: ignore[no-any-return]


@pytest.mark.parametrize("dialect", MODELS)
def test_whatever_was_lost_the_rest_is_accepted(server: ScriptedServer, dialect: str) -> None:
    @given(body=damaged(dialect))
    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
    def check(body: dict[str, Any]) -> None:
        repaired = repair_body(body, dialect, model=MODELS[dialect]).body
        field = dialect_named(dialect).messages_field
        if not repaired[field]:
            return
        ready = {"max_tokens": 100} if dialect == "anthropic" else {}
        named = {} if dialect == "gemini" else {"model": MODELS[dialect]}
        status, words = sent(server, dialect, {**ready, **named, **repaired})
        assert status == 200, words

    check()


def test_a_portable_repair_removes_what_only_its_provider_accepts() -> None:
    body = VALID["responses"]
    repaired = repair_body(body, "responses", is_portable=True)
    assert "reasoning" not in [item["type"] for item in repaired.body["input"]]
    assert "id" not in repaired.body["input"][1]
    assert [finding.place for finding in repaired.findings] == ["item 2"]
