"""Compacting one request without keeping anything: the library function, and `POST /v1/compact`."""

import asyncio
import copy
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from clients import http
from gateway_keys import add_key, used_so_far
from gateway_server import RunningGateway, settings_for

import plimsoll
from plimsoll.archive import OPERATOR
from plimsoll.archive.keys import KeyUsage
from plimsoll.dialects import dialect_named, dialects
from plimsoll.errors import SettingError
from plimsoll.gateway.dropin.stateless_compaction import CompactionOptions, StatelessCompactor
from plimsoll.gateway.dropin.summary_models import SummaryModels
from plimsoll.messages import text_of, validate
from plimsoll.testing.scripted_server import ScriptedServer, say

WINDOW = 8_000
WORDS = "The harbour master wrote down every ship that came in, its draught and its cargo. " * 9
TURNS = 24
RULES = {2: "You must never sail on a Friday.", TURNS + 2: "You must never load coal after dark."}


def asked(turn: int) -> str:
    return f"ship{turn}: {RULES.get(turn, '')} {WORDS}"


def _openai(turn: int) -> list[dict[str, Any]]:
    call = {"id": f"c{turn}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return [
        {"role": "user", "content": asked(turn), "x_unknown": turn},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{turn}", "content": f"pier {turn}"},
        {"role": "assistant", "content": f"It lies at pier {turn}."},
    ]


