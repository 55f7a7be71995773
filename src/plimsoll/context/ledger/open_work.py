"""The lines for the open work: In Progress and Next Steps.

In Progress   the newest request, and what a short reply agreed to; started items; what the agent said last
Next Steps    open items in order, failing checks, an unanswered question, or else the newest request

A request that the agent has replied to, with no call after its reply, is not to be continued.
"""

import re

from plimsoll.context.ledger.entries import ABOUT, MUST, LedgerEntries
from plimsoll.context.ledger.failures import open_failures
from plimsoll.context.ledger.outcome import one_line
from plimsoll.context.ledger.outcomes import is_misused, kinds_of
from plimsoll.context.ledger.requests import request_at, task_in
from plimsoll.context.ledger.state import ConversationFacts, PersonRequest
from plimsoll.context.ledger.todos import OPEN
from plimsoll.secrets import redact

ASKED_LENGTH, ANSWERED_LENGTH = 500, 240  # characters of a request under In Progress and Done
CONTINUE = "- Continue: "
REPLIED = "- No newer request; the agent has replied to: "
_DRAWN = re.compile("[\u2500-\u259f]+")  # box-drawing and block characters
_MAX_DRAWN = 1  # runs of them in a line of text, such as the rule after a title
_NAMED_FILES = 2  # in a next step


def add_in_progress(entries: LedgerEntries, now: ConversationFacts) -> None:
    """Add the newest request, started items, and what the agent said last."""
    newest = now.newest_request
    if newest is not None:
        text = f"- {request_line(now, newest)}"
        entries.add("In Progress", text, 0, MUST + 1, sources=known_sources(*newest.sources))
    for item, status in now.todos.items.items():
        if status == "in_progress":
            entries.add("In Progress", f"- {item}", 1, sources=known_sources(now.todos.sources.get(item)))
    said = _without_drawings(redact(now.last_said))
    if said:
        text = f"- Last said: {one_line(said, 400)}"
        entries.add("In Progress", text, 2, 1.0, sources=known_sources(now.last_said_at))


def _without_drawings(text: str) -> str:
    """A text without frames, rules and diagrams, which are unreadable on one line."""
    lines = (line for line in text.splitlines() if len(_DRAWN.findall(line)) <= _MAX_DRAWN)
    return _DRAWN.sub(" ", "\n".join(lines)).strip()


def in_short(text: str, limit: int) -> str:
    """A person's message; for a long one, its task, or else its beginning and end, which usually contain it."""
    said = " ".join(redact(text).split())
    if len(said) <= limit:
        return said
    task = task_in(text)
    if task:
        return one_line(redact(task), limit)
    begins = limit * 2 // 3
    return f"{said[:begins]} … {said[begins + 3 - limit :]}"


def request_line(now: ConversationFacts, request: PersonRequest) -> str:
    """The line for a request; a short reply includes what it agrees to."""
    said = in_short(request.text, ASKED_LENGTH)
    about = request_at(now.requests, request.about) if request.about is not None else None
    on = f'{ABOUT}{one_line(redact(about.text), ANSWERED_LENGTH)}"' if about else ""
    if request.kind == "reply":
        offer = f" to: {one_line(redact(request.offer), ANSWERED_LENGTH)}" if request.offer else ""
        return f'"{said}"{offer}{on}'
    return f"{said}{on}"


def add_next_steps(entries: LedgerEntries, now: ConversationFacts) -> None:
    """Add open items in order, then failing checks, then the current work; the first is the next step."""
    order = 0
    for status in ("in_progress", *OPEN):
        for item, known in now.todos.items.items():
            if known == status:
                entries.add(
                    "Next Steps", f"- {item}", order, MUST, sources=known_sources(now.todos.sources.get(item))
                )
                order += 1
    for event in reversed(open_failures(now)):
        if event.command and not is_misused(event.outcome):
            told = f": {one_line(event.outcome.line, 160)}" if event.outcome.line else ""
            text = f"- Fix `{one_line(event.line, 160)}`, which fails{told}"
            entries.add("Next Steps", text, order, 2.0, sources=(event.position,))
            order += 1
    if now.question is not None:
        text = f"- Waiting for the answer to: {one_line(now.question.text, 200)}"
        entries.add("Next Steps", text, order, 2.0, sources=(now.question.source,))
        order += 1
    newest = now.newest_request
    if newest is not None:
        about = (
            request_at(now.requests, newest.about) if newest.kind == "reply" and not newest.offer else None
        )
        asked = in_short(about.text, ASKED_LENGTH) if about else request_line(now, newest)
        mark = REPLIED if is_replied_to(now, newest) and not order else CONTINUE
        text = f"{mark}{asked}{_at_hand(now, newest)}"
        entries.add("Next Steps", text, order, MUST, sources=known_sources(*newest.sources))


def is_replied_to(now: ConversationFacts, request: PersonRequest) -> bool:
    """Whether the agent's last text ended its work on a request, with nothing left open."""
    is_open = any(status in ("in_progress", *OPEN) for status in now.todos.items.values())
    return request.status == "answered" and not is_open and not open_failures(now) and not now.running


def _at_hand(now: ConversationFacts, newest: PersonRequest) -> str:
    """The files changed last for the newest request, and the last check."""
    changed = [
        (fact.last, path)
        for path, fact in now.files.items()
        if not fact.is_only_read and fact.last > newest.source
    ]
    files = [f"`{path}`" for _, path in sorted(changed, reverse=True)[:_NAMED_FILES]]
    still = {event.position for event in open_failures(now)}
    checks = [
        event
        for event in (one.newest for one in now.checks.values() if one.newest.position > newest.source)
        if event.position in still or (kinds_of(event.command) and not event.outcome.failed)
    ]
    parts = [f"last changed {', '.join(files)}"] if files else []
    if checks:
        parts.append(f"checked with `{one_line(checks[-1].line, 120)}`")
    return f" ({'; '.join(parts)})" if parts else ""


def known_sources(*sources: int | None) -> tuple[int, ...]:
    """The numbers of messages, without unknown ones."""
    return tuple(one for one in dict.fromkeys(sources) if one is not None and one >= 0)
