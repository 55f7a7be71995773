"""JSON Schemas of what clients send and get; requests are checked against them, and `/openapi.json` shows them."""

from typing import Any

Schema = dict[str, Any]
_HIGHEST = 2**31 - 1
_LINE = r"^[^\u0000-\u001f\u007f]*$"  # no database holds control characters in a name


def whole(lowest: int = 0, highest: int = _HIGHEST, **more: Any) -> Schema:
    """A whole number."""
    return {"type": "integer", "minimum": lowest, "maximum": highest, **more}


def shape(required: Schema, optional: Schema | None = None, **more: Any) -> Schema:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def named(name: str) -> Schema:
    """A schema of this file by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def listed(of: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": of}


TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
COUNT = whole()
SESSION_ID: Schema = {
    "type": "string",
    "pattern": "^[a-z0-9][a-z0-9-]{0,79}$",
    "example": "20261115-094512-quiet-harbour",
}
MESSAGE_NUMBER = whole(1, description="The number of a message in its session; the first is 1.")
_TITLE: Schema = {"type": "string", "maxLength": 200, "pattern": _LINE}
_SAID: Schema = {"type": "string", "minLength": 1, "pattern": r"[^\s\u0000]"}
_PART: Schema = {
    "oneOf": [
        shape({"type": {"const": "text"}, "text": _SAID}),
        shape({
            "type": {"const": "image_url"},
            "image_url": shape({
                "url": {"type": "string", "pattern": r"^data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$"}
            }),
        }),
    ]
}  # fmt: skip

NEW_SESSION = shape(
    {},
    {
        "title": {**_TITLE, "description": "Shown in lists; empty: taken from the first message."},
        "system_prompt": {**_SAID, "description": "What the model is told first, for ever."},
    },
)
NEW_MESSAGE = shape(
    {"content": {"oneOf": [_SAID, {"type": "array", "items": _PART, "minItems": 1, "maxItems": 64}]}},
    {
        "stream": {**FLAG, "default": False, "description": "Server-sent events instead of one answer."},
        "on_disconnect": {
            "enum": ["finish", "cancel"],
            "default": "finish",
            "description": "What becomes of the turn when the client goes away.",
        },
    },
    example={"content": "Which ships came in this week?"},
)
FOCUS = shape({}, {"focus": {**_SAID, "maxLength": 2_000, "description": "What the summary is to dwell on."}})
FORK = shape({}, {"at": {**COUNT, "description": "The last message that is shared."}, "title": _TITLE})

MESSAGE: Schema = {
    "type": "object",
    "properties": {"role": TEXT},
    "required": ["role"],
    "description": "A message as OpenAI's chat completions have it.",
}
_ORIGIN: Schema = {"type": ["string", "null"]}
RESULTS: dict[str, Schema] = {
    "Session": shape({
        "id": SESSION_ID, "title": TEXT, "model": TEXT, "engine": TEXT, "created": NUMBER, "updated": NUMBER,
        "messages": COUNT, "tokens": COUNT, "parent": _ORIGIN, "forked_at": COUNT,
    }),
    "Sessions": shape({"sessions": listed(named("Session"))}),
    "Message": MESSAGE,
    "StoredMessage": shape({
        "number": COUNT, "time": NUMBER, "tokens": COUNT, "handle": TEXT, "message": named("Message"),
    }),
    "Log": shape({
        "messages": listed(named("StoredMessage")), "next": {"type": ["integer", "null"]}, "total": COUNT,
    }),
    "ViewItem": shape({
        "number": {"type": ["integer", "null"]}, "shortened": FLAG, "summary": FLAG, "tokens": COUNT,
        "message": named("Message"),
    }),
    "View": shape({"messages": listed(named("ViewItem")), "tokens": COUNT}),
    "Answer": shape({
        "session": SESSION_ID, "first": COUNT, "last": COUNT,
        "ending": {"enum": ["answered", "interrupted"]},
        "repeated": {**FLAG, "description": "The key was known: this is the answer that was given then."},
        "text": TEXT, "message": named("Message"),
    }),
    "Compaction": shape({
        "trigger": TEXT, "engine": TEXT, "outcome": {"enum": ["compacted", "refused", "undone"]}, "reason": TEXT,
        "messages_before": COUNT, "messages_after": COUNT, "tokens_before": COUNT, "tokens_after": COUNT,
        "model": TEXT, "money": {"type": ["number", "null"]}, "seconds": NUMBER, "waited": NUMBER, "time": NUMBER,
    }),
    "Compactions": shape({"compactions": listed(named("Compaction"))}),
    "Pins": shape({"pins": listed(MESSAGE_NUMBER)}),
    "Hit": shape({
        "session": SESSION_ID, "number": COUNT, "role": TEXT, "time": NUMBER, "snippet": TEXT,
        "marks": listed({"type": "array", "items": COUNT, "minItems": 2, "maxItems": 2}),
    }),
    "Hits": shape({
        "hits": listed(named("Hit")), "next": {"type": ["integer", "null"]}, "complete": FLAG,
    }),
    "Deleted": shape({"id": SESSION_ID, "kept_for_forks": COUNT}),
    "Problem": shape({"type": TEXT, "title": TEXT, "status": whole(400, 599), "detail": TEXT}),
}  # fmt: skip

# What one server-sent event of a turn holds, by its name.
EVENTS: dict[str, Schema] = {
    "accepted": shape({"session": SESSION_ID, "number": MESSAGE_NUMBER}),
    "text": shape({"text": TEXT}),
    "thinking": shape({"text": TEXT}),
    "tool_call": shape({"id": TEXT, "line": TEXT}),
    "tool_result": shape({"id": TEXT, "line": TEXT, "seconds": NUMBER, "is_error": FLAG}),
    "compaction": named("Compaction"),
    "notice": shape({"text": TEXT}),
    "done": named("Answer"),
    "error": named("Problem"),
}


def event_schema() -> Schema:
    """One event of a stream: its name, and its data as JSON in a text."""
    data = {"type": "string", "contentMediaType": "application/json"}
    return {
        "oneOf": [
            shape({"event": {"const": name}, "data": {**data, "contentSchema": schema}})
            for name, schema in EVENTS.items()
        ],
        "description": "One event; the last is `done` or `error`. `accepted` says that the message is stored.",
    }
