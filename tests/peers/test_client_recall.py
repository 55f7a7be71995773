"""`gateway.recall` with real clients: a model reads back what a compaction removed, and its client does not notice.

client   question ─────────────────────────────────────────────────► answer
gateway  request ─► call of plimsoll_recall ─► result ─► request ─►
"""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from cases import CASES, Case
from observed import cold, conversation
from processes import running_gateway
from script import QUESTIONS, answer, called, newest_part
from test_clients import SUMMARY, settings_of, talk

from plimsoll.dialects import ChatRequest, Reply
from plimsoll.gateway.dropin.recall_definition import NAME
from plimsoll.messages import Message, answered_id, call_name, text_of, tool_calls, validate
from plimsoll.testing.prefix import prefix_parts
from plimsoll.testing.scripted_server import CapturedRequest, ScriptedAnswer, ScriptedServer, say

CLIENTS = [
    case
    for case in CASES
    if case.client in ("claude-code", "codex", "gemini-cli") and case.api == case.upstream
]
# Gemini CLI signs the calls of the running turn and sends them without it afterwards.
SIGNATURE = re.compile(r', "thoughtSignature": "[^"]*"')
TURNS = 20  # before the model has to recall
# Lines of the results for ship5 and ship6, which are summarised by then: neither in the first exchange nor recent. A
# summary has the commands, but not what they printed.
RECALLED, RECALLED_WITH_CALL = "5017", "6017"
LOOKED_UP = "ship90"
RECALL = f"Recall what follows {RECALLED}."
RECALL_AND_LOOK_UP = f"Recall what follows {RECALLED_WITH_CALL}. And {LOOKED_UP}: where does it lie?"
# Two more turns: requests with what was recalled in their history.
THEN = ["ship91: where does it lie?", "ship92: where does it lie?"]


@pytest.fixture(autouse=True)
def every_request_extends_the_one_before() -> None:
    """Instead of the suite's check: `check_requests` counts the requests that do not, which are compactions."""
    return


def remembering(request: ChatRequest) -> ScriptedAnswer | Reply:
    """The model of `script`, which uses the recall tool where the user asks for it."""
    said = "\n".join(text for _, text in newest_part(request.messages))
    results = newest_results(request.messages)
    if NAME in results:
        found = re.search(r"\b[56]017\s+(\d+)", results[NAME])
        others = "\n".join(text for name, text in results.items() if name != NAME)
        looked_up = re.findall(rf"{LOOKED_UP} lies at pier \d+", others)
        return say("; ".join([f"Recalled: {found[1] if found else results[NAME]}", *looked_up[:1]]))
    if asked := re.search(r"Recall what follows (\d+)", said):
        recall = called(asked[1], NAME, query=asked[1])
        if LOOKED_UP not in said:
            return recall
        look_up = answer(request)
        assert isinstance(look_up, Reply)
        both = [*tool_calls(recall.message), *tool_calls(look_up.message)]
        return Reply({**recall.message, "tool_calls": both}, "tool_calls")
    return answer(request)


def newest_results(messages: Sequence[Message]) -> dict[str, str]:
    """The tool results at the end of a request by the names of their tools."""
    names = {str(call["id"]): call_name(call) for message in messages for call in tool_calls(message)}
    last = max((n for n, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
    ending = [message for message in messages[last + 1 :] if message["role"] == "tool"]
    return {names[str(answered_id(message))]: text_of(message) for message in ending}


def check_requests(case: Case, requests: Sequence[CapturedRequest], compactions: int) -> None:
    """Each request is valid, offers the tool and fits; only compactions change the beginning, and keep the tools."""
    assert [(seen.status, seen.refusal) for seen in requests if seen.status != 200] == []
    main = conversation(case, requests)
    for seen in main:
        assert seen.request is not None
        assert NAME in [tool.get("function", tool).get("name") for tool in seen.request.tools]
        assert validate(list(seen.request.messages)) == []
    assert max(seen.usage.prompt_tokens for seen in main if seen.usage) <= case.window
    assert compactions >= 1
    # Gemini CLI asks its first question in a process of its own.
    assert len(broken_prefixes(main)) <= compactions + (case.client == "gemini-cli")
    if case.client != "gemini-cli":
        assert cold(main) == []


def broken_prefixes(requests: Sequence[CapturedRequest]) -> list[int]:
    """The requests that do not extend the one before, apart from signatures that the client itself takes out."""
    parts = [
        [(name, SIGNATURE.sub("", text)) for name, text in prefix_parts(seen.body or {})] for seen in requests
    ]
    return [n for n in range(1, len(parts)) if parts[n][: len(parts[n - 1])] != parts[n - 1]]


def check_recalled(case: Case, requests: Sequence[CapturedRequest]) -> None:
    """The fact was gone, and the tool brought it back; requests extend each other, so it stays until a compaction."""
    said = [words_of(seen) for seen in conversation(case, requests)]
    asked = next(n for n, text in enumerate(said) if RECALL in text)
    assert [bool(re.search(r"\b5018\b", said[n])) for n in (asked, asked + 1)] == [False, True]


def words_of(seen: CapturedRequest) -> str:
    """What the model reads."""
    assert seen.request is not None
    return "\n".join(map(text_of, seen.request.messages))


@pytest.mark.parametrize("case", CLIENTS, ids=lambda case: case.id)
def test_a_clients_model_recalls_what_a_compaction_removed_and_the_client_does_not_notice(
    case: Case, tmp_path: Path
) -> None:
    assert case.peer.is_installed, f"{case.client} is not installed; run `make peers`"
    folder = tmp_path / "client"
    questions = [*QUESTIONS[:TURNS], RECALL, RECALL_AND_LOOK_UP, *THEN]
    with (
        ScriptedServer(lambda _: say(SUMMARY)) as summaries,
        ScriptedServer(remembering, model=case.model, window=case.window) as server,
        running_gateway(
            tmp_path / "plimsoll",
            {
                **settings_of(case, server, summaries),
                "GATEWAY__RECALL": "true",
                "COMPRESSION__EVIDENCE": "false",  # which quotes results
            },
        ) as gateway,
    ):
        answers = talk(case, gateway.url, folder, case.model, questions)
        compactions = gateway.compactions()
    assert answers == [
        *(f"ship{number} lies at pier {number + 3}." for number in range(TURNS)),
        "Recalled: 5018",
        f"Recalled: 6018; {LOOKED_UP} lies at pier 93",
        "ship91 lies at pier 94.",
        "ship92 lies at pier 95.",
    ]
    check_requests(case, server.requests, compactions)
    check_recalled(case, server.requests)
    kept = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert any(b"Recalled: 5018" in text for text in kept), "the client stores its conversation"
    assert [text for text in kept if NAME.encode() in text] == [], (
        "the client has seen a call of the gateway's tool"
    )
