"""The next gateway continues the unfinished work of one that ended, and only one gateway does."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gateway_server import RunningGateway, with_gateway
from messaging_rooms import answers, checked, logs, looked, said_by_people, settings_of, waited
from telegram_server import ADA, TOKEN, TelegramServer

from plimsoll.archive import ArchiveStore, room_owner
from plimsoll.archive.inbox import IncomingMessage
from plimsoll.dialects import ChatRequest
from plimsoll.testing.scripted_server import ScriptedAnswer, ScriptedServer, say

ACCOUNT = "telegram:7007"
ENVIRON = {"BOT_TOKEN": TOKEN, "ANTHROPIC_API_KEY": "sk-ant-for-tests-only-0123456789"}


@pytest.fixture
def telegram() -> Iterator[TelegramServer]:
    with TelegramServer() as server:
        yield server


def running(telegram: TelegramServer, server: ScriptedServer, home: Path, **more: Any) -> RunningGateway:
    section = {"base_url": telegram.url, "token": "${BOT_TOKEN}", "allowed_users": ["41"]}
    sections = {**settings_of(server, gateway={"telegram": section}), **more.pop("sections", {})}
    return RunningGateway(with_gateway(checked(sections), **more), home, environ=ENVIRON)


def waiting(home: Path) -> list[IncomingMessage]:
    found: list[IncomingMessage] = looked(home, lambda store: store.inbox(ACCOUNT).waiting())
    return found


def left(
    home: Path, telegram: TelegramServer, letters: list[IncomingMessage], sent: str = "", *turns: Any
) -> str:
    """An archive as a process left it that had received letters and then done some `turns`."""
    telegram.say(ADA, "x")  # the chat is known there
    telegram.updates.clear()

    async def write(store: ArchiveStore) -> str:
        archive, mail = store.for_owner(room_owner(ACCOUNT, "41")), store.inbox(ACCOUNT)
        session = await archive.create_session()
        await archive.append(session.id, [{"role": "system", "content": "You are on watch."}], turn="begin")
        for name, message in turns:
            await archive.append(session.id, [message], turn=name)
        await mail.receive(letters, "902")
        mark = f"{session.id}:{sent}" if sent else ""
        await mail.update_room("41", session=session.id, sent=mark)
        return session.id

    found: str = looked(home, write)
    return found


def letter(event: str, text: str) -> IncomingMessage:
    return IncomingMessage("41", event, "41", text)


def heard(one: IncomingMessage) -> tuple[str, dict[str, str]]:
    return f"key.telegram:{one.event}", {"role": "user", "content": one.text}


LETTERS = [letter(f"{number}", f"message {number}") for number in range(10, 16)]
SAID = [one.text for one in LETTERS]


def test_letters_of_which_some_were_recorded_are_answered_together(telegram: TelegramServer, tmp_path: Path):
    left(tmp_path, telegram, LETTERS, "", *map(heard, LETTERS[:3]))
    with ScriptedServer() as server, running(telegram, server, tmp_path):
        waited(lambda: waiting(tmp_path) == [])
        assert len(server.requests) == 1
    (log,) = logs(tmp_path)
    assert said_by_people(log) == SAID
    assert telegram.said == answers(log)
    assert len(telegram.said) == 1


def test_an_answer_that_was_written_and_not_sent_is_sent_and_not_written_again(
    telegram: TelegramServer, tmp_path: Path
):
    done = ("after.4", {"role": "assistant", "content": "All is well."})
    left(tmp_path, telegram, LETTERS, "", *map(heard, LETTERS[:3]), done)
    with ScriptedServer() as server, running(telegram, server, tmp_path):
        waited(lambda: waiting(tmp_path) == [])
        assert len(server.requests) == 1
    assert telegram.said[0] == "All is well."
    assert len(telegram.said) == 2
    (log,) = logs(tmp_path)
    assert said_by_people(log) == SAID


def test_parts_of_an_answer_that_were_sent_are_not_sent_again(telegram: TelegramServer, tmp_path: Path):
    long = "\n\n".join(str(number) * 3_000 for number in range(4))
    done = ("after.2", {"role": "assistant", "content": long})
    left(tmp_path, telegram, LETTERS[:1], "3:2", heard(LETTERS[0]), done)
    with ScriptedServer() as server, running(telegram, server, tmp_path):
        waited(lambda: waiting(tmp_path) == [])
        assert server.requests == []
    assert telegram.said == ["2" * 3_000, "3" * 3_000]


def test_a_session_that_somebody_deleted_is_begun_anew(telegram: TelegramServer, tmp_path: Path):
    id = left(tmp_path, telegram, LETTERS)
    looked(tmp_path, lambda store: store.for_owner(room_owner(ACCOUNT, "41")).delete(id))
    with ScriptedServer() as server, running(telegram, server, tmp_path):
        waited(lambda: waiting(tmp_path) == [])
    (log,) = logs(tmp_path)
    assert said_by_people(log) == SAID


def test_an_answer_that_the_end_of_the_gateway_cuts_off_is_reported_once(
    telegram: TelegramServer, tmp_path: Path
):
    asked, go = threading.Event(), threading.Event()

    def slow(request: ChatRequest) -> ScriptedAnswer:
        asked.set()
        go.wait(20)
        return say("too late")

    with ScriptedServer([slow, say("going on")]) as server:
        with running(telegram, server, tmp_path, shutdown_seconds=0.01):
            telegram.say(ADA, "one")
            assert asked.wait(20)
        go.set()
        with running(telegram, server, tmp_path):
            waited(lambda: telegram.said == ["(I was stopped here. Send a message and I will continue.)"])
            telegram.say(ADA, "two")
            waited(lambda: telegram.said[1:] == ["going on"])
    (log,) = logs(tmp_path)
    assert said_by_people(log) == ["one", "two"]


def test_without_a_model_the_reason_is_reported_once_and_the_messages_are_kept(
    telegram: TelegramServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    with ScriptedServer() as server:
        nobody = {"model": {"provider": "openrouter", "name": "openai/gpt-5.6"}}
        with running(telegram, server, tmp_path, sections=nobody):
            telegram.say(ADA, "one")
            waited(lambda: caplog.text.count("No answer in 41 yet") >= 2)
            telegram.say(ADA, "two")
            waited(lambda: len(waiting(tmp_path)) == 2)
        (sent,) = telegram.said
        assert sent.startswith("I cannot answer yet: ")
        assert "OPENROUTER_API_KEY" in sent
        with running(telegram, server, tmp_path):
            waited(lambda: len(telegram.said) == 2)
    (log,) = logs(tmp_path)
    assert said_by_people(log) == ["one", "two"]
    assert len(answers(log)) == 1


@pytest.mark.slow
def test_of_two_processes_one_answers_and_the_other_takes_over(telegram: TelegramServer, tmp_path: Path):
    with ScriptedServer() as server, running(telegram, server, tmp_path) as first:
        waited(lambda: telegram.polling)
        with running(telegram, server, tmp_path):
            telegram.say(ADA, "one")
            waited(lambda: telegram.said == ["You said: one"])
            first.stop()
            telegram.say(ADA, "two")
            waited(lambda: telegram.said == ["You said: one", "You said: two"])
    (log,) = logs(tmp_path)
    assert said_by_people(log) == ["one", "two"]
