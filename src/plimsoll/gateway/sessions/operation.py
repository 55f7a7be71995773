"""An operation on sessions: a method on a path, its parameters and its response."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter

from plimsoll.gateway.sessions.models import MessageNumber, SessionId
from plimsoll.gateway.sessions.owner_sessions import OwnerSessions

PATH_VALUES: dict[str, TypeAdapter[Any]] = {
    "id": TypeAdapter(SessionId),
    "number": TypeAdapter(MessageNumber),
}


@dataclass(frozen=True, slots=True)
class OperationInput:
    """A validated request: the path's values, and the models of its query and body."""

    id: str = ""  # the session in the path
    number: int = 0  # the message in the path
    query: Any = None
    body: Any = None


Run = Callable[[OwnerSessions, OperationInput], Awaitable[BaseModel]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One method on one path. `run` is None for the streaming operation."""

    name: str
    method: str
    path: str
    summary: str
    result: type[BaseModel]
    run: Run | None = None
    status: int = 200
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None

    @property
    def path_values(self) -> dict[str, TypeAdapter[Any]]:
        """The values in the path."""
        return {name: value for name, value in PATH_VALUES.items() if f"{{{name}}}" in self.path}

    @property
    def needs_body(self) -> bool:
        """Whether the body has a required field."""
        return self.body is not None and any(field.is_required() for field in self.body.model_fields.values())
