"""What reading a conversation file promises."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from transcript_texts import HELLO, read, refusal

from plimsoll.messages import is_whole, text_of, validate
from plimsoll.transcripts import read_stream, read_transcripts

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize(
    ("name", "format", "shape", "count"),
    [
        ("openai_list.json", "openai", "list", 1),
        ("openai_object.json", "openai", "object", 1),
        ("openai_conversations.jsonl", "openai", "object", 2),
        ("openai_messages.jsonl", "openai", "lines", 1),
        ("anthropic.json", "anthropic", "object", 1),
        ("claude_code.jsonl", "claude-code", "list", 1),
        ("codex.jsonl", "codex", "list", 1),
        ("codex_old.jsonl", "codex", "list", 1),
        ("gemini_cli.jsonl", "gemini-cli", "list", 1),
        ("opencode.json", "opencode", "list", 1),
        ("copilot.jsonl", "copilot", "list", 1),
        ("atif.json", "atif", "list", 1),
        ("openhands.jsonl", "openhands", "list", 1),
        ("sharegpt.json", "sharegpt", "list", 2),
        ("responses.json", "responses", "object", 1),
        ("gemini.json", "gemini", "object", 1),
    ],
)
def test_every_format_is_recognised_by_its_content(
    name: str, format: str, shape: str, count: int, tmp_path: Path
) -> None:
    disguised = tmp_path / "notes.txt"
    disguised.write_bytes((GOLDEN / name).read_bytes())
    found = read_transcripts(disguised)
    assert [(t.format, t.shape) for t in found] == [(format, shape)] * count
    for transcript in found:
        assert validate(transcript.messages) == []
        assert "8417" in json.dumps(transcript.messages)


def test_conversations_in_lines_have_their_line_and_id() -> None:
    assert [(t.line, t.id) for t in read_transcripts(GOLDEN / "openai_conversations.jsonl")] == [
        (1, "a"),
        (2, "b"),
    ]


def test_an_iterator_returns_the_first_conversation_before_the_last_is_read() -> None:
    good = json.dumps({"messages": HELLO})
    transcripts = read_stream(io.BytesIO(f"{good}\n{good}\n{{broken\n".encode()), "it.jsonl")
    assert next(transcripts).line == 1


def test_each_line_may_contain_a_list_of_messages() -> None:
    line = json.dumps(HELLO)
    assert [(t.line, t.shape) for t in read(f"{line}\n\n{line}\n")] == [(1, "list"), (3, "list")]


def test_anthropic_content_becomes_canonical() -> None:
    (found,) = read_transcripts(GOLDEN / "anthropic.json")
    assert [m["role"] for m in found.messages] == ["system", "user", "assistant", "tool", "user", "assistant"]
    assert found.messages[2]["tool_calls"][0]["function"]["name"] == "read_file"


def test_a_system_prompt_next_to_the_messages_makes_it_anthropic() -> None:
    (found,) = read(json.dumps({"system": "Be kind.", "messages": HELLO}))
    assert found.format == "anthropic"
    assert found.messages[0] == {"role": "system", "content": "Be kind."}


def test_one_anthropic_message_per_line_is_one_conversation() -> None:
    lines = json.loads((GOLDEN / "anthropic.json").read_text())["messages"]
    (found,) = read("\n".join(map(json.dumps, lines)))
    assert (found.format, found.shape, len(found.messages)) == ("anthropic", "lines", 5)


class TestClaudeCode:
    found = read_transcripts(GOLDEN / "claude_code.jsonl")[0]

    def texts(self) -> str:
        return "\n".join(text_of(message) for message in self.found.messages)

    def test_the_lines_of_one_reply_become_one_message(self) -> None:
        reply = self.found.messages[2]
        assert reply["content"] == "I read both files."
        assert [call["id"] for call in reply["tool_calls"]] == ["toolu_1", "toolu_2"]
        assert reply["thinking_blocks"][0]["thinking"] == "Two reads at once."

    def test_both_results_of_parallel_calls_are_kept(self) -> None:
        assert [m["content"] for m in self.found.messages if m["role"] == "tool"] == [
            "uvicorn.run(app, port=8417)",
            "No such file",
        ]

    def test_side_chains_are_left_out_with_a_notice(self) -> None:
        assert "sub-agent" not in self.texts()
        assert "1 message of side chains (sub-agents) skipped" in self.found.notices

    def test_an_abandoned_branch_is_left_out_with_a_notice(self) -> None:
        assert "harbor." not in self.texts()
        assert "Then make one called harbour." in self.texts()
        assert any("2 messages skipped" in notice for notice in self.found.notices)

    def test_turns_from_before_a_compaction_are_read_and_its_summary_is_not(self) -> None:
        assert "Find the port" in self.texts()
        assert "continued from a previous" not in self.texts()

    def test_a_summary_without_its_turns_is_kept(self) -> None:
        lines = (GOLDEN / "claude_code.jsonl").read_text().splitlines()
        at = next(i for i, line in enumerate(lines) if "isCompactSummary" in line)
        (found,) = read("\n".join(lines[at:]))
        assert "continued from a previous" in text_of(found.messages[0])

    def test_messages_of_the_harness_are_marked_as_meta_and_api_errors_are_left_out(self) -> None:
        assert [m["content"][:7] for m in self.found.messages if m.get("name") == "meta"] == ["<local-"]
        assert "529" not in self.texts()

    def test_a_file_with_only_a_side_chain_is_read(self) -> None:
        lines = (GOLDEN / "claude_code.jsonl").read_text().splitlines()
        (found,) = read("\n".join(line for line in lines if '"isSidechain": true' in line))
        assert text_of(found.messages[0]) == "A sub-agent speaks."

    def test_an_interrupted_call_gets_a_result(self) -> None:
        lines = [
            line for line in (GOLDEN / "claude_code.jsonl").read_text().splitlines() if "r-2" not in line
        ]
        (found,) = read("\n".join(lines))
        assert is_whole(found.messages)
        assert any("put back in order" in notice for notice in found.notices)

    def test_a_session_without_messages_is_refused(self) -> None:
        assert "without messages" in refusal('{"type": "summary", "summary": "x", "leafUuid": "y"}')


class TestCodex:
    found = read_transcripts(GOLDEN / "codex.jsonl")[0]

    def test_text_and_calls_of_one_reply_become_one_message(self) -> None:
        reply = next(m for m in self.found.messages if m.get("tool_calls"))
        assert reply["content"] == "I look in two places."
        assert [call["function"]["name"] for call in reply["tool_calls"]] == ["shell", "local_shell"]

    def test_a_free_form_input_becomes_an_argument(self) -> None:
        patch = next(m for m in self.found.messages if "apply_patch" in json.dumps(m))
        assert json.loads(patch["tool_calls"][0]["function"]["arguments"])["input"].startswith("*** Begin")

    def test_a_turn_that_was_rolled_back_is_left_out_with_a_notice(self) -> None:
        assert "9000" not in json.dumps(self.found.messages)
        assert any("rolled back" in notice for notice in self.found.notices)

    def test_items_of_every_origin_are_read(self) -> None:
        items = [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
            {"type": "function_call", "call_id": "c1", "name": "list", "namespace": "mcp", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "8417"},
            {"type": "tool_search_call", "call_id": "c2", "arguments": {}},
            {"type": "tool_search_output", "call_id": "c2", "tools": [{"type": "function", "name": "find"}]},
            {"type": "image_generation_call", "id": "ig_1", "revised_prompt": "a harbour", "result": "AAAA"},
            {"type": "agent_message", "content": [{"type": "input_text", "text": "The sub-agent is done."}]},
        ]
        (found,) = read("\n".join(json.dumps({"type": "response_item", "payload": item}) for item in items))
        assert found.notices == ()
        calls = [call["function"] for message in found.messages for call in message.get("tool_calls", ())]
        assert [call["name"] for call in calls] == ["mcp__list", "tool_search", "image_generation"]
        assert json.loads(calls[2]["arguments"]) == {"prompt": "a harbour"}
        _, tools, image = [message["content"] for message in found.messages if message["role"] == "tool"]
        assert "find" in tools
        assert image == [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
        assert found.messages[-1] == {"role": "user", "name": "meta", "content": "The sub-agent is done."}

    def test_images_are_kept(self) -> None:
        assert any(isinstance(m["content"], list) for m in self.found.messages)

    def test_a_compaction_is_read_if_its_turns_are_missing(self) -> None:
        history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "port?"}]}]
        line = {
            "timestamp": "t",
            "type": "compacted",
            "payload": {"message": "x", "replacement_history": history},
        }
        assert read(json.dumps(line))[0].messages == [{"role": "user", "content": "port?"}]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it.json is empty"),
        (b" \n\n", "it.json is empty"),
        (b"hello", "line 1 is not JSON"),
        (b"\x1f\x8b\x08\x00zip", "line 1 is not UTF-8"),
        (b'{"messages": [{"role": "user", "content": "hel', "cut off"),
        (b'[{"role": "user", "content": "a"}]\n{"messages": [{"role": "us', "line 2 is not JSON"),
        (b'[{"role": "user", "content": "a"}]\n{"messages": [\n\n', "line 2 is not JSON"),
        (b'{\n "messages": [\n  oops\n ]}', "line 3 is not JSON"),
        (b"42", "line 1 is not a conversation"),
        (b'{"prompt": "x"}', "line 1 is not a conversation"),
        (b'[{"role": "user", "content": "a"}, 7]', "message 2"),
        (b'[{"role": "wizard", "content": "a"}]', "'wizard'"),
        (b'[{"role": ["user"], "content": "a"}]', "message 1 has no role"),
        (b'[{"role": "user", "content": 7}]', "message 1"),
        (
            b'[{"role": "user", "content": "a"}]\n{"role": "user", "content": "a"}',
            "line 2 is not a conversation",
        ),
        (b'{"role": "user", "content": "a"}\n[]', "line 2 is not a message"),
        (b'[{"role": "user", "content": "a", "n": NaN}]', "NaN"),
        (b'[{"role": "user", "content": "a", "n": 1e999}]', "too large"),
        (b"[" * 100_000, "nested"),
        (b"[" * 200 + b"]" * 200, "nested"),
        (b'[{"role": "user", "content": "a", "n": ' + b"9" * 5000 + b"}]", "line 1"),
        (b'\xff\xfe[\x00{\x00"', "UTF-16"),
        (b'{"type": "user", "message": {"role": "user", "content": 4}}', "line 1 cannot be read"),
    ],
)
def test_bad_input_is_refused_with_its_position_and_the_value_found(data: bytes, words: str) -> None:
    said = refusal(data)
    assert words in said
    assert said.startswith("it.json")


@pytest.mark.parametrize(
    "empty", ["[]", "[\n]", '{"messages": []}', '{"system": "Be kind.", "messages": [], "model": "m"}']
)
def test_a_conversation_without_a_message_is_refused(empty: str) -> None:
    assert refusal(empty).startswith("it.json is a conversation without messages")


def test_an_empty_conversation_among_others_is_refused_with_its_line() -> None:
    good = json.dumps(HELLO)
    said = refusal(f'{good}\n\n{{"messages": []}}\n{good}')
    assert said.startswith("it.json: line 3 is a conversation without messages")


@pytest.mark.parametrize(
    "value",
    [
        [*HELLO, 7],
        [{"role": "user", "content": 7}],
        {"system": 4, "messages": HELLO},
        {"prompt": "x"},
        [{"role": "user", "content": "a", "n": float("nan")}],
    ],
)
def test_no_line_is_named_for_a_document_of_many_lines(value: Any) -> None:
    said = refusal(json.dumps(value, indent=2))
    assert "line 1" not in said
    assert said.startswith("it.json")


def test_a_syntax_error_in_a_document_of_many_lines_has_its_own_line() -> None:
    assert "line 3 is not JSON" in refusal('[\n {"role": "user",\n  oops\n}]')


@pytest.mark.parametrize("data", ["hello", "42", '{"prompt": "x"}', ""])
def test_the_error_for_an_unknown_format_lists_the_accepted_formats(data: str) -> None:
    assert "Accepted: " in refusal(data)


@pytest.mark.parametrize(
    "data",
    [
        '[{"role": "user", "content": "a"}, 7]',
        '[{"role": "user", "content": 7}]',
        f"{json.dumps(HELLO)}\noops",
        '{"type": "user", "message": {"role": "user", "content": 4}}',
        '{"messages": [{"role": "user", "cont',
    ],
)
def test_the_error_for_a_known_format_does_not_list_the_accepted_formats(data: str) -> None:
    assert "Accepted: " not in refusal(data)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (7, "found a number"),
        (None, "found null"),
        (True, "found true or false"),
        ("x", "found text"),
        ({"role": "user", "content": 7}, "content is a number"),
        ({"role": "user", "content": {"a": 1}}, "content is an object"),
    ],
)
def test_errors_name_values_by_their_json_types(value: Any, found: str) -> None:
    assert found in refusal(json.dumps([*HELLO, value]))


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("openai_list.json", None),
        ("claude_code.jsonl", "claude-sonnet-4-5"),
        ("codex.jsonl", "gpt-5-codex"),
    ],
)
def test_the_model_that_a_file_names_is_read(name: str, model: str | None) -> None:
    assert read_transcripts(GOLDEN / name)[0].model == model


def test_the_model_next_to_the_messages_is_read() -> None:
    assert read(json.dumps({"model": "gpt-5", "messages": HELLO}))[0].model == "gpt-5"
    assert read(json.dumps({"model": 5, "messages": HELLO}))[0].model is None
