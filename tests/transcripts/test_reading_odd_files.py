"""Encodings, damaged files, any bytes at all, and the memory that reading takes."""

import json
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transcript_texts import HELLO, read

from plimsoll.errors import TranscriptError
from plimsoll.transcripts import iter_transcripts, read_transcripts


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks_are_understood(encoding: str) -> None:
    (found,) = read(
        json.dumps([{"role": "user", "content": "Grüße ⚓"}], ensure_ascii=False).encode(encoding)
    )
    assert found.messages[0]["content"] == "Grüße ⚓"


def test_windows_line_ends_are_understood() -> None:
    line = json.dumps({"messages": HELLO})
    assert len(read(f"{line}\r\n{line}\r\n")) == 2


def test_missing_files_and_directories_are_named(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match=r"nothing\.json does not exist"):
        read_transcripts(tmp_path / "nothing.json")
    with pytest.raises(TranscriptError, match="is a directory"):
        read_transcripts(tmp_path)
    with pytest.raises(TranscriptError, match="not a file name"):
        read_transcripts("a\0b")


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_give_transcripts_or_a_transcript_error(data: bytes) -> None:
    _outcome(data)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_words = st.sampled_from(
    [
        "user",
        "assistant",
        "tool",
        "system",
        "message",
        "text",
        "tool_use",
        "tool_result",
        "thinking",
        "image",
        "function_call",
        "summary",
        "function_call_output",
        "response_item",
        "session_meta",
        "compacted",
        "event_msg",
        "input_text",
        "web_search_call",
        "reasoning",
        "thread_rolled_back",
        "tool_search_output",
        "a",
    ]
)
_keys = st.sampled_from(
    [
        "role",
        "content",
        "messages",
        "type",
        "payload",
        "message",
        "uuid",
        "parentUuid",
        "isSidechain",
        "system",
        "id",
        "tool_calls",
        "function",
        "arguments",
        "name",
        "tool_call_id",
        "call_id",
        "output",
        "input",
        "source",
        "timestamp",
        "isCompactSummary",
        "isMeta",
        "num_turns",
        "replacement_history",
        "text",
        "tool_use_id",
        "base_instructions",
        "action",
        "record_type",
        "image_url",
        "summary",
        "thinking",
        "logicalParentUuid",
    ]
)
_shaped = st.recursive(
    _words | st.booleans() | st.none() | st.integers(-2, 3) | _json,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_keys, inner, max_size=7),
    max_leaves=40,
)


@settings(deadline=None)
@given(st.lists(_shaped, min_size=1, max_size=5))
def test_any_json_lines_give_transcripts_or_a_transcript_error(values: list[Any]) -> None:
    _outcome("\n".join(map(json.dumps, values)).encode())


_block = st.dictionaries(_keys, _shaped, max_size=4).flatmap(
    lambda rest: _words.map(lambda kind: {**rest, "type": kind})
)
_said = st.fixed_dictionaries(
    {"role": _words, "content": st.text(max_size=9) | st.lists(_block, max_size=3) | st.none()},
    optional={"tool_calls": _shaped, "tool_call_id": _words, "id": _words},
)
_lines = st.one_of(
    st.lists(_said, max_size=4),
    st.fixed_dictionaries({"messages": st.lists(_said, max_size=4)}, optional={"system": _shaped}),
    _said,
    st.fixed_dictionaries(
        {"type": st.sampled_from(["user", "assistant"]), "message": _said},
        optional={
            "uuid": _words,
            "parentUuid": _words,
            "isSidechain": st.booleans(),
            "isMeta": st.booleans(),
        },
    ),
    st.fixed_dictionaries({"type": _words, "payload": _block | _said}),
)


@settings(deadline=None)
@given(st.lists(_lines, min_size=1, max_size=5))
def test_anything_like_a_conversation_gives_transcripts_or_a_transcript_error(values: list[Any]) -> None:
    _outcome("\n".join(map(json.dumps, values)).encode())


def _outcome(data: bytes) -> None:
    """Anything but a transcript or a TranscriptError fails the test by itself."""
    with suppress(TranscriptError):
        assert all(isinstance(message, dict) for t in read(data) for message in t.messages)


def test_reading_uses_at_most_about_twice_the_file(tmp_path: Path) -> None:
    text = "All work and no play makes a dull berth. " * 100
    document = tmp_path / "big.json"
    document.write_text(json.dumps([{"role": "user", "content": text}] * 2_000, indent=1))
    lines = tmp_path / "big.jsonl"
    line = json.dumps({"messages": [{"role": "user", "content": text}] * 20})
    lines.write_text(f"{line}\n" * 100)
    assert _peak(document) < 2.2 * document.stat().st_size
    assert _peak(lines) < 0.1 * lines.stat().st_size


def _peak(path: Path) -> int:
    tracemalloc.start()
    try:
        for _ in iter_transcripts(path):
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
