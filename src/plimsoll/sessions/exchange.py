"""A user message and its answer, read from the log.

    first                                    last
    user ─ [ calls ─ results ─ … ] ─ assistant │ user …

The log is the only source, so a repeated message gets the original answer from any process
and after any restart.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from plimsoll.agent import INTERRUPTED, PROCESS_ENDED, UNANSWERED
from plimsoll.archive import Archive
from plimsoll.errors import UserError
from plimsoll.messages import Message, text_of, tool_calls

Ending: TypeAlias = Literal["answered", "interrupted", "failed", "unfinished"]
_ENDINGS: tuple[tuple[str, Ending], ...] = (
    (INTERRUPTED, "interrupted"),
    (PROCESS_ENDED, "interrupted"),
    (UNANSWERED, "failed"),
)
_PAGE = 64  # messages per read


@dataclass(frozen=True, slots=True)
class Exchange:
    """Messages `first` to `last` of a session: one turn."""

    session: str
    first: int
    last: int
    answer: Message  # the newest message of the turn
    is_repeat: bool = False  # the message was sent before; nothing was run

    @property
    def ending(self) -> Ending:
        """How the turn ended."""
        if self.answer.get("role") != "assistant" or tool_calls(self.answer):
            return "unfinished"
        text = text_of(self.answer)
        return next((ending for words, ending in _ENDINGS if text.endswith(words)), "answered")


async def exchange_at(archive: Archive, id: str, first: int, request: Message) -> Exchange:
    """The turn that started with message `first`, which must equal `request`."""
    page = await archive.messages(id, first, first)
    if not page or page[0].message != request:
        raise UserError(
            f"This Idempotency-Key belongs to message {first} of session {id}, which has different content. "
            "Use a new key."
        )
    last = page[0]
    while page := await archive.messages(id, last.sequence + 1, last.sequence + _PAGE):
        for stored in page:
            if stored.role == "user" and last.role != "user":  # several in a row are answered together
                return Exchange(id, first, last.sequence, last.message, is_repeat=True)
            last = stored
    return Exchange(id, first, last.sequence, last.message, is_repeat=True)
