"""Phase 3, the prompt of the summary model: instructions, opening and newest request, and a piece of transcript.

`excerpts.py` creates the transcript. Pieces end at message boundaries if a message fits.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from plimsoll.context.ledger import NOTHING_ADDED, SECTIONS, CustomPrompt, asked_headings
from plimsoll.messages import Message, arguments_text, excerpt, text_of, tool_calls
from plimsoll.models import estimate_tokens
from plimsoll.secrets import redact

_REQUEST_EXCERPT = 4_000  # characters of each request that the prompt quotes
# A model cannot count its tokens. English has about three words in four tokens; a line of a summary has about 14.
_WORDS_PER_TOKEN, _WORDS_PER_LINE = 0.75, 14
_SHORT_OF = 0.9  # of the budget, because models write somewhat more than requested
_QUOTED = 100  # characters that identify a message


@dataclass(frozen=True, slots=True)
class SummaryPrompt:
    """The parts of the prompt around a piece of transcript."""

    budget: int
    focus: str | None = None
    opening: str = ""
    newest: str = ""  # the newest request, if it is not in the transcript
    request_characters: int = _REQUEST_EXCERPT  # maximum per request
    custom: CustomPrompt = NOTHING_ADDED

    def prompt(self, transcript: str, previous: str = "") -> str:
        """The whole prompt for one piece of transcript and the summary so far."""
        parts = [self._rules(), *self._wishes()]
        for name, request in (("opening_request", self.opening), ("newest_request", self.newest)):
            if request:
                shown = excerpt(redact(request), min(_REQUEST_EXCERPT, self.request_characters))
                parts.append(f"<{name}>\n{shown}\n</{name}>\n")
        if previous:
            parts.append(_template("update").format(previous=redact(previous)))
        parts.append(f"<transcript>\n{transcript}\n</transcript>")
        return "\n".join(parts)

    def instruction(self, view: Sequence[Message], covered: tuple[int, int], previous: str = "") -> str:
        """The instruction appended to the conversation, to summarise the messages in the range `covered`."""
        first, last = (_named(view[position], position) for position in covered)
        named = f"everything from {first} to {last}"
        parts = [
            _template("conversation").format(covered=named),
            self._rules(),
            *self._wishes(),
        ]
        if previous:
            parts.append(_template("update").format(previous=redact(previous)))
        return "\n".join(parts)

    def _rules(self) -> str:
        words = int(self.budget * _WORDS_PER_TOKEN * _SHORT_OF)
        lines = max(len(SECTIONS), words // _WORDS_PER_LINE)
        headings = asked_headings(self.custom.sections)
        rules = _template("summarise").format(headings=headings, words=words, lines=lines)
        return f"{rules}{self.custom.instructions}\n" if self.custom.instructions else rules

    def _wishes(self) -> Iterator[str]:
        if self.focus:
            words = self.budget * _WORDS_PER_TOKEN * _SHORT_OF
            low, high = int(words * 0.60), int(words * 0.70)
            focus = redact(self.focus)
            yield _template("focus").format(focus=focus, focus_low=low, focus_high=high)


def pack(texts: Iterable[str], room: int) -> Iterator[str]:
    """The texts joined into pieces of about `room` tokens at most, in order."""
    lines: list[str] = []
    used = 0
    for text in texts:
        for part in _fitting(text, room):
            cost = estimate_tokens(part) + 1
            if lines and used + cost > room:
                yield "\n".join(lines)
                lines, used = [], 0
            lines.append(part)
            used += cost
    if lines:
        yield "\n".join(lines)


def all_text(message: Message) -> str:
    """The complete text of a message."""
    return "\n".join((text_of(message), *map(arguments_text, tool_calls(message))))


def _named(message: Message, position: int) -> str:
    """A reference by which the model can find a message: its number, role and beginning."""
    words = " ".join(redact(text_of(message)).split())
    begins = f", which begins “{words[:_QUOTED]}”" if words else ""
    return f"message {position + 1} ({message.get('role')}{begins})"


def _fitting(text: str, room: int) -> Iterator[str]:
    """The text split into parts of at most `room` tokens; usually one."""
    while text:
        size = len(text)
        while size > 1 and estimate_tokens(text[:size]) >= room:
            size = max(1, size * 3 // 4)
        yield text[:size]
        text = text[size:]


@cache
def _template(name: str) -> str:
    return files("plimsoll.context.compressor").joinpath("prompts", f"{name}.md").read_text("utf-8")
