"""What a conversation keeps when it is written for another agent and read again."""

import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plimsoll.messages import Message, arguments_of, call_name, parts_of, text_of, tool_calls, validate
from plimsoll.testing import conversations
from plimsoll.transcripts import (
    AGENT_TARGETS,
    TARGETS,
    SessionStamp,
    Transcript,
    converted,
    for_target,
    read_stream,
    read_transcripts,
    serialised,
    session_bytes,
)
from plimsoll.transcripts.portable import made_valid, split_system_prompt

GOLDEN = Path(__file__).parent / "golden"
STAMP = SessionStamp(
    "01999999-1111-7222-8333-444455556666", datetime(2026, 11, 16, 9, tzinfo=UTC), "/srv/harbour"
)
PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"


def written(transcript: Transcript, target: str) -> bytes:
    ready = converted(for_target(transcript, target), target, is_changed=False)
    pieces = session_bytes(ready, target, STAMP) if target in AGENT_TARGETS else serialised([ready])
    return b"".join(pieces)


def read_again(data: bytes) -> Transcript:
    (found,) = read_stream(io.BytesIO(data), "it.jsonl")
    return found


def gist(messages: list[Message]) -> list[Any]:
    """Roles, texts, images, calls and results; what one side says in a row is one entry."""
    entries: list[list[Any]] = []
    for message in messages:
        images = [part["image_url"]["url"] for part in parts_of(message) if part["type"] == "image_url"]
        calls = [(call["id"], call_name(call), arguments_of(call)) for call in tool_calls(message)]
        entry = [message["role"], message.get("tool_call_id"), text_of(message), images, calls]
        last = entries[-1] if entries else [None]
        if message["role"] in ("user", "assistant") and last[0] == message["role"] and not last[4]:
            entries[-1] = [last[0], None, f"{last[2]}\n{entry[2]}", last[3] + images, calls]
        else:
            entries.append(entry)
    return [[*entry[:2], re.sub(r"\n+", "\n", entry[2]).strip(), *entry[3:]] for entry in entries]


@st.composite
def with_images(draw: st.DrawFn) -> list[Message]:
    """A conversation in which some results hold an image."""
    messages = draw(conversations(max_turns=3))
    places = [place for place, message in enumerate(messages) if message["role"] == "tool"]
    for place in draw(st.sets(st.sampled_from(places), max_size=2)) if places else ():
        image = {"type": "image_url", "image_url": {"url": PIXEL}}
        content = [{"type": "text", "text": "a screenshot"}, image]
        messages[place] = {**messages[place], "content": content}
    return messages


@pytest.mark.parametrize("target", TARGETS)
@given(messages=with_images())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_conversation_is_read_as_it_was_written(target: str, messages: list[Message]) -> None:
    found = read_again(written(Transcript(messages, "x"), target)).messages
    valid = made_valid(messages)
    _, said = split_system_prompt(valid)
    expected = gist(said if target in AGENT_TARGETS else valid)
    if target == "openai":  # a tool message has no images there: they follow as the user's
        assert [one for one in gist(found) if one[0] != "user"] == [
            [*one[:3], [], one[4]] for one in expected if one[0] != "user"
        ]
        assert sorted(url for one in gist(found) for url in one[3]) == sorted(
            url for one in expected for url in one[3]
        )
        assert all(text_of(message) in "\n".join(map(text_of, found)) for message in said)
    else:
        assert gist(found) == expected
    assert validate(found) == []


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["claude_code.jsonl", "codex.jsonl", "anthropic.json", "openai_list.json"])
def test_every_recorded_conversation_is_written_for_every_target(name: str, target: str) -> None:
    (transcript,) = read_transcripts(GOLDEN / name)
    found = read_again(written(transcript, target))
    assert "8417" in json.dumps(found.messages)
    assert found.messages[-1]["content"] == transcript.messages[-1]["content"]


def test_a_codex_session_keeps_its_system_prompt_in_codex_only() -> None:
    (transcript,) = read_transcripts(GOLDEN / "codex.jsonl")
    prompt = text_of(transcript.messages[0])
    assert text_of(read_again(written(transcript, "codex")).messages[0]) == prompt
    assert prompt not in written(transcript, "claude-code").decode()
    notices = for_target(transcript, "claude-code").notices
    assert any("Claude Code adds its own" in notice for notice in notices)


def test_signed_thinking_stays_with_its_agent_until_something_changes() -> None:
    (transcript,) = read_transcripts(GOLDEN / "claude_code.jsonl")
    ready = for_target(transcript, "claude-code")
    kept = b"".join(session_bytes(converted(ready, "claude-code", is_changed=False), "claude-code", STAMP))
    compacted = b"".join(
        session_bytes(converted(ready, "claude-code", is_changed=True), "claude-code", STAMP)
    )
    assert b"Two reads at once." in kept
    assert b"Two reads at once." not in compacted
    assert b"Two reads at once." not in written(transcript, "codex")


