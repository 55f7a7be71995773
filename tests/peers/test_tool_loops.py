"""Adapters in their real hosts, in long tool loops: the agent's own tools, and the views of the core.

host + adapter ──► scripted server      what the model saw
      └─ records ──► core again         the same view for the same canonical messages
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from adapters import KEPT, LOOPS, AdapterCase
from observed import breaks, cached_share, cold
from processes import run_client
from script import FILLER, SHIPS, long_answers, long_questions, look_up_each

from plimsoll.integrations import ChatCodec, HistoryCompactor, HostView
from plimsoll.messages import Message, arguments_of, call_name, text_of, tool_calls, validate
from plimsoll.testing.scripted_server import CapturedRequest, ScriptedServer

QUESTIONS = 4


@pytest.fixture(autouse=True)
def every_request_extends_the_one_before() -> None:
    """Instead of the suite's check: the tests count the requests that do not, which are compactions."""
    return


def lookup(key: str) -> str:
    """What the tool of the drivers returns."""
    return f"{key} lies at pier {len(key) + int(key[-1])}. {FILLER * 8}"


def said(messages: Sequence[Message]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """What the model reads, whatever the wire: role, text and calls; neighbours that a wire joins are one."""
    found: list[tuple[str, str, list[tuple[str, str]]]] = []
    for one in messages:
        calls = [
            (call_name(call), json.dumps(arguments_of(call), sort_keys=True)) for call in tool_calls(one)
        ]
        role, text = str(one["role"]), text_of(one)
        if found and found[-1][0] == role and role in ("system", "user"):
            found[-1] = (role, f"{found[-1][1]}\n{text}", calls)
        else:
            found.append((role, text, calls))
    return found


def replayed(case: AdapterCase, records: Sequence[Mapping[str, Any]]) -> list[list[Message]]:
    """The views of the core for the same canonical messages, without the host."""
    views: list[list[Message]] = []
    options = {"window": case.loop_window, "protect_last_n": KEPT, "recall": "recall" in case.tools}
    with HistoryCompactor(**options) as history:
        found: HostView[Message] | None = None
        for record in records:
            if "asked" in record:
                found = history.view(ChatCodec(), record["messages"], **record["asked"])
                views.append(found.canonical)
            elif "observed" in record:
                assert found
                history.observe(found, record["observed"])
            else:
                assert found
                history.replaced(ChatCodec(), found)
    return views


def check_requests(case: AdapterCase, requests: Sequence[CapturedRequest], compactions: int) -> None:
    """Every request was valid and within the window, and only compactions changed its beginning."""
    assert [(seen.status, seen.refusal) for seen in requests if seen.status != 200] == []
    assert max(seen.usage.prompt_tokens for seen in requests if seen.usage) <= case.loop_window
    assert compactions >= 3
    assert (
        compactions
        <= len(breaks(requests))
        <= compactions + (QUESTIONS + len(case.tools) - 1 if case.rewrites else 0)
    )
    assert cold(requests) == []
    assert cached_share(requests) > 0.5
    for seen in requests:
        assert seen.request
        assert validate(list(seen.request.messages), "openai") == []


@pytest.mark.parametrize("case", LOOPS, ids=lambda case: case.name)
def test_a_long_tool_loop_gets_the_views_of_the_core_and_the_tools_of_the_adapter(
    case: AdapterCase, tmp_path: Path
) -> None:
    assert case.peer.is_installed, f"{case.peer.name} is not installed; run `make peers`"
    file = tmp_path / "records.jsonl"
    asked = {"recall": ("Recall ship17.", "Recalled."), "compact_context": ("Compact now.", "Compacted.")}
    extra = [asked[name] for name in case.tools]
    with ScriptedServer(look_up_each, model=case.model, window=case.loop_window) as server:
        task = {
            "url": server.url,
            "model": case.model,
            "code": case.code(
                server.url, case.loop_window, ", recall=True" if "recall" in case.tools else ""
            ),
            "records": str(file),
            "questions": [*long_questions(QUESTIONS), *(question for question, _ in extra)],
        }
        done = run_client(case.command, task, tmp_path / "client", {})
    assert done["answers"] == [*long_answers(QUESTIONS), *(answer for _, answer in extra)]
    assert [
        n for n in range(QUESTIONS * SHIPS) if json.dumps(lookup(f"ship{n}"))[1:-1] not in done["stored"]
    ] == []
    records = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    views = [one for one in records if "asked" in one]
    check_requests(case, server.requests, sum(one["compacted"] for one in views))
    assert [one["view"] for one in views] == replayed(case, records)
    # A host that goes on from a view asks only when it is due, so only those requests can be compared.
    if len(views) >= len(server.requests):
        sent = {json.dumps(said(one["view"])) for one in views}
        seen = [json.dumps(said(list(one.request.messages))) for one in server.requests if one.request]
        assert [one for one in seen if one not in sent] == []
