"""Converts a stored session to a conversation file in a provider's request format."""

from collections.abc import Iterable
from typing import Literal

from plimsoll.archive import Session
from plimsoll.dialects import dialect_named
from plimsoll.messages import Message
from plimsoll.transcripts.transcript import Transcript

ExportFormat = Literal["openai", "anthropic"]


def stored_session(session: Session, messages: Iterable[Message], format: ExportFormat) -> Transcript:
    """The messages of a session, with its id, title and model if the format has fields for them."""
    facts = {"id": session.id, "title": session.title, "model": session.model, "messages": []}
    wrapper = facts if dialect_named(format).open_documents else {"messages": []}
    return Transcript(
        list(messages), session.id, format=format, id=session.id, shape="object", wrapper=wrapper
    )
