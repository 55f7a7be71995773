"""Real clients through a real gateway: the same answers as without it, in a window that is too small for them."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from cases import CASES, Case
from observed import (
    asked,
    breaks,
    cached_share,
    cold,
    conversation,
    fields_of,
    marked_places,
    pressure,
    system_texts,
)
from peer_results import Result
from processes import run_client, running_gateway, upstream_settings
from recipes import Recipe, read_recipes
from script import QUESTIONS, answer

from plimsoll.testing.scripted_server import CapturedRequest, ScriptedServer, say

SUMMARY = "The user asks where ships lie. Each ship was looked up in the register and reported."


def settings_of(case: Case, server: ScriptedServer, summaries: ScriptedServer) -> dict[str, str]:
    """A small window; summaries come from a server of their own, so the other sees only what the client asked."""
    return {**upstream_settings(server, case.upstream), **compaction_settings(case, summaries)}


def compaction_settings(case: Case, summaries: ScriptedServer) -> dict[str, str]:
    """The same without the upstream."""
    return {
        "MODEL__CONTEXT_LENGTH": str(case.window),
        "COMPRESSION__PROTECT_LAST_N": "4",
        "AUXILIARY__COMPRESSION__PROVIDER": "scripted",
        "AUXILIARY__COMPRESSION__BASE_URL": summaries.openai_url,
        "AUXILIARY__COMPRESSION__MODEL": "gpt-4.1",
        "PROMPT_CACHING__STRATEGY": case.strategy,
    }


def talk(
    case: Case,
    url: str,
    folder: Path,
    model: str,
    questions: Sequence[str] = QUESTIONS,
    key: str = "any",
) -> list[str]:
    """One conversation of this client with a server, in a folder that is new and has the same name each time."""
    shutil.rmtree(folder, ignore_errors=True)
    recipe = read_recipes(url)[case.recipe] if case.recipe else Recipe()
    task = {
        "url": url,
        "api": case.api,
        "model": model,
        "program": case.program,
        "folder": str(folder),
        "questions": list(questions),
        **recipe.as_json(),
    }
    environment = {"PEER_FOLDER": str(case.peer.folder), "OPENAI_API_KEY": key, **recipe.environment}
    answers: list[str] = run_client(case.driver_command, task, folder, environment, recipe.files)
    return answers


class Direct:
    """The same conversation without the gateway, in a window that holds all of it."""

    def __init__(self, case: Case, folder: Path) -> None:
        model = case.direct_model or case.model
        with ScriptedServer(answer, model=model, window=900_000) as server:
            self.answers = talk(case, server.url, folder, model)
        assert [(seen.status, seen.refusal) for seen in server.requests if seen.status != 200] == []
        main = conversation(case, server.requests)
        self.asked, self.fields, self.pressure = asked(case, main), fields_of(main), pressure(main)
        self.breaks = len(breaks(main))
        self.bodies = [seen.body or {} for seen in main]


def check_answered(case: Case, answers: list[str], requests: list[CapturedRequest], expected: Direct) -> None:
    """The client got the answers of a large window, and each of its requests arrived with its newest part."""
    assert answers == expected.answers
    assert [(seen.status, seen.refusal) for seen in requests if seen.status != 200] == []
    main = conversation(case, requests)
    assert asked(case, main) == expected.asked
    assert max(seen.usage.prompt_tokens for seen in main if seen.usage) <= case.window
    assert case.api != case.upstream or expected.fields <= fields_of(main)
    assert pressure(main) <= expected.pressure


def check_cached(case: Case, requests: list[CapturedRequest], expected: Direct, compactions: int) -> None:
    """Only compactions break the prefix, and the next request reads what a compacted one sent."""
    main = conversation(case, requests)
    assert len(breaks(main)) <= expected.breaks + compactions
    assert cold(main) == []
    assert cached_share(main) > 0.5
    if case.api == case.upstream == "anthropic":
        bodies = [seen.body or {} for seen in main]
        assert list(map(system_texts, bodies)) == list(map(system_texts, expected.bodies))
        if any(map(marked_places, expected.bodies)):
            assert list(map(marked_places, bodies)) == list(map(marked_places, expected.bodies))


@pytest.fixture(autouse=True)
def every_request_extends_the_one_before() -> None:
    """Instead of the suite's nets: clients rewrite their histories, and some tell models how full their windows are.

    `check_cached` and `check_answered` compare with what each client does without the gateway.
    """
    return


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_client_gets_the_same_answers_twice_through_a_window_that_it_does_not_know(
    case: Case, tmp_path: Path, keep_result: Callable[[Result], None]
) -> None:
    assert case.peer.is_installed, f"{case.client} is not installed; run `make peers`"
    folder = tmp_path / "client"
    expected = Direct(case, folder)
    assert len(expected.answers) == len(QUESTIONS)
    with (
        ScriptedServer(lambda _: say(SUMMARY)) as summaries,
        ScriptedServer(answer, model=case.model, window=case.window) as server,
        running_gateway(tmp_path / "plimsoll", settings_of(case, server, summaries)) as gateway,
    ):
        answers = talk(case, gateway.url, folder, case.model)
        so_far = len(server.requests)
        check_answered(case, answers, server.requests, expected)
        first = gateway.compactions()
        assert first >= 2
        check_cached(case, server.requests, expected, first)
        again = talk(case, gateway.url, folder, case.model)
        check_answered(case, again, server.requests[so_far:], expected)
        second = gateway.compactions() - first
        check_cached(case, server.requests[so_far:], expected, first + second)
    share = cached_share(conversation(case, server.requests))
    keep_result(Result.of(case, len(expected.asked), first, second, share))
