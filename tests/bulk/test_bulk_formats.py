"""Every format that `plimsoll bulk` reads, and what is kept of a row."""

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from bulk_datasets import conversation, read_lines, write_lines

from plimsoll.bulk.chunks import chunks_of
from plimsoll.bulk.compaction import BatchPlan
from plimsoll.bulk.inputs import find_inputs
from plimsoll.bulk.process_row import BulkPlan, RowResult, process_row
from plimsoll.bulk.rows import rows_in
from plimsoll.transcripts import SessionStamp, Transcript, session_bytes

MESSAGES = conversation(1)
PLAN = BulkPlan(BatchPlan("", 4_000, 0.5, 0.2, 20, only_if_due=True))
EVENTS: list[dict[str, Any]] = [
    {"kind": "SystemPromptEvent", "source": "agent", "system_prompt": {"text": "Be careful."}},
    {
        "kind": "MessageEvent",
        "source": "user",
        "llm_message": {"role": "user", "content": [{"type": "text", "text": "Fix the bug."}]},
    },
    {
        "kind": "ActionEvent",
        "source": "agent",
        "thought": [],
        "tool_call_id": "c1",
        "tool_name": "terminal",
        "tool_call": {"id": "c1", "name": "terminal", "arguments": '{"command": "ls"}'},
        "llm_response_id": "r1",
    },
    {
        "kind": "ObservationEvent",
        "source": "environment",
        "tool_call_id": "c1",
        "tool_name": "terminal",
        "observation": {"content": [{"type": "text", "text": "a.py\n" * 3_000}], "is_error": False},
    },
    {
        "kind": "MessageEvent",
        "source": "agent",
        "llm_message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    },
]
STEPS = [
    {"step_id": 1, "source": "user", "message": "Fix the bug."},
    {
        "step_id": 2,
        "source": "agent",
        "message": "Looking.",
        "tool_calls": [{"tool_call_id": "c1", "function_name": "terminal", "arguments": {"command": "ls"}}],
        "observation": {"results": [{"source_call_id": "c1", "content": "a.py\n" * 3_000}]},
    },
]
TURNS = [
    {"from": "human", "value": "Fix the bug."},
    {"from": "gpt", "value": "It is fixed. " * 1_000},
    {"from": "human", "value": "Thanks."},
    {"from": "gpt", "value": "You are welcome."},
]
ANTHROPIC = {
    "system": "Be careful.",
    "messages": [
        {"role": "user", "content": "Fix the bug."},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "terminal", "input": {"command": "ls"}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a.py\n" * 3_000}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    ],
}


def results(*paths: Path) -> list[RowResult]:
    files = find_inputs([str(path) for path in paths], Path("/nowhere"))
    return [process_row(row, PLAN) for chunk in chunks_of(files) for row in rows_in(chunk)]


def only(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The one row of a file that has to be accepted, and its report."""
    (result,) = results(path)
    assert not result.reject, result.reject
    return json.loads(result.data), json.loads(result.report)


ROWS: dict[str, Any] = {
    "messages": {"id": "a7", "messages": MESSAGES, "resolved": True},
    "messages as text": {"id": "a7", "messages": json.dumps(MESSAGES), "resolved": True},
    "trajectory": {"id": "a7", "trajectory": MESSAGES, "resolved": True},
    "trajectory as text": {"id": "a7", "trajectory": json.dumps(MESSAGES), "resolved": True},
    "trajectory with other names": {
        "id": "a7",
        "trajectory": [
            {"role": "system", "text": "Be careful."},
            {"role": "user", "text": "Fix the bug."},
            {"role": "ai", "text": "Looking. " * 2_000},
            {"role": "user", "text": "And now?"},
            {"role": "ai", "text": "Done."},
        ],
        "resolved": True,
    },
    "sharegpt": {"id": "a7", "conversations": TURNS, "system": "Be careful.", "resolved": True},
    "atif": {
        "id": "a7",
        "schema_version": "ATIF-v1.7",
        "agent": {"name": "x"},
        "steps": STEPS,
        "resolved": True,
    },
    "atif in a column": {
        "id": "a7",
        "trajectory": {"schema_version": "ATIF-v1.7", "steps": STEPS},
        "resolved": True,
    },
    "atif steps": {"id": "a7", "trajectory": STEPS, "resolved": True},
    "openhands events": {"id": "a7", "events": EVENTS, "resolved": True},
    "openhands as text": {"id": "a7", "trajectory": json.dumps(EVENTS), "resolved": True},
    "anthropic": {"id": "a7", **ANTHROPIC, "resolved": True},
}


@pytest.mark.parametrize("shape", ROWS)
def test_a_row_is_compacted_and_its_other_columns_are_kept(shape: str, tmp_path: Path):
    data, report = only(write_lines(tmp_path / "rows.jsonl", [ROWS[shape]]))
    assert (data["id"], data["resolved"]) == ("a7", True)
    assert data["messages"][-1]["role"] in ("assistant", "tool")
    assert not {"trajectory", "conversations", "events", "steps"} & data.keys()
    assert report["outcome"] == "compacted", report["reason"]
    assert report["tokens_after"] < report["tokens_before"]
    assert report["valid"] is True
    assert report["survived"]["invented"] == 0
    assert (report["row"], report["id"]) == (1, "a7")


def test_the_system_prompt_of_anthropic_stays_beside_the_messages(tmp_path: Path):
    data, _ = only(write_lines(tmp_path / "rows.jsonl", [ROWS["anthropic"]]))
    assert "Be careful." in json.dumps(data["system"])
    assert {one["role"] for one in data["messages"]} == {"user", "assistant"}


@pytest.mark.parametrize("nested", [True, False])
def test_parquet_gives_the_same_rows_as_json_lines(nested: bool, tmp_path: Path):
    plain = [{"id": f"r{n}", "messages": conversation(n), "resolved": n % 2 == 0} for n in range(5)]
    lines = write_lines(tmp_path / "rows.jsonl", plain)
    column = (lambda one: one) if nested else json.dumps
    table = pyarrow.Table.from_pylist([{**one, "messages": column(one["messages"])} for one in plain])
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=2)
    found = [json.loads(one.data) for one in results(tmp_path / "rows.parquet")]
    assert found == [json.loads(one.data) for one in results(lines)]


def test_parquet_values_that_json_lacks_become_text(tmp_path: Path):
    row = {
        "id": "a7",
        "messages": MESSAGES[:3],
        "when": datetime(2026, 1, 2, tzinfo=UTC),
        "picture": b"\x00\x01",
    }
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "rows.parquet")
    data, _ = only(tmp_path / "rows.parquet")
    assert data["when"].startswith("2026-01-02")
    assert base64.b64decode(data["picture"]) == b"\x00\x01"


def test_parquet_numbers_that_json_lacks_are_null_or_text(tmp_path: Path):
    columns = {
        "messages": [json.dumps(MESSAGES[:3])],
        "score": [float("nan")],
        "most": [float("inf")],
        "at": pyarrow.array([[{"when": 1_234_567_890_123_456_789}]]).cast(
            pyarrow.list_(pyarrow.struct([("when", pyarrow.timestamp("ns"))]))
        ),
        "far": pyarrow.array([2**62], pyarrow.timestamp("us", "UTC")),
        "took": pyarrow.array([1_001], pyarrow.duration("ns")),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "rows.parquet")
    (result,) = results(tmp_path / "rows.parquet")
    found = json.loads(result.data, parse_constant=pytest.fail)
    assert found["score"] is None
    assert found["most"] == "inf"
    assert found["at"] == [{"when": "2009-02-13 23:31:30.123456789"}]
    assert found["far"].startswith("17036-07-06")
    assert found["took"] == "1001"


def test_a_parquet_row_that_cannot_be_converted_is_set_aside_alone(tmp_path: Path):
    texts = [json.dumps(MESSAGES[:3]).encode(), b'[{"role": "user", "content": "\xff"}]']
    table = pyarrow.table({"messages": pyarrow.array([*texts, texts[0]]).view(pyarrow.string())})
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    first, broken, last = results(tmp_path / "rows.parquet")
    assert first.data == last.data != b""
    assert "row 2 has text that is not UTF-8" in json.loads(broken.reject)["reason"]


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini"])
def test_a_session_of_an_agent_is_one_row(agent: str, tmp_path: Path):
    stamp = SessionStamp("0190c8a0-7f2c-7000-8000-000000000001", datetime(2026, 1, 2, tzinfo=UTC), "/work")
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(session_bytes(Transcript(MESSAGES, "talk.json"), agent, stamp)))
    data, report = only(path)
    assert data["source"] == str(path)
    assert report["format"].startswith(agent)
    assert report["outcome"] == "compacted"


def test_a_folder_of_openhands_events_is_one_row(tmp_path: Path):
    events = tmp_path / "runs" / "one" / "events"
    events.mkdir(parents=True)
    for number, event in enumerate(EVENTS):
        (events / f"event-{number:05d}.json").write_text(json.dumps(event, indent=1))
    data, report = only(tmp_path / "runs")
    assert report["format"] == "openhands"
    assert data["messages"][0]["role"] == "system"


def test_a_json_document_is_one_row_or_a_list_of_rows(tmp_path: Path):
    (tmp_path / "one.json").write_text(json.dumps(MESSAGES, indent=2))
    (tmp_path / "several.json").write_text(json.dumps([{"id": n, "messages": MESSAGES} for n in range(3)]))
    found = [json.loads(one.report) for one in results(tmp_path)]
    assert [(Path(one["source"]).name, one["row"]) for one in found] == [
        ("one.json", 1), ("several.json", 1), ("several.json", 2), ("several.json", 3),
    ]  # fmt: skip


def test_a_folder_is_read_in_order_with_everything_below_it_and_each_file_once(tmp_path: Path):
    (tmp_path / "b").mkdir()
    for name in ("b/2.jsonl", "a.jsonl", "b/1.jsonl", "b/notes.txt"):
        write_lines(tmp_path / name, [{"id": name, "messages": MESSAGES[:3]}])
    found = [json.loads(one.data)["id"] for one in results(tmp_path, tmp_path / "a.jsonl")]
    assert found == ["a.jsonl", "b/1.jsonl", "b/2.jsonl"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"messages": [', "is not JSON"),
        (b'{"messages": "\xff"}', "not UTF-8"),
        (b'{"text": "a story"}', "its columns are 'text'"),
        (b'{"messages": []}', "a conversation without messages"),
        (b'{"messages": [{"role": "user", "content": 7}]}', "content is a number"),
        (b'{"conversations": [{"from": "stranger", "value": "x"}]}', "is from 'stranger'"),
        (b"[1, 2]", "expected an object"),
        (b"null", "not an object or a list"),
        (b'{"messages": ' + b"[" * 500 + b"]" * 500 + b"}", "nested deeper"),
    ],
)
def test_a_broken_row_is_set_aside_with_the_reason_and_its_text(line: bytes, reason: str, tmp_path: Path):
    good = json.dumps({"messages": MESSAGES[:3]}).encode()
    (tmp_path / "rows.jsonl").write_bytes(b"\n".join([line, good]))
    broken, fine = results(tmp_path / "rows.jsonl")
    assert fine.data
    assert not fine.reject
    assert not broken.data
    assert not broken.report
    facts = json.loads(broken.reject)
    assert reason in facts["reason"]
    assert facts["row"] == 1
    assert facts["raw"].encode() == line or "\\xff" in facts["raw"]


def test_a_damaged_parquet_file_is_set_aside(tmp_path: Path):
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 not really")
    write_lines(tmp_path / "good.jsonl", [{"messages": MESSAGES[:3]}])
    broken, fine = results(tmp_path)
    assert "not a Parquet file" in json.loads(broken.reject)["reason"]
    assert fine.data


def test_an_output_can_be_an_input_again(tmp_path: Path):
    data, _ = only(write_lines(tmp_path / "rows.jsonl", [ROWS["sharegpt"]]))
    again, report = only(write_lines(tmp_path / "again.jsonl", [data]))
    assert again == data
    assert report["outcome"] == "unchanged"
    assert read_lines(tmp_path / "again.jsonl") == [data]
