"""Phase 3, the prompt of the summary model: the transcript in excerpts, and its instructions.

The originals are excerpted per message, so one huge tool result cannot push the
rest out; nothing is skipped. Pieces end at message boundaries wherever a message fits.
Secrets are redacted here, before anything is cut: half a key would no longer look like one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from plimsoll.messages import Message, arguments_text, call_name, excerpt, media_of, text_of, tool_calls
from plimsoll.models import estimate_tokens
from plimsoll.secrets import redact

_EXCERPT = {"user": 8_000, "assistant": 4_000, "tool": 2_000}
_ARGUMENTS_EXCERPT = 1_200
_OPENING_EXCERPT = 1_000
_QUOTED = 100  # characters by which a message is recognised


@dataclass(frozen=True, slots=True)
class SummaryPrompt:
    """What surrounds every piece of a transcript in the prompt."""

    budget: int
    focus: str | None = None
    opening: str = ""

    def prompt(self, transcript: str, previous: str = "") -> str:
        """The whole prompt for one piece of transcript and the summary so far."""
        parts = [_template("summarise").format(budget=self.budget), *self._wishes()]
        if self.opening:
            request = excerpt(redact(self.opening), _OPENING_EXCERPT)
            parts.append(f"<opening_request>\n{request}\n</opening_request>\n")
        if previous:
            parts.append(_template("update").format(previous=redact(previous)))
        parts.append(f"<transcript>\n{transcript}\n</transcript>")
        return "\n".join(parts)

    def instruction(self, view: Sequence[Message], covered: tuple[int, int], previous: str = "") -> str:
        """What is appended to the conversation itself: the messages from the first to the last of `covered`."""
        first, last = (_named(view[position], position) for position in covered)
        named = f"everything from {first} to {last}"
        parts = [
            _template("conversation").format(covered=named),
            _template("summarise").format(budget=self.budget),
            *self._wishes(),
        ]
        if previous:
            parts.append(_template("update").format(previous=redact(previous)))
        return "\n".join(parts)

    def _wishes(self) -> Iterator[str]:
        if self.focus:
            low, high = int(self.budget * 0.60), int(self.budget * 0.70)
            focus = redact(self.focus)
            yield _template("focus").format(focus=focus, focus_low=low, focus_high=high)


def pack(texts: Iterable[str], room: int) -> Iterator[str]:
    """The texts in pieces of at most about `room` tokens each, in order."""
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


def as_text(message: Message) -> str:
    """One message as the summary model sees it."""
    role = str(message.get("role"))
    lines = [f"[{role}] {excerpt(redact(text_of(message)), _EXCERPT.get(role, 2_000))}"]
    lines += [f"  (attached: {part.get('type')})" for part in media_of(message)]
    for call in tool_calls(message):
        arguments = excerpt(redact(arguments_text(call)), _ARGUMENTS_EXCERPT)
        lines.append(f"  calls {call_name(call)}({arguments})")
    return "\n".join(lines)


def all_text(message: Message) -> str:
    """Everything that a message says, whole."""
    return "\n".join((text_of(message), *map(arguments_text, tool_calls(message))))


def _named(message: Message, position: int) -> str:
    """A message as the model can find it: its number, who speaks, how it begins."""
    words = " ".join(redact(text_of(message)).split())
    begins = f", which begins “{words[:_QUOTED]}”" if words else ""
    return f"message {position + 1} ({message.get('role')}{begins})"


def _fitting(text: str, room: int) -> Iterator[str]:
    """The text cut into parts of at most `room` tokens; nearly always one."""
    while text:
        size = len(text)
        while size > 1 and estimate_tokens(text[:size]) >= room:
            size = max(1, size * 3 // 4)
        yield text[:size]
        text = text[size:]


@cache
def _template(name: str) -> str:
    return files("plimsoll.context.compressor").joinpath("prompts", f"{name}.md").read_text("utf-8")
