"""What is read from the sessions of other agents, and what is left out."""

import json
from pathlib import Path
from typing import Any

import pytest
from transcript_texts import read, refusal

from plimsoll.messages import arguments_of, call_name, text_of, tool_calls
from plimsoll.transcripts import Transcript, read_transcripts

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str) -> Transcript:
    return read_transcripts(GOLDEN / name)[0]


def outline(transcript: Transcript) -> list[tuple[str, str]]:
    """Each message's role, or the name of its tools, and its text."""
    return [
        (",".join(call_name(call) for call in tool_calls(one)) or one["role"], text_of(one))
        for one in transcript.messages
    ]


def test_a_gemini_cli_session_is_read_without_what_was_undone() -> None:
    found = golden("gemini_cli.jsonl")
    assert outline(found) == [
        ("user", "<session_context>\nThis is the Gemini CLI.\n</session_context>"),
        ("user", "Find the port."),
        ("read_file", "I read the file."),
        ("tool", "uvicorn.run(app, port=8417)"),
        ("assistant", "Port 8417."),
        ("user", "Thank you."),
    ]
    assert [message.get("name") for message in found.messages[:2]] == ["meta", None]
    assert found.messages[1]["content"][1]["type"] == "image_url"
    assert (found.id, found.model) == ("1bb46625-be26-43f7-bb81-2c23b635381f", "gemini-2.5-pro")
    assert found.notices == ("2 messages skipped: taken back by the user",)


def test_an_old_gemini_cli_session_is_one_object() -> None:
    lines = [json.loads(line) for line in (GOLDEN / "gemini_cli.jsonl").read_text().splitlines()]
    whole = {**lines[0], "messages": [line for line in lines[2:] if "type" in line]}
    (found,) = read(json.dumps(whole))
    assert found.format == "gemini-cli"
    assert outline(found)[-1] == ("user", "Thank you.")


def test_an_opencode_session_is_read_answer_by_answer() -> None:
    found = golden("opencode.json")
    assert outline(found) == [
        ("user", "Called the Read tool with the following input"),
        ("user", "Find the port."),
        ("read,bash", "I read both files."),
        ("tool", "uvicorn.run(app, port=8417)"),
        ("tool", "permission denied"),
        ("bash", ""),
        ("tool", "[The tool did not finish]"),
        ("assistant", "Port 8417."),
    ]
    assert found.messages[0]["name"] == "meta"
    assert found.messages[4]["is_error"] is True
    assert (found.project, found.model) == ("/srv/harbour", "claude-sonnet-4-5")


def test_a_copilot_session_has_what_the_person_typed_and_results_under_their_calls() -> None:
    found = golden("copilot.jsonl")
    assert outline(found) == [
        ("system", "You are Copilot."),
        ("user", "Find the port."),
        ("view,bash", ""),
        ("tool", "denied"),
        ("tool", "1. uvicorn.run(app, port=8417)"),
        ("assistant", "Port 8417."),
    ]
    assert "1 message skipped: taken back by the user" in found.notices


def test_an_atif_trajectory_names_its_images_and_keeps_what_the_environment_said() -> None:
    assert outline(golden("atif.json")) == [
        ("system", "You are an agent."),
        ("user", "Find the port.\n[image: images/a.png]"),
        ("read", "I read the file."),
        ("tool", "uvicorn.run(app, port=8417)"),
        ("user", "The terminal is idle."),
        ("assistant", "Port 8417."),
    ]


def test_parallel_actions_of_openhands_are_one_answer() -> None:
    found = golden("openhands.jsonl")
    assert outline(found) == [
        ("system", "You are OpenHands."),
        ("user", "Find the port."),
        ("file_editor,terminal", "I read both files."),
        ("tool", "uvicorn.run(app, port=8417)"),
        ("tool", "no such tool"),
        ("assistant", "Port 8417."),
    ]
    assert found.notices == ("1 summary of OpenHands skipped, because the file has the original turns",)


def test_a_folder_of_openhands_events_is_read_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    for number, line in enumerate((GOLDEN / "openhands.jsonl").read_text().splitlines()):
        text = json.dumps(json.loads(line), indent=2)
        (tmp_path / "events" / f"event-{number:05d}-x.json").write_text(text)
    (found,) = read_transcripts(tmp_path)
    assert outline(found) == outline(golden("openhands.jsonl"))


def test_sharegpt_pairs_calls_and_results_by_their_order() -> None:
    first, second = read_transcripts(GOLDEN / "sharegpt.json")
    assert outline(first) == [
        ("system", "You are an agent."),
        ("user", "Find the port."),
        ("read", ""),
        ("tool", "port=8417"),
        ("assistant", "Port 8417."),
    ]
    assert arguments_of(tool_calls(first.messages[2])[0]) == {"path": "app/main.py"}
    assert (first.id, first.line, second.line) == ("a", 1, 2)


@pytest.mark.parametrize("name", ["responses.json", "gemini.json"])
def test_a_request_body_has_its_system_prompt_and_pairs(name: str) -> None:
    assert outline(golden(name)) == [
        ("system", "Be brief."),
        ("user", "Find the port."),
        ("read", ""),
        ("tool", "port=8417"),
        ("assistant", "Port 8417."),
        ("user", "Thank you."),
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"conversations": [{"from": "wizard", "value": "x"}]}, "turn 1 is from 'wizard'"),
        ({"schema_version": "ATIF-v1.7", "steps": []}, "an ATIF trajectory without messages"),
        ({"info": {}, "messages": []}, "an OpenCode session without messages"),
        ({"contents": [7]}, "contents[0]"),
        ({"input": [{"role": 7}]}, "input[0]"),
    ],
)
def test_a_session_that_contains_nothing_readable_is_refused(value: Any, words: str) -> None:
    assert words in refusal(json.dumps(value))
