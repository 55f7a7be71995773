"""Phase 3, what the summary model reads: the transcript in excerpts, and the instructions around it.

The originals are excerpted per message, so one huge tool result cannot push the
rest out; nothing is skipped. Pieces end at message boundaries wherever a message fits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from plimsoll.messages import Message, arguments_text, call_name, excerpt, media_of, text_of, tool_calls
from plimsoll.models import estimate_tokens

_EXCERPT = {"user": 8_000, "assistant": 4_000, "tool": 2_000}
_ARGUMENTS_EXCERPT = 1_200
_OPENING_EXCERPT = 1_000


@dataclass(frozen=True, slots=True)
class Frame:
    """What surrounds every piece of a transcript in the prompt."""

    budget: int
    focus: str | None = None
    opening: str = ""

    def prompt(self, transcript: str, previous: str = "") -> str:
        """The whole prompt for one piece of transcript and the summary so far."""
        parts = [_template("summarise").format(budget=self.budget)]
        if self.focus:
            low, high = int(self.budget * 0.60), int(self.budget * 0.70)
            parts.append(_template("focus").format(focus=self.focus, focus_low=low, focus_high=high))
        if self.opening:
            request = excerpt(self.opening, _OPENING_EXCERPT)
            parts.append(f"<opening_request>\n{request}\n</opening_request>\n")
        if previous:
            parts.append(_template("update").format(previous=previous))
        parts.append(f"<transcript>\n{transcript}\n</transcript>")
        return "\n".join(parts)


def pieces(messages: Sequence[Message], room: int) -> Iterator[str]:
    """The transcript in pieces of at most about `room` tokens each, in order."""
    lines: list[str] = []
    used = 0
    for message in messages:
        for part in _fitting(as_text(message), room):
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
    lines = [f"[{role}] {excerpt(text_of(message), _EXCERPT.get(role, 2_000))}"]
    lines += [f"  (attached: {part.get('type')})" for part in media_of(message)]
    for call in tool_calls(message):
        lines.append(f"  calls {call_name(call)}({excerpt(arguments_text(call), _ARGUMENTS_EXCERPT)})")
    return "\n".join(lines)


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
