"""Pydantic models of the requests and responses of `/sessions`: they validate requests, build responses, and
define `/openapi.json`.

A response is built from its archive record: `SessionResponse.model_validate(session)`.
"""

import re
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    ValidationInfo,
    WithJsonSchema,
)

from plimsoll.archive import Session, SessionFigures
from plimsoll.messages import text_of
from plimsoll.sessions import Exchange

TEXT = "text"  # the validation context of paths and queries, where numbers are text
_HIGHEST = 2**31 - 1
_WHOLE = re.compile(r"-?[0-9]{1,18}")


def _whole(value: Any, info: ValidationInfo) -> Any:
    """Accept 3.0 in JSON, and the text "3" in a query, as whole numbers."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return int(value) if info.context == TEXT and _WHOLE.fullmatch(str(value)) else value


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


def optional_field(**more: Any) -> Any:
    """A field that may be missing, but not null."""
    return Field(default=None, json_schema_extra=_without_default, **more)


_AS_WHOLE = BeforeValidator(_whole)
Count = Annotated[int, Field(strict=True, ge=0, le=_HIGHEST), _AS_WHOLE]
SessionId = Annotated[
    str,
    StringConstraints(pattern="^[a-z0-9][a-z0-9-]{0,79}$"),
    Field(examples=["20261115-094512-quiet-harbour"]),
]
MessageNumber = Annotated[
    int,
    Field(
        strict=True,
        ge=1,
        le=_HIGHEST,
        description="The number of a message in its session; the first is 1.",
    ),
    _AS_WHOLE,
]
IdempotencyKey = Annotated[str, StringConstraints(pattern="^[!-~]{1,200}$")]
# Databases do not store control characters in names.
Title = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\u0000-\u001f\u007f]*$")]
ErrorSource = Annotated[str, StringConstraints(min_length=1, pattern=r"[^\s\u0000]")]
WireMessage = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            "type": "object",
            "properties": {"role": {"type": "string"}},
            "required": ["role"],
            "description": "A message in OpenAI's chat format.",
        }
    ),
]


SearchedName = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\u0000]*$")]


def parsed_flag(value: Any, info: ValidationInfo) -> Any:
    """Accept booleans as text in a query."""
    return {"true": True, "false": False}.get(str(value), value) if info.context == TEXT else value


class SessionModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True)


# Requests


class ListQuery(SessionModel):
    """The query of `GET /sessions`."""

    limit: Annotated[int, Field(strict=True, ge=1, le=500), _AS_WHOLE] = 50
    offset: Count = 0
    prefix: Annotated[str, StringConstraints(pattern="^[a-z0-9-]{0,80}$")] = ""


class LogQuery(SessionModel):
    """The query of `GET /sessions/{id}/messages`."""

    first: MessageNumber = 1
    limit: Annotated[int, Field(strict=True, ge=1, le=1_000), _AS_WHOLE] = 100
    clip: Annotated[int, Field(strict=True, ge=1, le=1_000_000), _AS_WHOLE] = optional_field(
        description="Cut texts and tool arguments to this many characters, and leave out media."
    )


class CompactionsQuery(SessionModel):
    """The query of `GET /sessions/{id}/compactions`."""

    limit: Annotated[int, Field(strict=True, ge=1, le=1_000), _AS_WHOLE] = 100


class SearchParameters(SessionModel):
    """The query of a search."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=1_000, pattern=r"^[^\u0000]*$")]
    mode: Literal["words", "substring", "regex"] = optional_field()
    order: Literal["newest", "oldest", "relevance"] = optional_field()
    role: Literal["system", "user", "assistant", "tool"] = optional_field()
    limit: Annotated[int, Field(strict=True, ge=1, le=200), _AS_WHOLE] = optional_field()
    cursor: Count = optional_field()
    tool: SearchedName = optional_field(description="Only calls of this tool and their results.")
    file: SearchedName = optional_field(
        description="Only messages that name this file, and results of calls with it."
    )
    errors: Annotated[bool, BeforeValidator(parsed_flag)] = optional_field(
        description="Only results of failed calls."
    )


class NewSession(SessionModel):
    """The body of `POST /sessions`."""

    title: Title = Field(default="", description="Shown in lists; if empty, taken from the first message.")
    system_prompt: ErrorSource = optional_field(description="The system prompt; it cannot be changed later.")


class TextPart(SessionModel):
    """A part of a message that is text."""

    type: Literal["text"]
    text: ErrorSource


class ImageUrl(SessionModel):
    """An image that is embedded in the request."""

    url: Annotated[
        str, StringConstraints(pattern=r"^data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$")
    ]


class ImagePart(SessionModel):
    """A part of a message that is an image."""

    type: Literal["image_url"]
    image_url: ImageUrl


def _kind_of_content(value: Any) -> str:
    return "parts" if isinstance(value, list) else "text"


_Parts = Annotated[
    list[Annotated[TextPart | ImagePart, Field(discriminator="type")]], Field(min_length=1, max_length=64)
]


