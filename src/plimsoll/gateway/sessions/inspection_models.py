"""Requests and responses of the inspector: a compaction in detail, and users' actions."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints

from plimsoll.gateway.sessions.models import (
    CompactionResponse,
    Count,
    ErrorSource,
    MessageNumber,
    SessionModel,
    SessionResponse,
    parsed_flag,
)
from plimsoll.sessions import CompactionDetail


class DetailItemResponse(SessionModel):
    """A message of a view before or after a compaction, in short. `number` is null for a summary."""

    kind: Literal["message", "shortened", "node"]
    number: Count | None
    node: str | None
    role: str
    tokens: Count
    preview: str
    fate: Literal["kept", "shortened", "summarised", "removed", ""]
    is_new: bool


class SourcedLineResponse(SessionModel):
    """A line of a summary and the messages that it comes from."""

    section: str
    text: str
    by: str
    sources: list[Count]


class FactCountResponse(SessionModel):
    """How many facts of a kind the view named before a compaction, and how many of them after it."""

    had: Count
    kept: Count


class LostFactResponse(SessionModel):
    """A fact that the view no longer names, and the messages that stated it."""

    kind: str
    text: str
    messages: list[Count]


class CompactionDetailResponse(CompactionResponse):
    """A compaction with what it kept, shortened and removed."""

    before: list[DetailItemResponse]
    after: list[DetailItemResponse]
    lines: list[SourcedLineResponse]
    summary: str
    evidence: str
    node: str | None
    facts: dict[str, FactCountResponse]
    lost: list[LostFactResponse]
    steps: list[str]

    @classmethod
    def of(cls, detail: CompactionDetail) -> "CompactionDetailResponse":
        """The response for a compaction."""
        names = set(cls.model_fields) - set(CompactionResponse.model_fields)
        return cls.model_validate(
            {
                **dict(CompactionResponse.model_validate(detail.event)),
                **{name: getattr(detail, name) for name in names},
            }
        )


class Preview(SessionModel):
    """The body of `POST /sessions/{id}/undo` and `/redo`."""

    preview: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="Return what would happen, and change nothing."
    )


class Drop(Preview):
    """The body of `POST /sessions/{id}/drop`."""

    model_config = ConfigDict(json_schema_extra={"example": {"messages": [3]}})

    messages: Annotated[list[MessageNumber], Field(min_length=1, max_length=1_000)]


class SummaryText(Preview):
    """The body of `PUT /sessions/{id}/summary`."""

    text: Annotated[ErrorSource, StringConstraints(max_length=1_000_000)]
    node: Annotated[str, StringConstraints(pattern="^n:[0-9a-f]{10}$")] = Field(
        description="The summary that you read and replace. A newer one is never overwritten: the answer is 409."
    )


class ExportQuery(SessionModel):
    """The query of `GET /sessions/{id}/export`."""

    format: Literal["openai", "anthropic", "markdown"] = "openai"
    view: Annotated[bool, BeforeValidator(parsed_flag)] = Field(
        default=False, description="Export what the model sees instead of the whole conversation."
    )


class CacheEffectResponse(SessionModel):
    """What a change does to the provider's cache, in estimated tokens; `money` in USD, null without prices."""

    kept: Count
    rewritten: Count
    money: float | None


class ActionResponse(SessionModel):
    """What an action did or, in a preview, would do. `refused` says why a preview cannot be done."""

    action: Literal["drop", "edit", "undo", "redo"]
    preview: bool
    refused: str
    view: Count
    messages: list[Count]
    messages_before: Count
    messages_after: Count
    tokens_before: Count
    tokens_after: Count
    cache: CacheEffectResponse
    session: SessionResponse


class RecordedActionResponse(SessionModel):
    """A user's action on a session, and when."""

    action: str
    actor: str
    details: dict[str, Any]
    time: float
    view_before: Count
    view_after: Count


class ActionsResponse(SessionModel):
    """List users' actions on a session, newest last."""

    actions: list[RecordedActionResponse]


class ExportResponse(SessionModel):
    """A conversation in the format of a provider's requests, or as a Markdown document."""

    format: Literal["openai", "anthropic", "markdown"]
    content: dict[str, Any] | str


class SummaryResponse(SessionModel):
    """The summary in the view, ready for editing; `node` is null if there is none."""

    node: str | None
    text: str
    author: str