@pytest.mark.parametrize("target", ["claude-code", "codex", "gemini"])
def test_ids_and_names_that_a_provider_refuses_are_replaced_in_call_and_result(target: str) -> None:
    call = {
        "id": "functions.read:0",
        "type": "function",
        "function": {"name": "read file!", "arguments": "{}"},
    }
    round = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "functions.read:0", "content": "8417"},
    ]
    messages: list[Message] = [{"role": "user", "content": "hi"}, *round, *round]
    found = read_again(written(Transcript(messages, "x"), target)).messages
    ids = [one["id"] for message in found for one in tool_calls(message)]
    assert len(set(ids)) == 2
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]+", one) for one in ids)
    assert {call_name(one) for message in found for one in tool_calls(message)} == {"read_file_"}
    assert [message["tool_call_id"] for message in found if message["role"] == "tool"] == ids


def test_what_a_program_said_in_the_persons_name_is_hidden_in_claude_code() -> None:
    messages: list[Message] = [
        {"role": "user", "name": "meta", "content": "<environment_context>…"},
        {"role": "user", "content": "hi"},
    ]
    lines = [json.loads(line) for line in written(Transcript(messages, "x"), "claude-code").splitlines()]
    assert [line.get("isMeta") for line in lines] == [True, None]


def test_a_conversation_that_begins_with_the_assistant_gets_a_first_user_message() -> None:
    messages: list[Message] = [
        {"role": "assistant", "content": "Welcome."},
        {"role": "user", "content": "hi"},
    ]
    found = read_again(written(Transcript(messages, "x"), "anthropic")).messages
    assert [message["role"] for message in found] == ["user", "assistant", "user"]


DOCUMENT = {
    "type": "file",
    "file": {"filename": "tides.pdf", "file_data": f"data:application/pdf;base64,{'A' * 80}"},
}
STORED = {"type": "file", "file": {"file_id": "file-8417"}}


def test_codex_gets_only_parts_and_roles_that_it_reads() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    sound = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    messages: list[Message] = [
        {"role": "user", "content": [DOCUMENT, {"type": "text", "text": "Read the table."}, sound]},
        {"role": "assistant", "content": None, "refusal": "I may not."},
        {"role": "system", "content": "You may."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "8417"}, DOCUMENT]},
    ]
    lines = [json.loads(line) for line in written(Transcript(messages, "x"), "codex").splitlines()]
    items = [line["payload"] for line in lines if line["type"] == "response_item"]
    assert [item.get("role", item["type"]) for item in items] == [
        *("user", "assistant", "developer"),
        *("function_call", "function_call_output"),
    ]
    document = "[document left out: tides.pdf, application/pdf, 1 page, 1 KB]"
    parts = [item.get("content") or item.get("output") or [] for item in items]
    assert [[(part["type"], part["text"]) for part in one] for one in parts] == [
        [("input_text", said) for said in (document, "Read the table.", "[input_audio block left out]")],
        [("output_text", "I may not.")],
        [("input_text", "You may.")],
        [],
        [("input_text", "8417"), ("input_text", document)],
    ]


@pytest.mark.parametrize(
    ("target", "keeps"), [("openai", True), ("anthropic", False), ("claude-code", False)]
)
def test_a_file_that_another_provider_stores_is_described(target: str, keeps: bool) -> None:
    messages: list[Message] = [{"role": "user", "content": [STORED, DOCUMENT]}]
    transcript = Transcript(messages, "x")
    data = written(transcript, target)
    assert (b"file-8417" in data) is keeps
    assert b"A" * 80 in data
    notice = "1 file left out" in " ".join(for_target(transcript, target).notices)
    assert notice is not keeps


@pytest.mark.parametrize("target", ["openai", "anthropic", "codex", "claude-code"])
def test_files_that_google_stores_are_described_for_others(target: str) -> None:
    stored = [
        {"fileData": {"mimeType": mime, "fileUri": uri}}
        for mime, uri in [
            ("application/pdf", "gs://harbour/tides.pdf"),
            ("image/png", "https://generativelanguage.googleapis.com/v1beta/files/8417"),
        ]
    ]
    body = {"contents": [{"role": "user", "parts": [{"text": "Read both."}, *stored]}]}
    (transcript,) = read_stream(io.BytesIO(json.dumps(body).encode()), "it.json")
    text = written(transcript, target).decode()
    assert "gs://" not in text
    assert "googleapis" not in text
    assert "[document left out]" in text
    assert any("2 files left out" in notice for notice in for_target(transcript, target).notices)
    assert "gs://" in written(transcript, "gemini").decode()
