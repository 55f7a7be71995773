"""A bot on Telegram: the gateway against a stand-in for the Bot API that keeps the real one's rules."""

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gateway_server import RunningGateway
from messaging_rooms import (
    GatewayProcess,
    answers,
    checked,
    compactions,
    leases_run_out,
    logs,
    looked,
    said_by_people,
    settings_of,
    waited,
)
from telegram_server import ADA, BOB, TOKEN, Refusal, TelegramServer

from plimsoll.dialects import ChatRequest
from plimsoll.errors import MissingKey
from plimsoll.gateway.messaging.accounts import configured
from plimsoll.messages import text_of
from plimsoll.testing.scripted_server import ScriptedAnswer, ScriptedServer, fault, say

ENVIRON = {"BOT_TOKEN": TOKEN, "ANTHROPIC_API_KEY": "sk-ant-for-tests-only-0123456789"}
GROUP = -1001


@pytest.fixture
def telegram() -> Iterator[TelegramServer]:
    with TelegramServer() as server:
        yield server


def section(telegram: TelegramServer, users: list[str], **more: Any) -> dict[str, Any]:
    return {"telegram": {"base_url": telegram.url, "token": "${BOT_TOKEN}", "allowed_users": users, **more}}


def running(telegram: TelegramServer, server: ScriptedServer, home: Path, **more: Any) -> RunningGateway:
    gateway = section(telegram, more.pop("users", ["41"]), allowed_chats=more.pop("chats", []))
    return RunningGateway(checked(settings_of(server, gateway=gateway, **more)), home, environ=ENVIRON)


def newest(request: ChatRequest) -> str:
    return text_of(request.messages[-1])


def test_a_chat_is_one_conversation_and_shows_that_an_answer_is_being_written(
    telegram: TelegramServer, tmp_path: Path
):
    with ScriptedServer() as server, running(telegram, server, tmp_path):
        telegram.say(ADA, "Which ships came in?")
        waited(lambda: len(telegram.said) == 1)
        telegram.say(ADA, "And which left?")
        waited(lambda: len(telegram.said) == 2)
    assert telegram.said == ["You said: Which ships came in?", "You said: And which left?"]
    assert (41, "typing") in telegram.actions
    (log,) = logs(tmp_path)
    assert said_by_people(log) == ["Which ships came in?", "And which left?"]
    assert answers(log) == telegram.said


def test_chats_do_not_see_each_other(telegram: TelegramServer, tmp_path: Path):
    with ScriptedServer() as server, running(telegram, server, tmp_path, users=["@ada", "42"]):
        telegram.say(ADA, "I am Ada")
        telegram.say(BOB, "I am Bob")
        waited(lambda: len(telegram.said) == 2)
    assert sorted(said_by_people(log) for log in logs(tmp_path)) == [["I am Ada"], ["I am Bob"]]
    assert {message["chat"]["id"] for message in telegram.sent} == {41, 42}


def test_strangers_bots_edits_and_news_about_the_chat_are_not_answered(
    telegram: TelegramServer, tmp_path: Path
):
    with ScriptedServer() as server, running(telegram, server, tmp_path):
        telegram.say(BOB, "let me in")
        telegram.say({**ADA, "is_bot": True}, "I am a bot")
        telegram.post(ADA, {"new_chat_members": [BOB]})
        telegram.edit(ADA, 1, "changed")
        telegram.say(ADA, "hello")
        waited(lambda: telegram.said)
    assert telegram.said == ["You said: hello"]
    (log,) = logs(tmp_path)
    assert said_by_people(log) == ["hello"]


def test_without_an_allow_list_no_message_is_answered(telegram: TelegramServer, tmp_path: Path):
    with ScriptedServer() as server, running(telegram, server, tmp_path, users=[]) as gateway:
        telegram.say(ADA, "hello")
        waited(lambda: len(telegram.offsets) > 1)
        assert gateway.within.settings.gateway.telegram.notice("telegram") == (
            "Telegram: answering NOBODY, because gateway.telegram.allowed_users and "
            "gateway.telegram.allowed_chats are empty."
        )
    assert (telegram.said, logs(tmp_path)) == ([], [])


def test_in_a_group_the_model_knows_who_speaks(telegram: TelegramServer, tmp_path: Path):
    with ScriptedServer() as server, running(telegram, server, tmp_path, users=[], chats=[str(GROUP)]):
        telegram.say(ADA, "who am I?", GROUP)
        waited(lambda: len(telegram.said) == 1)
        telegram.say(BOB, "/usage@plimsoll_bot", GROUP)
        waited(lambda: len(telegram.said) == 2)
    assert telegram.said[0] == "You said: Ada: who am I?"
    assert "requests: 1" in telegram.said[1]


