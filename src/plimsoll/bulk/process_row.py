"""Processes one row: the same function in this process, in worker processes and on Ray.

    DatasetRow ──► RowResult ─┬─ data      lines for data.jsonl: the conversation, or its training examples
                              ├─ report    one line for report.jsonl
                              └─ reject    or one line for rejects.jsonl, with the reason

An error in one row does not affect the others. A result depends only on the row and the plan: it contains no time,
path or process.
"""

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from plimsoll.bulk.compaction import BatchJob, BatchPlan, compact_one
from plimsoll.bulk.rows import DatasetRow
from plimsoll.bulk.splits import SplitConversation, split_at_compactions
from plimsoll.errors import PlimsollError, TranscriptError
from plimsoll.messages import Message, Wire, validate
from plimsoll.models import estimate_messages_tokens_rough, estimate_tools_tokens
from plimsoll.quality import Reading, fabrications, joined, kept, shares, stated_facts, weighted
from plimsoll.transcripts import Transcript
from plimsoll.transcripts.writer import json_line

# A rejected line up to this size is kept whole, so that it can be repaired; for a longer one, its position suffices.
MAX_RAW = 1_000_000
NOTHING_GENERATED = "there is no assistant message to train on"


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """What happens to every row."""

    compaction: BatchPlan
    split: bool = False  # split at compactions into training examples


@dataclass(frozen=True, slots=True)
class RowResult:
    """The lines that a row adds to the output."""

    data: bytes = b""
    report: bytes = b""
    reject: bytes = b""


def process_row(row: DatasetRow, plan: BulkPlan) -> RowResult:
    """Process a row."""
    try:
        transcript = row.read()
        process = _split if plan.split else _compacted
        lines, report = process(transcript, plan.compaction)
    except PlimsollError as error:
        return rejected(row, str(error))
    except Exception as error:  # a bug or unexpected values: one row must not end a run of days
        place = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"internal error, please report it: {type(error).__name__}: {error}"
        return rejected(row, f"{reason} ({place.name}, line {place.lineno})")
    facts = {"source": row.source, "row": row.number, "id": transcript.id, "format": transcript.format}
    return RowResult(b"".join(map(json_line, lines)), json_line({**facts, **report}))


def rejected(row: DatasetRow, reason: str) -> RowResult:
    """The result for a rejected row."""
    facts: dict[str, Any] = {"source": row.source, "row": row.number, "reason": reason}
    if row.raw is not None and len(row.raw) <= MAX_RAW:
        facts["raw"] = row.raw.rstrip(b"\r\n").decode("utf-8", "backslashreplace")
    return RowResult(reject=json_line(facts))


def _compacted(transcript: Transcript, plan: BatchPlan) -> tuple[list[Any], dict[str, Any]]:
    """The row with its conversation compacted, if due."""
    done = compact_one(BatchJob(plan, transcript), describe=False)
    is_compacted = done.outcome == "compacted"
    report = {
        "outcome": done.outcome,
        "reason": done.reason,
        "window": done.window,
        "messages_before": done.messages_before,
        "messages_after": done.messages_after,
        "tokens_before": done.tokens_before,
        "tokens_after": done.tokens_after,
        "valid": done.valid,
        "violations": list(done.violations[:3]),
        "compactions": int(is_compacted),
        "summary_source": done.summary_source if is_compacted else None,
        "summary_failures": list(done.model_failures),
        "cleared": done.cleared,
        "survived": _survival(transcript.messages, done.messages) if is_compacted else None,
    }
    return [_document(done.transcript)], report


def _split(transcript: Transcript, plan: BatchPlan) -> tuple[list[Any], dict[str, Any]]:
    """The training examples of a row."""
    plan = plan.for_transcript(transcript)
    tools = transcript.wrapper.get("tools")
    overhead = estimate_tools_tokens(tools) if isinstance(tools, list) else 0
    split = split_at_compactions(transcript.messages, plan.engine(transcript), overhead, plan.focus)
    if not split.examples:
        raise TranscriptError(f"{transcript.place}: {NOTHING_GENERATED}.")
    violations = [
        str(violation)
        for example in split.examples
        for violation in validate(list(example.messages), get_args(Wire)[0])
    ]
    before, last = transcript.messages, split.examples[-1].messages
    report = {
        "outcome": "split" if len(split.examples) > 1 else "unchanged",
        "reason": f"{len(split.reports)} compactions",
        "window": plan.window,
        "messages_before": len(before),
        "messages_after": len(last),
        "tokens_before": estimate_messages_tokens_rough(before),
        "tokens_after": estimate_messages_tokens_rough(last),
        "valid": not violations,
        "violations": violations[:3],
        "compactions": len(split.reports),
        "summary_source": _source(split),
        "summary_failures": [failure for item in split.reports for failure in item.model_failures],
        "cleared": sum(item.cleared for item in split.reports),
        "survived": _survival(before[: split.last_cut], split.last_view) if split.reports else None,
        "examples": len(split.examples),
    }
    wrapper = _wrapper(transcript)
    lines = [
        {
            **wrapper,
            "example": number,
            "messages": list(example.messages),
            "generated": list(example.generated),
        }
        for number, example in enumerate(split.examples)
    ]
    return lines, report


def _source(split: SplitConversation) -> str | None:
    """What wrote the summaries; a model only if it wrote all of them."""
    sources = {report.summary_source for report in split.reports}
    return None if not sources else "model" if sources == {"model"} else "deterministic"


def _survival(before: Sequence[Message], after: Sequence[Message]) -> dict[str, Any]:
    """What survived of the conversation: shares of stated facts, and invented identifiers."""
    facts = stated_facts(before)
    found = shares(zip(facts, kept(facts, Reading(joined(after))), strict=True))
    return {
        "stated": round(weighted(found), 4) if found else None,
        "kinds": {kind: round(part, 4) for kind, part in found.items()},
        "invented": len(fabrications(before, after)),
    }


def _document(transcript: Transcript) -> Any:
    """One line of data.jsonl: the original row with its conversation compacted."""
    if not transcript.wrapper:
        transcript = replace(transcript, shape="object", wrapper=_wrapper(transcript))
    return transcript.dialect.document(transcript.messages, transcript.wrapper, True)


def _wrapper(transcript: Transcript) -> dict[str, Any]:
    """The fields around the messages; a session has its id and its file."""
    if transcript.wrapper:
        return {key: value for key, value in transcript.wrapper.items() if key != "system"}
    named = {"id": transcript.id} if transcript.id else {}
    return {**named, "source": transcript.source, "messages": None}
