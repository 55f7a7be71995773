"""The tools of an adapter in its real host: the agent compacts its own context and reads back what was removed."""

import re
from pathlib import Path

import pytest
from adapters import ADAPTERS, AdapterCase
from observed import breaks
from processes import run_client
from script import FILLER, answer_with_tools

from plimsoll.context.markers import is_summary
from plimsoll.testing.pressure import window_usage_mentions
from plimsoll.testing.scripted_server import CapturedRequest, ScriptedServer

WINDOW = 12_000  # the questions take half of the threshold: only what the agent asks for is compacted
SHIPS = 12
QUIET = {"OPENAI_AGENTS_DISABLE_TRACING": "1", "LANGSMITH_TRACING": "false"}


@pytest.fixture(autouse=True)
def every_request_extends_the_one_before() -> None:
    """Instead of the suite's check: the test counts the requests that do not."""
    return


def summaries(seen: CapturedRequest) -> int:
    """How many summaries a request has."""
    assert seen.request is not None
    return sum(map(is_summary, seen.request.messages))


@pytest.mark.parametrize("case", [one for one in ADAPTERS if one.tools], ids=lambda case: case.name)
def test_an_agent_compacts_its_context_and_recalls_what_was_removed(
    case: AdapterCase, tmp_path: Path
) -> None:
    assert case.peer.is_installed, f"{case.peer.name} is not installed; run `make peers`"
    ships = [f"ship{number}: where does it lie? {FILLER}".strip() for number in range(SHIPS)]
    questions = [*ships, "Compact after ship11.", "ship12: where does it lie?", "Recall ship3."]
    with ScriptedServer(answer_with_tools, model=case.model, window=WINDOW) as server:
        task = {
            "url": server.url,
            "model": case.model,
            "questions": questions,
            "code": case.code_with_tools(server.url, WINDOW),
        }
        done = run_client(case.command, task, tmp_path / "host", QUIET)
    # The tools work: what is recalled was summarised before.
    *_, compacted, later, recalled = done["answers"]
    assert compacted == "Compacted."
    assert "ship3 lies at pier 8" in recalled
    assert re.match("ship12 lies at pier", later)
    # One compaction, when the agent asked for it, and nothing else breaks the prefix.
    seen = list(server.requests)
    assert [(one.status, one.refusal) for one in seen if one.status != 200] == []
    broken = breaks(seen)
    assert len(broken) == 1
    assert [summaries(one) for one in seen] == [0] * broken[0] + [1] * (len(seen) - broken[0])
    assert window_usage_mentions(one.body for one in seen if one.body) == []
