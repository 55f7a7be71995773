"""What one tenant of a gateway tries, to read what another one, a room or the operator said."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clients import http
from gateway_keys import add_key
from gateway_server import RunningGateway, settings_for
from messaging_rooms import checked, settings_of, waited
from telegram_server import ADA, BOB, TOKEN, TelegramServer

from plimsoll.archive import OPERATOR, ArchiveStore
from plimsoll.archive.open_archive import open_archive
from plimsoll.dialects import ChatRequest
from plimsoll.messages import text_of
from plimsoll.testing.scripted_server import ScriptedAnswer, ScriptedServer, call, say

SECRET = "the vault opens with quartermaster"
WORD = "quartermaster"
OWN = "my own word for quartermaster is purser"


def looking_everywhere(request: ChatRequest) -> ScriptedAnswer:
    """A model that does what the attacker asks: look for the word in all sessions, and say what was found."""
    newest = request.messages[-1]
    if newest["role"] == "tool":
        return say(f"Found: {text_of(newest)}")
    if "look" in text_of(newest):
        return call("lcm_grep", pattern=WORD, session_scope="all", limit=50)
    return say("Noted.")


@pytest.fixture
def telegram() -> Iterator[TelegramServer]:
    with TelegramServer() as server:
        yield server


def say_as(url: str, key: str, *texts: str) -> tuple[str, str]:
    """Say something in a new session of a key; the session, and the last answer."""
    headers, answer = {"authorization": f"Bearer {key}"}, ""
    id = http().post(f"{url}/sessions", json={}, headers=headers).json()["id"]
    for text in texts:
        said = http().post(f"{url}/sessions/{id}/messages", json={"content": text}, headers=headers)
        assert said.status_code == 200, said.text
        answer = json.dumps(said.json(), ensure_ascii=False)
    return id, answer


def operator_says(home: Path, text: str) -> None:
    """What a chat in the terminal leaves in the archive."""

    async def write() -> None:
        async with await open_archive(None, home) as store:
            archive = store.for_owner(OPERATOR)
            id = (await archive.create_session(title="a chat")).id
            await archive.append(id, [{"role": "user", "content": text}], turn="one")

    asyncio.run(write())


def test_looking_in_all_sessions_finds_nothing_of_another_key_or_of_the_operator(tmp_path: Path) -> None:
    victim, attacker = add_key(tmp_path, "victim"), add_key(tmp_path, "attacker")
    operator_says(tmp_path, f"operator: {SECRET}")
    with ScriptedServer(looking_everywhere) as server:
        settings = settings_for(
            server, "anthropic", context={"engine": "lcm"}, model={"name": "claude-sonnet-4-5"}
        )
        with RunningGateway(settings, tmp_path) as gateway:
            say_as(gateway.url, victim, SECRET)
            say_as(gateway.url, attacker, OWN)
            _, answer = say_as(gateway.url, attacker, "look for it")
    assert "purser" in answer, "all sessions of the caller are searched"
    assert "the vault" not in answer


def test_looking_in_all_sessions_finds_nothing_of_another_room(
    telegram: TelegramServer, tmp_path: Path
) -> None:
    operator_says(tmp_path, f"operator: {SECRET}")
    with ScriptedServer(looking_everywhere) as server:
        section = {"base_url": telegram.url, "token": "${BOT_TOKEN}", "allowed_users": ["41", "42"]}
        sections = settings_of(server, gateway={"telegram": section}, context={"engine": "lcm"})
        environ = {"BOT_TOKEN": TOKEN, "ANTHROPIC_API_KEY": "for-tests-only"}
        with RunningGateway(checked(sections), tmp_path, environ=environ):
            telegram.say(ADA, SECRET)
            waited(lambda: len(telegram.said) == 1)
            telegram.say(BOB, OWN)
            waited(lambda: len(telegram.said) == 2)
            telegram.say(BOB, "/new")
            waited(lambda: len(telegram.said) == 3)
            telegram.say(BOB, "look for it")
            waited(lambda: len(telegram.said) == 4)
    assert "purser" in telegram.said[-1], "earlier conversations of the same room are searched"
    assert "the vault" not in telegram.said[-1]


def test_no_operation_over_http_finds_a_session_of_another_key(tmp_path: Path) -> None:
    from plimsoll.gateway.sessions.operations import OPERATIONS

    victim, attacker = add_key(tmp_path, "victim"), add_key(tmp_path, "attacker")
    mine = {"authorization": f"Bearer {attacker}"}
    bodies: dict[str, Any] = {
        "send_message": {"content": "hello"},
        "edit_summary": {"text": "forged", "node": "n:0000000000"},
        "drop_messages": {"messages": [1]},
    }
    with (
        ScriptedServer(looking_everywhere) as server,
        RunningGateway(settings_for(server), tmp_path) as gateway,
    ):
        id, _ = say_as(gateway.url, victim, SECRET)
        for operation in OPERATIONS:
            if "{id}" not in operation.path:
                continue
            path = operation.path.replace("{id}", id).replace("{number}", "1")
            query = {"text": WORD} if operation.query and "text" in operation.query.model_fields else {}
            body = bodies.get(operation.name, {} if operation.body else None)
            refused = http().request(
                operation.method, gateway.url + path, params=query, json=body, headers=mine
            )
            assert refused.status_code == 404, operation.name
            assert "the vault" not in refused.text
        everywhere = http().get(f"{gateway.url}/search", params={"text": WORD}, headers=mine)
        listed = http().get(f"{gateway.url}/sessions", headers=mine)
    assert everywhere.json()["hits"] == []
    assert listed.json()["sessions"] == []


def test_a_stored_conversation_of_a_client_belongs_to_its_key(tmp_path: Path) -> None:
    victim, attacker = add_key(tmp_path, "victim"), add_key(tmp_path, "attacker")
    long = [
        {"role": role, "content": f"{SECRET} {number} " + "and so on " * 400}
        for number in range(40)
        for role in ("user", "assistant")
    ]
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 10,
        "messages": [*long, {"role": "user", "content": "go on"}],
    }
    with ScriptedServer(looking_everywhere) as server:
        settings = settings_for(server, model={"context_length": 30_000}, compression={"background": False})
        with RunningGateway(settings, tmp_path) as gateway:
            answers = [
                http().post(f"{gateway.url}/v1/messages", json=body, headers={"x-api-key": key})
                for key in (victim, attacker)
            ]
    sessions = [one.headers["x-plimsoll-session"] for one in answers]
    assert sessions[0] != sessions[1], "the same words of another key are another conversation"

    async def look(store: ArchiveStore) -> list[str]:
        return [(await store.session(id)).owner for id in sessions]

    async def owners() -> list[str]:
        async with await open_archive(None, tmp_path) as store:
            return await look(store)

    assert asyncio.run(owners()) == [f"key:{key.split('-')[1]}" for key in (victim, attacker)]
