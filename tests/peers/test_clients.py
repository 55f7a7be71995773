"""Real clients through a real gateway: the same answers as without it, in a window that is too small for them."""

from pathlib import Path

import pytest
from cases import CASES, Case
from peer_results import Result, Results
from processes import run_client, running_gateway
from script import QUESTIONS, answer, newest_part

from plimsoll.testing.scripted_server import Captured, ScriptedServer, say

SUMMARY = "The user asks where ships lie. Each ship was looked up in the register and reported."


def talk(case: Case, url: str, folder: Path) -> list[str]:
    """One conversation of this client with a server."""
    task = {
        "url": url,
        "api": case.api,
        "model": case.model,
        "program": case.program,
        "folder": str(folder),
        "questions": QUESTIONS,
    }
    return run_client(case.driver_command, task, folder, {"PEER_FOLDER": str(case.peer.folder)})


def turns_of(case: Case, requests: list[Captured]) -> list[list[tuple[str, str]]]:
    """What each request of the conversation asks, without side requests such as titles."""
    asked = []
    for seen in requests:
        assert seen.request is not None, seen.refusal
        if seen.request.tools or not case.uses_tools:
            asked.append(newest_part(seen.request.messages))
    return asked


def check_answered(case: Case, answers: list[str], requests: list[Captured], expected: "Direct") -> None:
    """The client got the answers of a large window, and each of its requests arrived with its newest part."""
    assert answers == expected.answers
    assert [(seen.status, seen.refusal) for seen in requests if seen.status != 200] == []
    assert turns_of(case, requests) == expected.turns
    assert max(seen.usage.prompt_tokens for seen in requests if seen.usage) <= case.window


class Direct:
    """The same conversation without the gateway, in a window that holds all of it."""

    def __init__(self, case: Case, folder: Path) -> None:
        with ScriptedServer(answer, model=case.model, window=900_000) as server:
            self.answers = talk(case, server.url, folder)
        assert [(seen.status, seen.refusal) for seen in server.requests if seen.status != 200] == []
        self.turns = turns_of(case, server.requests)


@pytest.mark.rewrites_history("a compaction shortens the history, and the second run starts over")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_client_gets_the_same_answers_twice_through_a_window_that_it_does_not_know(
    case: Case, tmp_path: Path, results: Results
) -> None:
    assert case.peer.is_installed, f"{case.client} is not installed; run `make peers`"
    expected = Direct(case, tmp_path / "direct")
    assert len(expected.answers) == len(QUESTIONS)
    with (
        ScriptedServer(lambda _: say(SUMMARY)) as summaries,
        ScriptedServer(answer, model=case.model, window=case.window) as server,
        running_gateway(server, summaries, case.upstream, case.window, tmp_path / "plimsoll") as gateway,
    ):
        answers = talk(case, gateway.url, tmp_path / "first")
        so_far = len(server.requests)
        check_answered(case, answers, server.requests, expected)
        first = gateway.compactions()
        assert first >= 2
        again = talk(case, gateway.url, tmp_path / "second")
        check_answered(case, again, server.requests[so_far:], expected)
        second = gateway.compactions() - first
    results.add(Result.of(case, len(expected.turns), first, second))