class NewMessage(SessionModel):
    """The body of `POST /sessions/{id}/messages`."""

    model_config = ConfigDict(json_schema_extra={"example": {"content": "Which ships came in this week?"}})

    content: Annotated[
        Annotated[ErrorSource, Tag("text")] | Annotated[_Parts, Tag("parts")], Discriminator(_kind_of_content)
    ]
    stream: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="Server-sent events instead of one answer."
    )
    on_disconnect: Literal["finish", "cancel"] = Field(
        default="finish", description="What happens to the turn if the client disconnects."
    )


class Focus(SessionModel):
    """The body of `POST /sessions/{id}/compact`."""

    focus: Annotated[ErrorSource, StringConstraints(max_length=2_000)] = optional_field(
        description="Topic that gets most of the summary."
    )


class Fork(SessionModel):
    """The body of `POST /sessions/{id}/fork`."""

    at: Count = optional_field(description="The last shared message.")
    title: Title = optional_field()


# Responses


class SessionResponse(SessionModel):
    """Get a session."""

    id: SessionId
    title: str
    model: str
    engine: str
    created: float
    updated: float
    messages: Count
    tokens: Count
    parent: str | None
    forked_at: Count


class ListedSessionResponse(SessionResponse):
    """A session in a list, with its sizes and its cost."""

    state: Literal["whole", "compacted"] = Field(
        description="Whether the model sees all messages of the log."
    )
    view_tokens: Count
    compactions: Count
    requests: Count
    money: float
    unpriced: Count

    @classmethod
    def of(cls, session: Session, figures: SessionFigures) -> "ListedSessionResponse":
        """A session with its figures."""
        facts = dict(SessionResponse.model_validate(session))
        state = "compacted" if session.view else "whole"
        return cls.model_validate({**facts, **asdict(figures), "state": state})


class SessionsResponse(SessionModel):
    """List sessions, most recently written first."""

    sessions: list[ListedSessionResponse]


class StoredMessageResponse(SessionModel):
    """A message of the log."""

    number: Count = Field(validation_alias="sequence")
    time: float
    tokens: Count
    handle: str
    message: WireMessage


class ClippedMessageResponse(StoredMessageResponse):
    """A message of the log with long texts cut and media left out."""

    characters: Count
    clipped: bool = Field(description="Whether a text was cut.")


class LogResponse(SessionModel):
    """One page of the log."""

    messages: list[ClippedMessageResponse] | list[StoredMessageResponse]
    next: int | None
    total: Count


class ViewItemResponse(SessionModel):
    """A message as the model sees it; `number` is null for a summary."""

    number: Annotated[int | None, BeforeValidator(lambda number: number or None)] = Field(
        validation_alias="sequence"
    )
    shortened: bool
    summary: Annotated[bool, BeforeValidator(bool)] = Field(validation_alias="node")
    tokens: Count
    message: WireMessage


class ViewResponse(SessionModel):
    """What the model sees."""

    messages: list[ViewItemResponse]
    tokens: Count


class AnswerResponse(SessionModel):
    """The answer to a message. It is read from the log, so a repeated request returns the same answer."""

    session: SessionId
    first: Count
    last: Count
    ending: Literal["answered", "interrupted"]
    repeated: bool = Field(description="True if this is the stored answer to a repeated request.")
    text: str
    message: WireMessage

    @classmethod
    def of(cls, exchange: Exchange) -> "AnswerResponse":
        """The answer of a successful exchange."""
        return cls.model_validate(
            {
                "session": exchange.session,
                "first": exchange.first,
                "last": exchange.last,
                "ending": exchange.ending,
                "repeated": exchange.is_repeat,
                "text": text_of(exchange.answer),
                "message": exchange.answer,
            }
        )


class CompactionResponse(SessionModel):
    """A change of the view: a compaction attempt, a user's edit, an undo or a redo."""

    number: Count
    trigger: str
    engine: str
    outcome: Literal["compacted", "refused", "undone", "redone", "edited"]
    author: str = Field(description="The user who asked for it; empty if automatic.")
    reason: str
    messages_before: Count
    messages_after: Count
    tokens_before: Count
    tokens_after: Count
    model: str
    money: float | None
    seconds: float
    waited: float
    time: float
    view_before: Count
    view_after: Count


class CompactionsResponse(SessionModel):
    """List compactions, newest last."""

    compactions: list[CompactionResponse]


class PinsResponse(SessionModel):
    """List pinned messages."""

    pins: list[MessageNumber]


class HitResponse(SessionModel):
    """A message that a search found; `marks` are the matching positions in the snippet."""

    session: SessionId
    number: Count = Field(validation_alias="sequence")
    role: str
    time: float
    snippet: str
    marks: list[tuple[Count, Count]]


class HitsResponse(SessionModel):
    """Hits, and where the next page starts."""

    hits: list[HitResponse]
    next: int | None
    complete: bool


class DeletedResponse(SessionModel):
    """A deleted session."""

    id: SessionId
    kept_for_forks: Count


class ProblemResponse(SessionModel):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
