"""An account on a real Matrix homeserver: conversations in rooms, and a night that nobody answered."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gateway_server import RunningGateway
from messaging_rooms import (
    GatewayProcess,
    answers,
    checked,
    compactions,
    logs,
    looked,
    said_by_people,
    settings_of,
)
from messaging_rooms import waited as waited_for
from synapse_server import Person, Synapse

from plimsoll.archive import ArchiveStore
from plimsoll.dialects import ChatRequest
from plimsoll.messages import text_of
from plimsoll.testing.scripted_server import ScriptedAnswer, ScriptedServer, say

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("matrix")]

NIGHT = 300
WINDOW = 10_000
SUMMARY = """## Goal
Have the harbour's night looked after.

## Constraints & Preferences
(none)

## Progress
### Done
Ships came in one after another and were written down.
### In Progress
The list of ships.
### Blocked
(none)

## Key Decisions
(none)

## Relevant Files
(none)

## Next Steps
Tell Ada what came in.

## Critical Context
(none)
"""


@pytest.fixture(scope="module")
def homeserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synapse]:
    with Synapse(tmp_path_factory.mktemp("homeserver")) as synapse:
        yield synapse


@pytest.fixture
def people(homeserver: Synapse, request: pytest.FixtureRequest) -> Iterator[tuple[Person, Person]]:
    """Plimsoll's account and Ada, new for each test."""
    number = time.monotonic_ns()
    both = homeserver.person(f"plimsoll{number}"), homeserver.person(f"ada{number}")
    yield both
    for one in both:
        one.close()


def sections(homeserver: Synapse, server: ScriptedServer, users: list[str], **more: Any) -> dict[str, Any]:
    matrix = {"homeserver": homeserver.url, "token": "${MATRIX_TOKEN}", "allowed_users": users}
    return settings_of(server, gateway={"matrix": matrix}, **more)


def environ(plimsoll: Person) -> dict[str, str]:
    return {"MATRIX_TOKEN": plimsoll.token, "ANTHROPIC_API_KEY": "sk-ant-for-tests-only-0123456789"}


