"""Real clients through a real gateway: the same answers as without it, in a window that is too small for them."""

import re
import shutil
from pathlib import Path

import pytest
from cases import CASES, Case
from peer_results import Result, Results
from processes import run_client, running_gateway
from script import QUESTIONS, answer, newest_part

from plimsoll.testing.pressure import told_how_full
from plimsoll.testing.scripted_server import CapturedRequest, ScriptedServer, say

SUMMARY = "The user asks where ships lie. Each ship was looked up in the register and reported."


def settings_of(case: Case, summaries: ScriptedServer) -> dict[str, str]:
    """A small window; summaries come from a server of their own, so the other sees only what the client asked."""
    return {
        "MODEL__CONTEXT_LENGTH": str(case.window),
        "COMPRESSION__PROTECT_LAST_N": "4",
        "AUXILIARY__COMPRESSION__PROVIDER": "scripted",
        "AUXILIARY__COMPRESSION__BASE_URL": summaries.openai_url,
        "AUXILIARY__COMPRESSION__MODEL": "gpt-4.1",
    }


def talk(case: Case, url: str, folder: Path, model: str) -> list[str]:
    """One conversation of this client with a server, in a folder that is new and has the same name each time."""
    shutil.rmtree(folder, ignore_errors=True)
    task = {
        "url": url,
        "api": case.api,
        "model": model,
        "program": case.program,
        "folder": str(folder),
        "questions": QUESTIONS,
    }
    return run_client(case.driver_command, task, folder, {"PEER_FOLDER": str(case.peer.folder)})


def conversation(case: Case, requests: list[CapturedRequest]) -> list[CapturedRequest]:
    """The requests without side requests such as titles, which bring no tools."""
    return [seen for seen in requests if not case.uses_tools or (seen.body or {}).get("tools")]


def asked(case: Case, requests: list[CapturedRequest]) -> list[list[tuple[str, str]]]:
    """What each request wants answered. Reminders may name the model, so they count only for the same one."""
    hidden = re.compile(
        r"<system-reminder>.*?</system-reminder>" if case.direct_model else r"(?!)", re.DOTALL
    )
    return [
        [(role, hidden.sub("", text)) for role, text in newest_part(seen.request.messages)]
        for seen in requests
        if seen.request
    ]


def fields_of(requests: list[CapturedRequest]) -> set[str]:
    """The fields that every one of the requests has."""
    return set.intersection(*[set(seen.body or {}) for seen in requests])


def cached_share(requests: list[CapturedRequest]) -> float:
    """The share of the prompt tokens that the provider read from its cache."""
    usages = [seen.usage for seen in requests if seen.usage]
    return sum(usage.cache_read_tokens or 0 for usage in usages) / sum(
        usage.prompt_tokens for usage in usages
    )


def pressure(requests: list[CapturedRequest]) -> set[str]:
    """What the requests tell the model about how full its window is, without numbers."""
    return {re.sub(r"\d+", "N", told) for told in told_how_full(seen.body for seen in requests if seen.body)}


def check_answered(
    case: Case, answers: list[str], requests: list[CapturedRequest], expected: "Direct"
) -> None:
    """The client got the answers of a large window, and each of its requests arrived with its newest part."""
    assert answers == expected.answers
    assert [(seen.status, seen.refusal) for seen in requests if seen.status != 200] == []
    main = conversation(case, requests)
    assert asked(case, main) == expected.asked
    assert max(seen.usage.prompt_tokens for seen in main if seen.usage) <= case.window
    assert case.api != case.upstream or expected.fields <= fields_of(main)
    assert cached_share(main) > 0.5
    assert pressure(main) <= expected.pressure


class Direct:
    """The same conversation without the gateway, in a window that holds all of it."""

    def __init__(self, case: Case, folder: Path) -> None:
        model = case.direct_model or case.model
        with ScriptedServer(answer, model=model, window=900_000) as server:
            self.answers = talk(case, server.url, folder, model)
        assert [(seen.status, seen.refusal) for seen in server.requests if seen.status != 200] == []
        main = conversation(case, server.requests)
        self.asked, self.fields, self.pressure = asked(case, main), fields_of(main), pressure(main)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_client_gets_the_same_answers_twice_through_a_window_that_it_does_not_know(
    case: Case, tmp_path: Path, results: Results
) -> None:
    assert case.peer.is_installed, f"{case.client} is not installed; run `make peers`"
    folder = tmp_path / "client"
    expected = Direct(case, folder)
    assert len(expected.answers) == len(QUESTIONS)
    with (
        ScriptedServer(lambda _: say(SUMMARY)) as summaries,
        ScriptedServer(answer, model=case.model, window=case.window) as server,
        running_gateway(
            server, case.upstream, tmp_path / "plimsoll", settings_of(case, summaries)
        ) as gateway,
    ):
        answers = talk(case, gateway.url, folder, case.model)
        so_far = len(server.requests)
        check_answered(case, answers, server.requests, expected)
        first = gateway.compactions()
        assert first >= 2
        again = talk(case, gateway.url, folder, case.model)
        check_answered(case, again, server.requests[so_far:], expected)
        second = gateway.compactions() - first
    share = cached_share(conversation(case, server.requests))
    results.add(Result.of(case, len(expected.asked), first, second, share))
