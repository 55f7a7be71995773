"""Request bodies in the dialects whose messages are not in `messages`.

{"input": text or items, "instructions": …}             OpenAI Responses
{"contents": [contents], "systemInstruction": …}        Gemini
"""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from plimsoll.dialects import GEMINI, RESPONSES, Dialect
from plimsoll.errors import InvalidConversation, TranscriptError
from plimsoll.messages import Message
from plimsoll.transcripts.formats.format import Record, TranscriptFormat, one_or_lines
from plimsoll.transcripts.formats.log import checked, named
from plimsoll.transcripts.transcript import Transcript


class RequestBodyFormat(TranscriptFormat):
    """One body in the file, or one per line."""

    is_log = False
    one_per_record = True
    dialect: ClassVar[Dialect]

    def recognises(self, record: Any) -> bool:
        listed = record.get(self.dialect.messages_field) if isinstance(record, dict) else None
        return isinstance(listed, list)

    def read(self, records: Iterable[Record], source: str) -> Iterator[Transcript]:
        for line, body in one_or_lines(records):
            where = source if line is None else f"{source}: line {line}"
            if not isinstance(body, dict):
                raise TranscriptError(f"{where} is {named(body)}, not {self.title}.")
            yield self._transcript(body, where, source, line)

    def _transcript(self, body: dict[str, Any], where: str, source: str, line: int | None) -> Transcript:
        try:
            messages = canonical_messages(self.dialect, body)
        except InvalidConversation as error:
            raise TranscriptError(f"{where}: {error}.") from error
        if not messages:
            raise TranscriptError(f"{where} is a conversation without messages.")
        return Transcript(
            messages=checked(messages, where),
            source=source,
            format=self.dialect.name,
            line=line,
            shape="object",
            wrapper=body,
            model=body["model"] if isinstance(body.get("model"), str) else None,
        )


class ResponsesBodyFormat(RequestBodyFormat):
    """Requests to OpenAI's Responses API."""

    name = "responses"
    title = "an OpenAI Responses request"
    dialect = RESPONSES


class GeminiBodyFormat(RequestBodyFormat):
    """Requests to Google's Gemini API."""

    name = "gemini"
    title = "a Gemini request"
    dialect = GEMINI


def canonical_messages(dialect: Dialect, body: dict[str, Any]) -> list[Message]:
    """The conversation in a body. Raises `InvalidConversation`."""
    wire = dialect.messages(body)
    messages = [message for index in range(len(wire)) for message in dialect.canonical(wire, index)]
    return [*dialect.lead(body), *messages]