def test_what_arrives_while_an_answer_is_written_is_answered_together_in_order(
    telegram: TelegramServer, tmp_path: Path
):
    asked, go = threading.Event(), threading.Event()

    def slow(request: ChatRequest) -> ScriptedAnswer:
        asked.set()
        go.wait(20)
        return say("first")

    with ScriptedServer([slow, lambda request: say(f"all of it: {newest(request)}")]) as server:
        with running(telegram, server, tmp_path):
            telegram.say(ADA, "one")
            assert asked.wait(20)
            for text in ("two", "three", "four"):
                telegram.say(ADA, text)
            waited(lambda: 905 in telegram.offsets)  # Telegram need not keep them any longer
            go.set()
            waited(lambda: len(telegram.said) == 2)
        assert len(server.requests) == 2
    (log,) = logs(tmp_path)
    assert [message["role"] for message in log] == ["system", "user", "assistant", *["user"] * 3, "assistant"]
    assert said_by_people(log) == ["one", "two", "three", "four"]


def test_messages_that_arrived_while_stopped_are_one_turn_even_beyond_one_page(
    telegram: TelegramServer, tmp_path: Path
):
    said = [f"message {number}" for number in range(230)]
    for text in said:
        telegram.say(ADA, text)
    with ScriptedServer() as server:
        with running(telegram, server, tmp_path):
            waited(lambda: telegram.said)
        assert len(server.requests) == 1
        with running(telegram, server, tmp_path):
            telegram.say(ADA, "good morning")
            waited(lambda: len(telegram.said) == 2)
    (log,) = logs(tmp_path)
    assert said_by_people(log) == [*said, "good morning"]
    assert len(answers(log)) == 2


def test_a_long_answer_comes_in_parts_that_telegram_takes(telegram: TelegramServer, tmp_path: Path):
    long = "\n\n".join(f"{number}. " + "ship ahoy ⛵🚢 " * 40 for number in range(30)).strip()
    with ScriptedServer([say(long)]) as server, running(telegram, server, tmp_path):
        telegram.say(ADA, "tell me")
        waited(lambda: telegram.said and telegram.said[-1].endswith(long[-200:]))
    assert len(telegram.said) > 3
    assert "".join("".join(telegram.said).split()) == "".join(long.split())


def test_what_cannot_be_read_is_reported_and_a_caption_is_read(telegram: TelegramServer, tmp_path: Path):
    with ScriptedServer() as server, running(telegram, server, tmp_path):
        telegram.post(ADA, {"voice": {"duration": 3}})
        waited(lambda: len(telegram.said) == 1)
        telegram.post(ADA, {"photo": [{}], "caption": "look"})
        waited(lambda: len(telegram.said) == 2)
    assert telegram.said[0] == "I can only read text, not this (voice)."
    assert telegram.said[1].startswith("You said: look\n[with a photo")


def test_commands_begin_anew_and_show_what_was_used(telegram: TelegramServer, tmp_path: Path):
    with ScriptedServer() as server, running(telegram, server, tmp_path):

        def asked(text: str) -> str:
            before = len(telegram.said)
            telegram.say(ADA, text)
            waited(lambda: len(telegram.said) > before)
            return telegram.said[-1]

        assert asked("/new") == "There are no messages here yet."
        assert asked("hello") == "You said: hello"
        usage = asked("/usage")
        assert "requests: 1" in usage
        assert "the model sees: 3 of 3 messages" in usage
        assert asked("/compress the ships").startswith("Nothing was changed: ")
        assert asked("/undo").endswith("has no compaction or edit that could be undone.")
        assert asked("!new").startswith("Started a new conversation. The previous one is kept as 20")
        assert asked("hello again") == "You said: hello again"
        assert asked("/tmp is full") == "You said: /tmp is full"
        assert asked("/frobnicate").startswith("There is no /frobnicate here.")
        assert "/compress [FOCUS]" in asked("/start")
    assert [said_by_people(log) for log in logs(tmp_path)] == [["hello"], ["hello again", "/tmp is full"]]


def test_compress_and_undo_by_hand(telegram: TelegramServer, tmp_path: Path):
    words = "the quay is wet and the ropes are new " * 60
    with ScriptedServer(lambda request: say(words)) as server:
        more = {"compression": {"background": False, "protect_last_n": 2, "target_ratio": 0.1}}
        with running(telegram, server, tmp_path, model={"context_length": 20_000}, **more):
            for number in range(6):
                telegram.say(ADA, f"{number} {words}")
                waited(lambda number=number: len(telegram.said) == number + 1)
            telegram.say(ADA, "/compress")
            waited(lambda: len(telegram.said) == 7)
            telegram.say(ADA, "/undo")
            waited(lambda: len(telegram.said) == 8)
    assert telegram.said[6].startswith("Compacted: 13 → ")
    assert telegram.said[7].startswith("Undone: ")
    assert "→ 13 messages" in telegram.said[7]
    assert [event.outcome for event in compactions(tmp_path)] == ["compacted", "undone"]


def test_a_failed_request_is_reported_and_the_next_message_has_everything(
    telegram: TelegramServer, tmp_path: Path
):
    script = [fault(400), lambda request: say("fine now")]
    with ScriptedServer(script) as server, running(telegram, server, tmp_path):
        telegram.say(ADA, "one")
        waited(lambda: len(telegram.said) == 1)
        telegram.say(ADA, "two")
        waited(lambda: len(telegram.said) == 2)
    assert telegram.said[0].startswith("I could not answer: ")
    assert telegram.said[1] == "fine now"
    (log,) = logs(tmp_path)
    assert said_by_people(log) == ["one", "two"]


