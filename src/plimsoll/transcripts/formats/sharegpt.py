"""ShareGPT conversations, as training tools write them.

    [{"conversations": [{"from": "human" | "gpt" | "system" | …, "value": text}], "system": text, "tools": text}, …]

The file is a list of them, one of them, or one per line. A `function_call` contains the JSON of a call without an
id; the `observation` after it is its result.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from plimsoll.errors import TranscriptError
from plimsoll.messages import Message
from plimsoll.messages.untyped import object_of, objects_in, string_of
from plimsoll.transcripts.formats.format import Record, TranscriptFormat
from plimsoll.transcripts.formats.log import from_log, named, shown, tool_call
from plimsoll.transcripts.transcript import Transcript

_ROLES = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "assistant", "chatgpt", "bing", "bard", "model"), "assistant"),
    "system": "system",
}
_CALLS = frozenset({"function_call", "tool_call"})
_RESULTS = frozenset({"observation", "tool", "function_response", "tool_response"})


class ShareGptFormat(TranscriptFormat):
    """Lists of turns with `from` and `value`."""

    name = "sharegpt"
    title = "a ShareGPT conversation"
    one_per_record = True

    def recognises(self, record: Any) -> bool:
        turns = object_of(record[0] if isinstance(record, list) and record else record).get("conversations")
        return isinstance(turns, list) and all(
            isinstance(turn, dict) and "from" in turn for turn in turns[:2]
        )

    def read(self, records: Iterable[Record], source: str) -> Iterator[Transcript]:
        number = 0
        for line, record in records:
            for value in record if isinstance(record, list) else [record]:
                number += 1
                if not isinstance(value, dict) or not isinstance(value.get("conversations"), list):
                    found = f"{named(value)} without the list `conversations`"
                    raise TranscriptError(f"{source}: line {line}: conversation {number} is {found}.")
                where = source if number == 1 else f"{source}: conversation {number}"
                session = value.get("id")
                name = str(session) if isinstance(session, str | int) else None
                yield from_log(list(_messages(value, where)), source, self, name, line=number)


def _messages(value: dict[str, Any], where: str) -> Iterator[Message]:
    if system := string_of(value.get("system")):
        yield {"role": "system", "content": system}
    waiting: list[dict[str, Any]] = []  # unanswered calls
    for number, turn in enumerate(objects_in(value["conversations"]), start=1):
        speaker, text = string_of(turn.get("from")), shown(turn.get("value"))
        if speaker in _CALLS:
            waiting = list(_calls(text, number))
            yield {"role": "assistant", "content": None, "tool_calls": waiting}
            waiting = list(waiting)
        elif speaker in _RESULTS and waiting:
            call = waiting.pop(0)
            name = call["function"]["name"]
            yield {"role": "tool", "tool_call_id": call["id"], "name": name, "content": text}
        elif speaker in _RESULTS:
            yield {"role": "user", "name": "meta", "content": text}
        elif speaker in _ROLES:
            yield {"role": _ROLES[speaker], "content": text}
        else:
            known = ", ".join(sorted({*_ROLES, *_CALLS, *_RESULTS}))
            raise TranscriptError(f"{where}: turn {number} is from {speaker!r}, which is not one of {known}.")


def _calls(text: str, number: int) -> Iterator[dict[str, Any]]:
    """The calls in a turn: one, or a list. Text that is not JSON becomes the arguments of an unnamed tool."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    calls = [item for item in (found if isinstance(found, list) else [found]) if isinstance(item, dict)]
    for place, call in enumerate(calls or [{"name": "tool", "arguments": {"input": text}}]):
        name = string_of(call.get("name")) or "tool"
        yield tool_call(f"call_{number}_{place}", name, call.get("arguments", call.get("parameters")))
