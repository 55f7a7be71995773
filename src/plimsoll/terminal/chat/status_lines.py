"""The one-line messages of the chat, as plain text. Pure.

📏 Context: 200,000 tokens, compaction at 100,000
● terminal(command=pytest -x) … exit 1: 2 failed, 8 passed  0.4 s
compacted 118 → 27 messages, 96K → 21K tokens, 0.0 s waited, undo with /undo
claude-sonnet-4.5 · 21K of 200K (11 %) · cache 83 % · $0.42
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from plimsoll.agent.trigger import CLEARING, NOTHING_TO_COMPACT
from plimsoll.archive import CompactionEvent, Session, UsageTotal
from plimsoll.assembly import OpenConversation
from plimsoll.caching import start_line
from plimsoll.messages.printable import plain
from plimsoll.tools import EditMode

BETWEEN = " · "


@dataclass(frozen=True, slots=True)
class Status:
    """The values of the status line."""

    model: str
    used: int
    window: int
    total: UsageTotal
    edits: EditMode = "ask"


def thousands(tokens: int) -> str:
    """Tokens in short form: 870, 9.6K, 96K, 1.2M."""
    for size, unit in ((1_000_000, "M"), (1_000, "K")):
        if tokens >= size * 0.9995:
            number = tokens / size
            return f"{number:.1f}".removesuffix(".0") + unit if number < 9.95 else f"{number:.0f}{unit}"
    return str(tokens)


def start_lines(opened: OpenConversation, is_new: bool) -> list[str]:
    """The lines shown at startup."""
    conversation = opened.conversation
    session, line = conversation.session, conversation.agent.connection
    return [
        f"⚓ Session: {session.id} ({_age(session, is_new)})",
        f"🧭 Model: {plain(line.card.name)}. {plain(opened.resolution.sentences()[-1])}",
        context_line(opened),
        start_line(opened.policy, line.card.cache.style),
        *(f"   {notice}" for notice in opened.policy.notices),
    ]


def context_line(opened: OpenConversation) -> str:
    """The window, and where compaction is due."""
    compactor = opened.conversation.agent.compactor
    window = f"📏 Context: {compactor.engine.context_length:,} tokens"
    if not compactor.rules.enabled:
        return f"{window}, manual compaction only (compression.enabled is false)"
    return f"{window}, compaction at {compactor.engine.threshold_tokens:,}"


def compaction_line(event: CompactionEvent) -> str:
    """One line about the result of a compaction."""
    if event.outcome != "compacted":
        reason = event.reason.removeprefix(f"{event.engine}: ")
        if reason.startswith(NOTHING_TO_COMPACT):
            return plain(reason)
        return f"not compacted: {plain(reason) or 'there is nothing to compact'}"
    messages = f"{event.messages_before:,} → {event.messages_after:,} messages"
    tokens = f"{thousands(event.tokens_before)} → {thousands(event.tokens_after)} tokens"
    done = "cleared old results" if event.trigger == CLEARING else f"compacted {messages}"
    return f"{done}, {tokens}, {event.waited:.1f} s waited, undo with /undo"


def summary_line(characters: int) -> str:
    """The progress of the summary that the turn waits for."""
    written = f"{characters:,} characters" if characters else "waiting for the summary model"
    return f"compacting: {written} (Esc continues without it)"


def retry_line(status: int | None) -> str:
    """What the turn waits for after a failure of the provider."""
    return f"the provider {f'answered {status}' if status else 'did not answer'}; trying again"


def tool_line(call: str, result: str, seconds: float, width: int) -> str:
    """A tool call on one line; the call is shortened before its result."""
    end = f"  {seconds:.1f} s"
    room = max(10, width - cell_len(end) - cell_len("●  … "))
    said, outcome = " ".join(plain(call).split()), " ".join(plain(result).split())
    outcome = fitted(outcome, max(room - cell_len(said), room // 2))
    said = fitted(said, room - cell_len(outcome))
    return f"● {said} … {outcome}{end}" if outcome else f"● {said}{end}"


def running_line(doing: str, seconds: float, printed: str, width: int) -> str:
    """What runs, for how long, and its last printed line; short work shows no time."""
    if seconds < 1:
        return fitted(doing, width)
    end = f" · {_duration(seconds)}"
    room = max(10, width - cell_len(end))
    if printed:
        doing = fitted(doing, max(room // 2, room - cell_len(printed) - 3))
        return f"{doing}{end} · {fitted(printed, max(0, room - cell_len(doing) - 3))}"
    return f"{fitted(doing, room)}{end}"


def _duration(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def fitted(text: str, width: int) -> str:
    """The text, cut with an ellipsis if it is too wide."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 1)).rstrip() + "…"


EDITS = {"ask": "", "accept": "accepts edits", "plan": "plan only"}


def status_line(status: Status, width: int) -> str:
    """The status, with as many parts as fit; the model is dropped last."""
    share = round(100 * status.used / status.window) if status.window else 0
    context = f"{thousands(status.used)} of {thousands(status.window)} ({share} %)"
    edits = [EDITS[status.edits]] if EDITS[status.edits] else []
    parts = [*edits, plain(status.model), context, *money_parts(status.total)]
    while len(parts) > 1 and cell_len(BETWEEN.join(parts)) > width:
        parts.pop()
    return fitted(BETWEEN.join(parts), width)


def money_parts(total: UsageTotal) -> list[str]:
    """The share of input from the cache, and the cost, if known."""
    asked = total.input + total.cache_read + total.cache_write
    parts = [f"cache {100 * total.cache_read / asked:.0f} %"] if asked else []
    if total.requests > total.unpriced:
        parts.append(
            f"${total.money:.2f}" if total.money >= 0.01 or not total.money else f"${total.money:.4f}"
        )
    return parts


def nearest_sentence(name: str, near: Sequence[str]) -> str:
    """The message for an unknown command."""
    *others, last = [f"/{item}" for item in near] or [""]
    hint = f" Did you mean {' or '.join([', '.join(others), last]) if others else last}?" if near else ""
    return f"There is no command /{plain(name)}.{hint} /help shows all."


def _age(session: Session, is_new: bool) -> str:
    if is_new:
        return "new"
    title = f", “{plain(session.title)}”" if session.title else ""
    return f"resumed, {session.messages:,} messages{title}"