def test_a_busy_telegram_delays_its_answer_and_a_person_who_blocked_the_bot_delays_no_other(
    telegram: TelegramServer, tmp_path: Path
):
    telegram.faults = [Refusal(429, "Too Many Requests: retry after 1", retry_after=1)]
    with ScriptedServer() as server, running(telegram, server, tmp_path, users=["41", "42"]):
        telegram.say(BOB, "I am off")
        telegram.chats[42].blocked = True
        telegram.say(ADA, "hello")
        waited(lambda: telegram.said == ["You said: hello"])
        waited(lambda: looked(tmp_path, lambda store: store.inbox("telegram:7007").waiting()) == [])


def test_the_token_is_in_no_log_and_in_no_error(
    telegram: TelegramServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    wrong = {**ENVIRON, "BOT_TOKEN": "7007:AAE-another-token-that-nobody-knows"}
    with ScriptedServer() as server:
        with running(telegram, server, tmp_path):
            telegram.say(ADA, "hello")
            waited(lambda: telegram.said)
        sections = settings_of(server, gateway=section(telegram, ["41"]))
        with RunningGateway(checked(sections), tmp_path / "other", environ=wrong):
            waited(lambda: "Telegram rejected the token" in caplog.text)
    assert "getUpdates" in caplog.text
    assert TOKEN not in caplog.text
    assert "another-token" not in caplog.text
    with pytest.raises(MissingKey, match=r"gateway\.telegram\.token names \$\{BOT_TOKEN\}, which is not set"):
        configured(checked(sections).gateway, {})


def test_updates_whose_numbers_begin_anew_after_a_quiet_week_are_read(
    telegram: TelegramServer, tmp_path: Path
):
    with ScriptedServer() as server:
        with running(telegram, server, tmp_path):
            telegram.say(ADA, "one")
            waited(lambda: len(telegram.said) == 1)
            waited(lambda: telegram.offsets[-1] is None)
            telegram.restart_numbers(100)
            telegram.say(ADA, "two")
            waited(lambda: len(telegram.said) == 2)
        telegram.restart_numbers(50)
        telegram.say(ADA, "three")
        with running(telegram, server, tmp_path):
            waited(lambda: len(telegram.said) == 3)
    (log,) = logs(tmp_path)
    assert said_by_people(log) == ["one", "two", "three"]


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_answers_leaves_nothing_unanswered_and_nothing_twice(
    telegram: TelegramServer, tmp_path: Path
):
    asked, go = threading.Event(), threading.Event()

    def hanging(request: ChatRequest) -> ScriptedAnswer:
        asked.set()
        go.wait(60)
        return say("too late")

    with ScriptedServer([hanging, lambda request: say(f"{len(request.messages)} messages")]) as server:
        sections = settings_of(server, gateway=section(telegram, ["41"]))
        with GatewayProcess(tmp_path, sections, ENVIRON) as gateway:
            telegram.say(ADA, "one")
            assert asked.wait(60)
            telegram.say(ADA, "two")
            waited(lambda: 903 in telegram.offsets)
            gateway.end(signal.SIGKILL)
        go.set()
        leases_run_out(tmp_path)
        telegram.say(ADA, "three")
        with GatewayProcess(tmp_path, sections, ENVIRON):
            waited(lambda: telegram.said)
            waited(lambda: looked(tmp_path, lambda store: store.inbox("telegram:7007").waiting()) == [])
        with GatewayProcess(tmp_path, sections, ENVIRON):
            server.extend(say("and this is another one"))
            telegram.say(ADA, "four")
            waited(lambda: telegram.said[-1:] == ["and this is another one"])
    (log,) = logs(tmp_path)
    assert said_by_people(log) == ["one", "two", "three", "four"]
    assert len(telegram.said) == 2
    assert TOKEN not in (tmp_path / "gateway.log").read_text("utf-8")


def test_the_command_says_who_is_answered_and_does_not_start_without_the_token(tmp_path: Path):
    (tmp_path / "config.yaml").write_text(
        'gateway: {telegram: {token: "${BOT_TOKEN}", allowed_users: ["41"]}, '
        'matrix: {homeserver: "http://127.0.0.1:9", token: "${MATRIX_TOKEN}"}}'
    )
    done = subprocess.run(
        [sys.executable, "-m", "plimsoll.terminal.main", "gateway"],
        env={
            "PATH": os.environ["PATH"],
            "PLIMSOLL_HOME": str(tmp_path),
            "MATRIX_TOKEN": "syt_only_for_tests",
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "Telegram: answering 1 person." in done.stderr
    assert "Matrix: answering NOBODY, because gateway.matrix.allowed_users" in done.stderr
    assert "gateway.telegram.token names ${BOT_TOKEN}, which is not set" in done.stderr
    assert "syt_only" not in done.stderr