def waited(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Looks less often: every look is work for the homeserver."""
    return waited_for(condition, seconds, 0.25)


def waiting(home: Path, plimsoll: Person) -> int:
    async def look(store: ArchiveStore) -> int:
        return len(await store.inbox(f"matrix:{plimsoll.id}").waiting())

    found: int = looked(home, look)
    return found


def test_a_room_is_one_conversation_from_the_invitation_on(
    homeserver: Synapse, people: tuple[Person, Person], tmp_path: Path
):
    plimsoll, ada = people
    room = ada.room(plimsoll)
    ada.say(room, "Which ships came in?")  # before anybody is there
    with ScriptedServer() as server:
        settings = checked(sections(homeserver, server, [ada.id]))
        with RunningGateway(settings, tmp_path, environ=environ(plimsoll)):
            waited(lambda: ada.heard(room, plimsoll))
            first = ada.say(room, "And which left?")
            waited(lambda: len(ada.heard(room, plimsoll)) == 2)
            edit = {"rel_type": "m.replace", "event_id": first}
            new = {"msgtype": "m.text", "body": "And which stayed?"}
            ada.say(room, "* And which stayed?", **{"m.relates_to": edit, "m.new_content": new})
            ada.post(room, {"msgtype": "m.notice", "body": "an automatic notice"})
            ada.post(room, {"msgtype": "m.image", "body": "quay.png", "url": "mxc://harbour.test/abc"})
            waited(lambda: len(ada.heard(room, plimsoll)) == 3)
            ada.post(room, {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "x"}, "m.room.encrypted")
            waited(lambda: len(ada.heard(room, plimsoll)) == 4)
            ada.say(room, "!usage")
            said = waited(lambda: (all := ada.heard(room, plimsoll)) and len(all) == 5 and all)
    assert said[:2] == ["You said: Which ships came in?", "You said: And which left?"]
    assert said[2] == "I can only read text, not this (image)."
    assert said[3].startswith("I cannot read encrypted rooms")
    assert "requests: 2" in said[4]
    (log,) = logs(tmp_path)
    assert said_by_people(log) == ["Which ships came in?", "And which left?"]


def test_invitations_of_strangers_are_left_alone_and_a_room_of_three_names_the_speaker(
    homeserver: Synapse, people: tuple[Person, Person], tmp_path: Path
):
    plimsoll, ada = people
    stranger = homeserver.person(f"mallory{time.monotonic_ns()}")
    theirs, ours = stranger.room(plimsoll), ada.room(plimsoll, stranger)
    stranger.join(ours)
    with ScriptedServer() as server:
        settings = checked(sections(homeserver, server, [ada.id]))
        with RunningGateway(settings, tmp_path, environ=environ(plimsoll)):
            waited(lambda: plimsoll.id in ada.members(ours))
            stranger.say(ours, "do as I say")
            ada.say(ours, "hello")
            (said,) = waited(lambda: ada.heard(ours, plimsoll))
    name = ada.id[1:].partition(":")[0]
    assert said == f"You said: {name}: hello"
    assert stranger.members(theirs) == {stranger.id}
    stranger.close()


def test_an_answer_being_written_is_shown_and_a_long_one_comes_in_parts(
    homeserver: Synapse, people: tuple[Person, Person], tmp_path: Path
):
    plimsoll, ada = people
    room = ada.room(plimsoll)
    seen: list[bool] = []
    long = "\n".join(f'{number}: "ahoy" 東京 ⛵' for number in range(5_000))

    def slow(request: ChatRequest) -> ScriptedAnswer:
        since = None
        for _ in range(20):
            since, typing = ada.sees_typing(room, since)
            seen.append(typing)
            if typing:
                break
        return say(long)

    with ScriptedServer([slow]) as server:
        settings = checked(sections(homeserver, server, [ada.id]))
        with RunningGateway(settings, tmp_path, environ=environ(plimsoll)):
            ada.say(room, "tell me")
            waited(lambda: "".join("".join(ada.heard(room, plimsoll)).split()) == "".join(long.split()))
    assert len(ada.heard(room, plimsoll)) > 2
    assert any(seen)


@pytest.mark.rewrites_history("hygiene compacts the session before the night is answered")
def test_a_night_of_messages_gets_one_answer_and_hygiene_runs_once(
    homeserver: Synapse, people: tuple[Person, Person], tmp_path: Path
):
    plimsoll, ada = people
    room = ada.room(plimsoll)
    night = [
        f"{number}: the ship Meridian-{number} came in at berth {number % 40} with {number * 17} tons of grain"
        " and asked for a pilot, water and a customs officer before the morning tide"
        for number in range(1, NIGHT + 1)
    ]
    turns: list[ChatRequest] = []

    def model(request: ChatRequest) -> ScriptedAnswer:
        if any("## Critical Context" in text_of(m) and m["role"] == "user" for m in request.messages[-1:]):
            return say(SUMMARY)
        turns.append(request)
        return say(f"Answer {len(turns)}: the last one was {text_of(request.messages[-1])[-60:]}")

    with ScriptedServer(model, window=WINDOW) as server:
        asked = sections(
            homeserver, server, [ada.id], model={"context_length": WINDOW, "max_output_tokens": 500}
        )
        with GatewayProcess(tmp_path, asked, environ(plimsoll)):
            ada.say(room, "Good evening. Look after the harbour.")
            waited(lambda: len(ada.heard(room, plimsoll)) == 1)
            waited(lambda: waiting(tmp_path, plimsoll) == 0)
        for text in night:
            ada.say(room, text)
        with GatewayProcess(tmp_path, asked, environ(plimsoll)):
            waited(lambda: len(ada.heard(room, plimsoll)) == 2, 120)
            waited(lambda: waiting(tmp_path, plimsoll) == 0)
        with GatewayProcess(tmp_path, asked, environ(plimsoll)):
            ada.say(room, "Thank you.")
            waited(lambda: len(ada.heard(room, plimsoll)) >= 3)
            waited(lambda: waiting(tmp_path, plimsoll) == 0)

    # One answer to the night, after it the one to the next morning, and none of them twice.
    said = ada.heard(room, plimsoll)
    assert [text.partition(":")[0] for text in said] == ["Answer 1", "Answer 2", "Answer 3"]
    assert "before the morning tide" in said[1]
    # Every message is stored, once and in order.
    (log,) = logs(tmp_path)
    assert said_by_people(log) == ["Good evening. Look after the harbour.", *night, "Thank you."]
    assert answers(log) == said
    # The session was made lighter once, before the agent began, and the model saw the newest words as they are.
    (event,) = compactions(tmp_path)
    assert (event.trigger, event.outcome) == ("hygiene", "compacted")
    assert event.tokens_before >= 0.85 * WINDOW > event.tokens_after
    assert text_of(turns[1].messages[-1]).endswith(night[-1])
    assert len(turns[1].messages) < NIGHT / 2
    assert plimsoll.token not in (tmp_path / "gateway.log").read_text("utf-8")
