"""Codex's own compaction: the gateway writes the compaction item, and every provider can read it afterwards."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cases import CASES
from observed import breaks, cold, conversation
from processes import running_gateway
from script import QUESTIONS, answer
from test_clients import SUMMARY, settings_of, talk

from plimsoll.context.markers import SUMMARY_LABEL
from plimsoll.testing.scripted_server import ScriptedServer, say

CODEX = next(case for case in CASES if case.client == "codex")
COMPACT, COMPACTIONS, TURNS_BETWEEN = "/compact", 3, 5


@pytest.fixture(autouse=True)
def every_request_extends_the_one_before() -> None:
    """Instead of the suite's net: Codex replaces its history."""
    return


@pytest.mark.parametrize("upstream", ["responses", "anthropic"])
def test_codex_compacts_with_its_own_command_and_continues_with_a_warm_cache(
    upstream: str, tmp_path: Path
) -> None:
    case = replace(CODEX, driver="codex_app_server.py", upstream=upstream)
    questions, expected = [], []
    for part in range(COMPACTIONS + 1):
        numbers = range(part * TURNS_BETWEEN, (part + 1) * TURNS_BETWEEN)
        questions += [QUESTIONS[number] for number in numbers]
        expected += [f"ship{number} lies at pier {number + 3}." for number in numbers]
        if part < COMPACTIONS:
            questions.append(COMPACT)
            expected.append("contextCompaction")
    with (
        ScriptedServer(lambda _: say(SUMMARY)) as summaries,
        ScriptedServer(answer, model=case.model, window=case.window) as server,
        running_gateway(tmp_path / "plimsoll", settings_of(case, server, summaries)) as gateway,
    ):
        assert talk(case, gateway.url, tmp_path / "client", case.model, questions) == expected
        own = gateway.compactions()
    seen = server.requests
    assert [(one.status, one.refusal) for one in seen if one.status != 200] == []
    assert [one for one in seen if '"type": "compaction' in json.dumps(one.body)] == []
    main = conversation(case, seen)
    assert len(main) == 2 * TURNS_BETWEEN * (COMPACTIONS + 1), "no compaction asks the provider"
    assert max(one.usage.prompt_tokens for one in main if one.usage) <= case.window
    assert f'"text": "{SUMMARY_LABEL}' in json.dumps(main[-1].body), "the item is a text of the user"
    assert COMPACTIONS <= len(breaks(main)) <= COMPACTIONS + own
    assert cold(main) == []
