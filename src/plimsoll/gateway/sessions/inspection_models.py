"""What an inspector of sessions gets: a compaction in detail."""

from typing import Literal

from plimsoll.gateway.sessions.models import CompactionResponse, Count, SessionModel
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
