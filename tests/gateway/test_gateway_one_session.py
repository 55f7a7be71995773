"""A conversation is one stored session, whatever its client does with the messages that wait for an answer."""

from pathlib import Path

import pytest
from clients import FILLER, http
from gateway_server import RunningGateway, settings_for
from messaging_rooms import looked

from message_builders import user
from plimsoll.archive import ArchiveStore
from plimsoll.config import Settings
from plimsoll.messages import Message
from plimsoll.testing.scripted_server import ScriptedServer, say

WINDOW = 8_000
SYSTEM: Message = {"role": "system", "content": "Be brief."}
PAGES = "The files as they are now: " + FILLER * 6
Stored = tuple[str, int, list[Message]]  # a session, its compactions, its log


def settings_of(server: ScriptedServer) -> Settings:
    return settings_for(
        server,
        "openai",
        model={"context_length": WINDOW},
        compression={"protect_last_n": 4, "background": False},
    )


def ask(url: str, messages: list[Message]) -> tuple[Message, str]:
    """The answer to a request, and the session that it names."""
    body = {"model": "gpt-4.1", "max_tokens": 100, "messages": messages}
    reply = http().post(f"{url}/v1/chat/completions", json=body)
    assert reply.status_code == 200, reply.text
    answer = {"role": "assistant", "content": reply.json()["choices"][0]["message"]["content"]}
    return answer, reply.headers.get("x-plimsoll-session", "")


def question(number: int, name: str = "ship") -> str:
    return f"{name}{number}: {FILLER * 10}"


def stored(home: Path) -> list[Stored]:
    async def look(store: ArchiveStore) -> list[Stored]:
        found = []
        for session in sorted(await store.sessions(), key=lambda one: one.created):
            archive = store.for_owner(session.owner)
            events = await archive.compactions(session.id)
            log = [one.message for one in await archive.messages(session.id)]
            found.append((session.id, sum(event.outcome == "compacted" for event in events), log))
        return found

    found: list[Stored] = looked(home, look)
    return found


@pytest.mark.rewrites_history("the client changes its last message each turn")
def test_a_client_that_changes_its_last_message_each_turn_has_one_session_that_a_restart_finds_again(
    tmp_path: Path,
) -> None:
    """As aider does: the newest message carries the files, and goes into the history without them."""
    said, named = [SYSTEM], list[str]()
    with ScriptedServer(lambda _request: say("Written down.")) as server:
        for life in range(3):
            with RunningGateway(settings_of(server), tmp_path) as gateway:
                for number in range(20 * life, 20 * life + 20):
                    asked, history = question(number), list(said)
                    answer, session = ask(gateway.url, [*said, user(f"{asked}\n{PAGES}")])
                    said += [user(asked), answer]
                    named += [session] if session or named else []
    ((session, compactions, log),) = stored(tmp_path)
    assert set(named) == {session}
    assert compactions >= 3
    assert log == history, "everything that a request brought back"


@pytest.mark.rewrites_history("side requests branch off")
def test_side_requests_that_branch_off_leave_a_conversation_one_session_without_them(tmp_path: Path) -> None:
    said = [SYSTEM]
    with ScriptedServer(lambda _request: say("Written down.")) as server:
        for life in range(2):
            with RunningGateway(settings_of(server), tmp_path) as gateway:
                for number in range(35 * life, 35 * life + 35):
                    said.append(user(question(number)))
                    said.append(ask(gateway.url, said)[0])
                    ask(gateway.url, [*said, user("A title for this, please.")])
    ((_, compactions, log),) = stored(tmp_path)
    assert compactions >= 3
    assert log == said


@pytest.mark.rewrites_history("the client goes back and continues differently")
def test_a_client_that_rewinds_before_what_is_stored_has_a_session_of_its_own(tmp_path: Path) -> None:
    with (
        ScriptedServer(lambda _request: say("Written down.")) as server,
        RunningGateway(settings_of(server), tmp_path) as gateway,
    ):
        said = [SYSTEM]
        for number in range(30):
            said.append(user(question(number)))
            said.append(ask(gateway.url, said)[0])
        other = said[:25]
        for number in range(30):
            other.append(user(question(number, "boat")))
            other.append(ask(gateway.url, other)[0])
    (_, first, log), (_, second, branch) = stored(tmp_path)
    assert min(first, second) >= 1
    assert (log[: len(said) - 2], branch[: len(other) - 2]) == (said[:-2], other[:-2])
