"""The server-sent events of a turn, as pydantic models."""

from pydantic import BaseModel

from plimsoll.gateway.sessions.models import (
    AnswerResponse,
    CompactionResponse,
    MessageNumber,
    ProblemResponse,
    SessionId,
    SessionModel,
)


class AcceptedEvent(SessionModel):
    """The message is stored under this number."""

    session: SessionId
    number: MessageNumber


class TextEvent(SessionModel):
    """A piece of the answer, of the model's thinking, or a notice."""

    text: str


class ToolCallEvent(SessionModel):
    """A tool is called."""

    id: str
    line: str


class ToolResultEvent(ToolCallEvent):
    """A tool call has its result."""

    seconds: float
    is_error: bool


EVENTS: dict[str, type[BaseModel]] = {
    "accepted": AcceptedEvent,
    "text": TextEvent,
    "thinking": TextEvent,
    "tool_call": ToolCallEvent,
    "tool_result": ToolResultEvent,
    "compaction": CompactionResponse,
    "notice": TextEvent,
    "done": AnswerResponse,
    "error": ProblemResponse,
}