def _anthropic(turn: int) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"c{turn}", "name": "look", "input": {}, "x_unknown": turn}
    result = {"type": "tool_result", "tool_use_id": f"c{turn}", "content": f"pier {turn}"}
    return [
        {"role": "user", "content": asked(turn)},
        {"role": "assistant", "content": [{"type": "text", "text": "A moment."}, call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": f"It lies at pier {turn}."},
    ]


def _responses(turn: int) -> list[dict[str, Any]]:
    said = [{"type": "input_text", "text": asked(turn)}]
    told = [{"type": "output_text", "text": f"It lies at pier {turn}."}]
    return [
        {"type": "message", "role": "user", "content": said, "x_unknown": turn},
        {"type": "function_call", "call_id": f"c{turn}", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": f"c{turn}", "output": f"pier {turn}"},
        {"type": "message", "role": "assistant", "content": told},
    ]


def _gemini(turn: int) -> list[dict[str, Any]]:
    result = {"functionResponse": {"name": "look", "response": {"output": f"pier {turn}"}}}
    return [
        {"role": "user", "parts": [{"text": asked(turn), "x_unknown": turn}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
        {"role": "user", "parts": [result]},
        {"role": "model", "parts": [{"text": f"It lies at pier {turn}."}]},
    ]


SAID = {"openai": _openai, "anthropic": _anthropic, "responses": _responses, "gemini": _gemini}
AROUND: dict[str, dict[str, Any]] = {
    "openai": {"model": "gpt-5", "x_unknown": {"a": 1}},
    "anthropic": {"model": "claude-sonnet-4-5", "system": "Be brief.", "max_tokens": 50, "x_unknown": 1},
    "responses": {"model": "gpt-5", "instructions": "Be brief.", "x_unknown": 1},
    "gemini": {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "x_unknown": 1},
}


def conversation(name: str, first: int = 0, turns: int = TURNS) -> list[dict[str, Any]]:
    return [one for turn in range(first, first + turns) for one in SAID[name](turn)]


def request(name: str) -> dict[str, Any]:
    lead = [{"role": "system", "content": "Be brief."}] if name == "openai" else []
    return {**AROUND[name], dialect_named(name).messages_field: [*lead, *conversation(name)]}


def canonical(name: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    dialect = dialect_named(name)
    said = dialect.messages(body)
    return [*dialect.lead(body), *(one for at in range(len(said)) for one in dialect.canonical(said, at))]


def check(name: str, body: dict[str, Any], compacted: dict[str, Any]) -> None:
    """What every compacted request keeps."""
    field = dialect_named(name).messages_field
    assert {**compacted, field: 0, "systemInstruction": 0, "system": 0} == {
        **body,
        field: 0,
        "systemInstruction": 0,
        "system": 0,
    }
    assert compacted[field][-4:] == body[field][-4:]
    assert len(compacted[field]) < len(body[field]) / 2
    messages = canonical(name, compacted)
    assert validate(messages) == []
    assert sum("CONTEXT COMPACTION" in text_of(one) for one in messages) == 1


def test_every_dialect_is_tried() -> None:
    assert {one.name for one in dialects()} == set(SAID)


@pytest.mark.parametrize("name", SAID)
def test_a_request_of_any_dialect_is_compacted_with_its_unknown_fields(name: str) -> None:
    body = request(name)
    given = copy.deepcopy(body)
    made = plimsoll.compact(body, dialect=name, window=WINDOW)
    assert body == given, "what was given is not changed"
    assert made.report.outcome == "compacted"
    check(name, body, made.request)


@pytest.mark.parametrize("name", SAID)
def test_what_was_compacted_is_compacted_again_into_one_summary_that_knows_both(name: str) -> None:
    field = dialect_named(name).messages_field
    first = plimsoll.compact(request(name), dialect=name, window=WINDOW).request
    later = {**first, field: [*first[field], *conversation(name, TURNS, TURNS)]}
    again = plimsoll.compact(later, dialect=name, window=WINDOW)
    check(name, later, again.request)
    assert [rule in again.report.summary for rule in RULES.values()] == [True, True]


def test_a_list_of_messages_gives_a_list_back() -> None:
    said = [{"role": "system", "content": "Be brief."}, *conversation("openai")]
    made = plimsoll.compact(said, window=WINDOW)
    assert made.messages == made.request["messages"]
    assert made.messages[-4:] == said[-4:]


def test_what_is_not_due_comes_back_as_it_was_given() -> None:
    body = request("anthropic")
    made = plimsoll.compact(body, dialect="anthropic", only_if_due=True)
    assert made.request == body
    assert made.report.outcome == "unchanged"
    assert "below the threshold" in made.report.reason
    due = plimsoll.compact(body, dialect="anthropic", window=WINDOW, only_if_due=True)
    assert due.report.outcome == "compacted"


def test_an_unknown_dialect_is_named_with_those_that_there_are() -> None:
    with pytest.raises(SettingError, match=r"openai.*not 'cohere'"):
        plimsoll.compact([], dialect="cohere")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home: Path = tmp_path_factory.mktemp("stateless")
    # The summary model's text is of no use, so code writes the summary, as in the library without a model.
    with (
        ScriptedServer(lambda _request: say("ok")) as server,
        RunningGateway(settings_for(server), home) as running,
    ):
        yield running


@pytest.mark.parametrize("name", SAID)
def test_the_endpoint_compacts_as_the_library_does(gateway: RunningGateway, name: str) -> None:
    body = request(name)
    answer = http().post(
        f"{gateway.url}/v1/compact", json={"dialect": name, "request": body, "window": WINDOW}
    )
    assert answer.status_code == 200, answer.text
    made = plimsoll.compact(body, dialect=name, window=WINDOW)
    assert answer.json()["request"] == made.request
    report = answer.json()["report"]
    assert report["summary"] == made.report.whole_summary
    assert (report["messages_before"], report["messages_after"]) == (
        made.report.messages_before,
        made.report.messages_after,
    )


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, "request"),
        ({"request": {"messages": []}, "window": "big"}, "window"),
        ({"request": {"messages": []}, "windw": 1}, "windw"),
        ({"request": {"messages": []}, "dialect": "cohere"}, "cohere"),
        ({"request": {"messages": 3}}, "messages"),
        ({"request": {"messages": []}, "window": 10**400}, "window"),
        ({"request": {"messages": []}, "current_tokens": 10**400}, "current_tokens"),
        ({"request": {"messages": [{"role": ["user"], "content": "a"}]}}, "an object with a role"),
        ({"request": {"messages": [{"role": "user", "content": [{"type": []}]}]}}, "type of a content part"),
        ({"request": {"model": "m" * 300, "messages": []}}, "300 characters"),
    ],
)
def test_the_endpoint_says_what_is_wrong_with_a_request(
    gateway: RunningGateway, body: dict[str, Any], told: str
) -> None:
    answer = http().post(f"{gateway.url}/v1/compact", json=body)
    assert answer.status_code == 400
    assert told in answer.json()["error"]["message"]


@pytest.mark.parametrize("name", SAID)
def test_an_error_has_the_form_of_the_dialect_that_the_caller_names(
    gateway: RunningGateway, name: str
) -> None:
    answer = http().post(f"{gateway.url}/v1/compact", json={"dialect": name, "request": {}, "window": 0})
    assert answer.status_code == 400
    said = dialect_named(name).error_body(400, "")
    assert answer.json().keys() == said.keys()
    assert answer.json()["error"].keys() == said["error"].keys()


SUMMARY = (
    "## Goal\nThe harbour master wrote down every ship.\n## Progress\n### Done\n- The ship lies at pier 3.\n"
)


def test_the_summary_is_charged_to_the_key_that_asks_and_refused_at_its_limit(tmp_path: Path) -> None:
    rich, poor = add_key(tmp_path, "rich"), add_key(tmp_path, "poor", tokens_per_day=10)
    asked = {"dialect": "openai", "request": request("openai"), "window": WINDOW}
    with (
        ScriptedServer(lambda _request: say(SUMMARY)) as server,
        RunningGateway(settings_for(server), tmp_path) as gateway,
    ):
        url = f"{gateway.url}/v1/compact"
        nobody = http().post(url, json=asked)
        made = http().post(url, json=asked, headers={"authorization": f"Bearer {rich}"})
        billed = sum(one.usage.total_tokens for one in server.requests if one.usage)
        own = {"authorization": f"Bearer {poor}"}
        # A key may exceed its limit by one request.
        statuses = [http().post(url, json=asked, headers=own).status_code for _ in range(2)]
    assert (nobody.status_code, made.status_code, statuses) == (401, 200, [200, 429])
    assert made.json()["report"]["model_failures"] == []
    assert made.json()["report"]["summary_source"] == "model"
    assert used_so_far(tmp_path)["rich"].tokens == billed > 0


def test_a_caller_cannot_make_its_reservation_smaller_by_what_it_says_about_its_request(
    tmp_path: Path,
) -> None:
    reserved: list[KeyUsage] = []

    @asynccontextmanager
    async def reserve(_key: str | None, need: KeyUsage) -> AsyncIterator[None]:
        reserved.append(need)
        yield

    async def compacted(server: ScriptedServer) -> None:
        settings = settings_for(server)
        summaries = await SummaryModels.open(settings, {}, tmp_path)
        compactor = StatelessCompactor(
            settings, summaries, None, time.time, reserve, lambda _owner, _usage: None
        )
        for current_tokens in (1, None):
            options = CompactionOptions(
                request=request("openai"), window=WINDOW, current_tokens=current_tokens
            )
            await compactor.compact(options, OPERATOR)
        await summaries.close()

    with ScriptedServer(lambda _request: say(SUMMARY)) as server:
        asyncio.run(compacted(server))
    assert reserved[0] == reserved[1]
    assert reserved[0].tokens > WINDOW // 2
