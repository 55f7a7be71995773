"""One compaction in detail: the views before and after it, what happened to each message, the summary's sources.

    before   1 kept · 2 kept · 3–40 summarised · 41 shortened · 42 kept
    after    1 · 2 · [summary, new] · 41' new · 42
    lines    "Never push to main." ← message 3

Reads only the messages of the two views as they were at the time of the compaction, never the whole log.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from plimsoll.agent.compaction_record import ledger_of
from plimsoll.archive import (
    Archive,
    CompactionEvent,
    Node,
    NodeLink,
    Session,
    Span,
    View,
    ViewDraft,
    ViewItem,
    draft_of,
)
from plimsoll.context import CompactionReport
from plimsoll.context.ledger import EVIDENCE
from plimsoll.context.markers import is_summary, summary_body
from plimsoll.errors import UserError
from plimsoll.messages import Message, call_name, match_messages, text_of, tool_calls
from plimsoll.models import estimate_message_tokens

PREVIEW = 200  # characters of a message that a detail shows
Fate: TypeAlias = Literal["kept", "shortened", "summarised", "removed"]
ItemKind: TypeAlias = Literal["message", "shortened", "node"]


@dataclass(frozen=True, slots=True)
class DetailItem:
    """One message of a view. `fate` says what happened to it; it is empty in the view after the compaction."""

    kind: ItemKind
    number: int | None  # None for a summary
    node: str | None
    role: str
    tokens: int
    preview: str
    fate: Fate | Literal[""] = ""
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class SourcedLine:
    """A line of the summary and the numbers of the messages that it comes from."""

    section: str
    text: str
    by: str
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LostFact:
    """A fact that the view named before the compaction but not after it."""

    kind: str
    text: str
    messages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CompactionDetail:
    """Everything about one compaction."""

    event: CompactionEvent
    before: tuple[DetailItem, ...] = ()
    after: tuple[DetailItem, ...] = ()
    lines: tuple[SourcedLine, ...] = ()
    summary: str = ""
    evidence: str = ""
    node: str | None = None
    facts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    lost: tuple[LostFact, ...] = ()
    steps: tuple[str, ...] = ()


async def compaction_detail(archive: Archive, id: str, number: int) -> CompactionDetail:
    """The compaction with this number. Attempts that changed no view have no items."""
    event = await archive.compaction(id, number)
    views = await _views(archive, id, event)
    if views is None:
        return CompactionDetail(event, facts=_facts(event), steps=_steps(event))
    session = await archive.session(id)
    length = views[1].log_length or session.messages
    before, after = [await archive.items(id, _at(view, length, session)) for view in views]
    nodes = [
        await archive.node(item.node) for item in after if item.node and not _has_node(before, item.node)
    ]
    summary, evidence = _parts_of(nodes)
    return CompactionDetail(
        event,
        before_items(before, after, nodes),
        after_items(before, after),
        await _lines(archive, id, event),
        summary,
        evidence,
        nodes[0].id if nodes else None,
        _facts(event),
        lost_facts(event.ledger, before),
        _steps(event),
    )


def previewed_detail(
    session: str,
    engine: str,
    items: Sequence[ViewItem],
    view: Sequence[Message],
    compacted: Sequence[Message],
    report: CompactionReport | None,
) -> CompactionDetail:
    """A compaction that was only drafted. `view` has the messages of the items, as the engine received them."""
    sizes = (len(view), sum(item.tokens for item in items))
    if report is None or report.outcome != "compacted":
        reason = report.reason if report else ""
        return CompactionDetail(CompactionEvent.refused("by hand", engine, *sizes, reason))
    ledger = ledger_of(view, compacted, report)
    event = CompactionEvent(
        "by hand", engine, "compacted", report.reason, report.messages_before, report.messages_after,
        report.tokens_before, report.tokens_after, ledger,
    )  # fmt: skip
    same = [replace(item, message=message) for item, message in zip(items, view, strict=True)]
    draft = draft_of(session, View(0), same, compacted)
    after = _drafted_items(same, draft, compacted)
    lines = tuple(
        SourcedLine(
            line.section, line.text, line.by,
            tuple(sorted({_number(items, source.message + 1, source.handle) for source in line.sources})),
        )
        for line in report.lines
    )  # fmt: skip
    return CompactionDetail(
        event, before_items(same, after, draft.nodes), after_items(same, after), lines, report.summary,
        report.evidence, None, _facts(event), lost_facts(ledger, items), _steps(event),
    )  # fmt: skip


def _number(items: Sequence[ViewItem], number: int, handle: str) -> int:
    """The number of a message in the view: the given one if its content matches, else one with that content."""
    same = [item.sequence for item in items if handle and item.handle == handle]
    return number if not same or number in same else same[0]


def _drafted_items(
    before: Sequence[ViewItem], draft: ViewDraft, compacted: Sequence[Message]
) -> list[ViewItem]:
    """The items of a drafted view."""
    nodes, places = iter(draft.nodes), match_messages([item.message for item in before], compacted)
    found: list[ViewItem] = []
    for message, place in zip(compacted, places, strict=True):
        if place is None:
            node = next(nodes, None)
            found.append(ViewItem(message, estimate_message_tokens(message), node=node.id if node else ""))
        elif before[place].message == message:
            found.append(before[place])
        else:
            tokens = estimate_message_tokens(message)
            found.append(replace(before[place], message=message, tokens=tokens, shortened=True))
    return found


def before_items(
    before: Sequence[ViewItem], after: Sequence[ViewItem], nodes: Iterable[Node]
) -> tuple[DetailItem, ...]:
    """The items of the view before, each with its fate."""
    kept = {_place(item): item.message for item in after}
    covered = [source for node in nodes for source in node.sources]
    return tuple(replace(_item(item), fate=_fate(item, kept, covered)) for item in before)


def after_items(before: Sequence[ViewItem], after: Sequence[ViewItem]) -> tuple[DetailItem, ...]:
    """The items of the view after; an item is new if the view before did not have it in this form."""
    had = {_place(item): item.message for item in before}
    return tuple(
        replace(
            _item(item),
            is_new=bool(item.node or item.shortened) and not _is_whole(had.get(_place(item)), item.message),
        )
        for item in after
    )


def lost_facts(ledger: Mapping[str, Any], before: Sequence[ViewItem]) -> tuple[LostFact, ...]:
    """The facts that a ledger lists as lost, with the numbers of their messages."""
    found = []
    for fact in ledger.get("lost", ()):
        at = fact["at"]
        number = before[at].sequence if 0 <= at < len(before) else 0
        found.append(LostFact(fact["kind"], fact["text"], (number,) if number else ()))
    return tuple(found)


def summary_parts(text: str) -> tuple[str, str]:
    """A summary's text as headings and evidence."""
    head, _, tail = text.partition(f"\n## {EVIDENCE}")
    return (head.rstrip(), f"## {EVIDENCE}{tail}") if tail else (text, "")


