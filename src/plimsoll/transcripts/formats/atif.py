"""ATIF trajectories (Agent Trajectory Interchange Format, versions 1.x).

    {"schema_version": "ATIF-v1.7", "session_id", "agent": {"name", "model_name"}, "steps": [step, …]}
    step: {"step_id", "source": "system" | "user" | "agent", "message": text or parts,
           "tool_calls": [{"tool_call_id", "function_name", "arguments"}],
           "observation": {"results": [{"source_call_id", "content"}]}}

ATIF refers to images by path; a text line names them. Results without a call are messages of the environment.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from plimsoll.messages import Message
from plimsoll.messages.untyped import object_of, objects_in, string_of
from plimsoll.transcripts.formats.format import Record, TranscriptFormat
from plimsoll.transcripts.formats.log import assistant, documents, from_log, shown, tool_call
from plimsoll.transcripts.transcript import Transcript


class AtifFormat(TranscriptFormat):
    """Trajectories in ATIF."""

    name = "atif"
    title = "an ATIF trajectory"
    one_per_record = True

    def recognises(self, record: Any) -> bool:
        return (
            isinstance(record, dict)
            and string_of(record.get("schema_version")).startswith("ATIF")
            and isinstance(record.get("steps"), list)
        )

    def read(self, records: Iterable[Record], source: str) -> Iterator[Transcript]:
        for line, record in documents(records, source, self):
            agent = object_of(record.get("agent"))
            steps = objects_in(record.get("steps"))
            models = [string_of(part.get("model_name")) for part in (agent, *steps)]
            session = string_of(record.get("session_id")) or string_of(record.get("trajectory_id"))
            yield from_log(
                [message for step in steps for message in _messages(step)],
                source,
                self,
                session or None,
                next((model for model in reversed(models) if model), None),
                line=line,
            )


def _messages(step: dict[str, Any]) -> Iterator[Message]:
    text, kind = _text(step.get("message")), step.get("source")
    calls = [
        tool_call(
            string_of(call.get("tool_call_id")),
            string_of(call.get("function_name")) or "tool",
            call.get("arguments"),
        )
        for call in objects_in(step.get("tool_calls"))
    ]
    if kind == "agent" and (text or calls):
        yield assistant(text, calls)
    elif kind in ("system", "user") and text:
        yield {"role": str(kind), "content": text}
    observation = step.get("observation")
    results = objects_in(observation.get("results")) if isinstance(observation, dict) else []
    known = {call["id"]: call["function"]["name"] for call in calls}
    for result in results:
        call_id, content = string_of(result.get("source_call_id")), _text(result.get("content"))
        if call_id in known:
            yield {"role": "tool", "tool_call_id": call_id, "name": known[call_id], "content": content}
        elif content:
            yield {"role": "user", "name": "meta", "content": content}


def _text(content: Any) -> str:
    if not isinstance(content, list):
        return shown(content)
    return "\n".join(filter(None, (_part(part) for part in objects_in(content))))


def _part(part: dict[str, Any]) -> str:
    if part.get("type") == "text":
        return string_of(part.get("text"))
    place = part.get("source")
    path = string_of(place.get("path")) if isinstance(place, dict) else ""
    return f"[{part.get('type') or 'part'}: {path}]" if path else f"[{part.get('type') or 'part'}]"