def preview_of(item: ViewItem) -> str:
    """The first characters of a message on one line; for a call without text, the names of its tools."""
    text = text_of(item.message)
    names = ", ".join(map(call_name, tool_calls(item.message)))
    line = " ".join(text[: 4 * PREVIEW].split()) or (f"calls {names}" if names else "")
    return line if len(line) <= PREVIEW else f"{line[: PREVIEW - 1]}…"


async def _views(archive: Archive, id: str, event: CompactionEvent) -> tuple[View, View] | None:
    """The two views of an event that created a new one; None for others, or if a deletion removed one."""
    if event.outcome not in ("compacted", "edited"):
        return None
    try:
        return await archive.view(id, event.view_before), await archive.view(id, event.view_after)
    except UserError:
        return None


def _at(view: View, length: int, session: Session) -> View:
    """The view as it was in a log of `length` messages."""
    return View(view.number, view.whole(length), session.messages, view.previous)


def _place(item: ViewItem) -> int | str:
    return item.node or item.sequence


def _has_node(items: Sequence[ViewItem], node: str) -> bool:
    return any(item.node == node for item in items)


def _item(item: ViewItem) -> DetailItem:
    kind: ItemKind = "node" if item.node else "shortened" if item.shortened else "message"
    role = str(item.message.get("role", ""))
    return DetailItem(kind, item.sequence or None, item.node or None, role, item.tokens, preview_of(item))


def _is_whole(before: Message | None, after: Message) -> bool:
    """Whether a message is as it was; a system prompt also is with the note behind it."""
    if before is None or before == after:
        return before == after
    return before.get("role") == "system" and text_of(after).startswith(text_of(before))


def _fate(item: ViewItem, kept: Mapping[int | str, Any], covered: Sequence[Span | NodeLink]) -> Fate:
    message_after = kept.get(_place(item))
    if message_after is not None:
        return "kept" if _is_whole(item.message, message_after) else "shortened"
    for source in covered:
        if isinstance(source, NodeLink):
            if source.node == item.node:
                return "summarised"
        elif source.first <= item.sequence <= source.last:
            return "summarised"
    return "removed"


def _parts_of(nodes: Sequence[Node]) -> tuple[str, str]:
    text = "\n".join(
        summary_body(node.message) if is_summary(node.message) else text_of(node.message) for node in nodes
    )
    return summary_parts(text)


def _facts(event: CompactionEvent) -> dict[str, Mapping[str, int]]:
    return {
        kind: counts for kind, counts in event.ledger.items() if isinstance(counts, dict) and "had" in counts
    }


def _steps(event: CompactionEvent) -> tuple[str, ...]:
    return tuple(map(str, event.ledger.get("steps", ())))


async def _lines(archive: Archive, id: str, event: CompactionEvent) -> tuple[SourcedLine, ...]:
    stored = event.ledger.get("sources")
    lines = stored.get("lines", []) if isinstance(stored, dict) else []
    known: dict[tuple[int, str], int | None] = {}
    found = []
    for line in lines:
        for entry in line["sources"]:
            place = (entry["message"], entry["handle"])
            if place not in known:
                known[place] = await cited_message(archive, id, *place)
        numbers = {known[item["message"], item["handle"]] for item in line["sources"]}
        sources = tuple(sorted(number for number in numbers if number))
        found.append(SourcedLine(line["section"], line["text"], line["by"], sources))
    return tuple(found)


async def cited_message(archive: Archive, id: str, position: int, handle: str) -> int | None:
    """The number of the message that a line cites by position (from 0) and content; None if unknown."""
    if not handle:
        return position + 1
    stored = await archive.messages(id, position + 1, position + 1)
    if stored and stored[0].handle == handle:
        return position + 1
    same = await archive.find_by_handle(handle, id=id, limit=1)
    return same[0].sequence if same else None
