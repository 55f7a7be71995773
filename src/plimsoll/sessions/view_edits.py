"""Plans a user's edits of a view: which messages leave, whether the result is valid, and what it costs.

    drop 7      1  2  S  6  7  8  9     7 is a call, 8 its result      1  2  S  6  9
    edit        1  2  S  6  7  8  9                                    1  2  S' 6  7  8  9
                      └ everything from the first change on is written to the cache again

Pure: an edit is planned from the items of a view only. Signed thinking that depends on changed content is removed, as
in every compaction.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from plimsoll.archive import Author, Node, Session, View, ViewDraft, ViewItem, draft_of
from plimsoll.archive.ids import node_id
from plimsoll.caching.pricing import Bill, money_of
from plimsoll.context.gate import edit_refusal
from plimsoll.context.markers import as_stored, edited_summary, is_summary
from plimsoll.dialects import drop_bound_thinking
from plimsoll.errors import Conflict, UserError
from plimsoll.messages import SYSTEM_ROLES, Message, answered_id, call_ids, groups
from plimsoll.models import card_for, estimate_message_tokens


@dataclass(frozen=True, slots=True)
class CacheEffect:
    """What a change of the view does to the provider's cache, in estimated tokens.

    The first `kept` tokens can still be read from it. The next request writes `rewritten` tokens again, which costs
    `money` USD more than reading them; None if the model has no known prices.
    """

    kept: int
    rewritten: int
    money: float | None


@dataclass(frozen=True, slots=True)
class EditPlan:
    """An edit that is not stored yet. `refused` says why the gate rejects it."""

    draft: ViewDraft
    messages: tuple[int, ...]  # removed from the view
    tokens: int  # of the resulting view
    count: int  # messages of the resulting view
    cache: CacheEffect
    refused: str = ""


def drop_plan(
    session: Session, view: View, items: Sequence[ViewItem], pins: Collection[int], numbers: Collection[int]
) -> EditPlan:
    """Drop messages from a view, each with the calls and results that belong to it."""
    before = as_stored(items)
    gone = _places_to_drop(session, items, before, pins, set(numbers))
    kept = [place for place in range(len(items)) if place not in gone]
    after = _unbound(session, [before[place] for place in kept], min(gone))
    same = [_same(item, message) for item, message in zip(items, before, strict=True)]
    draft = draft_of(session.id, view, same, after)
    left = tuple(sorted(items[place].sequence for place in gone))
    return _plan(session, items, before, after, draft, left)


def summary_plan(
    session: Session, view: View, items: Sequence[ViewItem], old: Node, text: str, actor: str
) -> EditPlan:
    """Replace the text of a summary; the new one covers the same messages and names its author."""
    before = as_stored(items)
    place = next(place for place, item in enumerate(items) if item.node == old.id)
    message = edited_summary(old.message, text)
    details = {**old.details, "author": actor, "replaces": old.id}
    node = Node(
        node_id(session.id, message, old.sources), message, old.sources, old.kind, old.depth,
        estimate_message_tokens(message), details=details,
    )  # fmt: skip
    new = [*before[:place], message, *before[place + 1 :]]
    after = _unbound(session, new, place)
    same = [_same(item, entry) for item, entry in zip(items, before, strict=True)]
    # The new text is inserted as an existing message, so that only its reference changes.
    same[place] = ViewItem(message, node.tokens, node=node.id)
    draft = draft_of(session.id, view, same, after, Author())
    return _plan(
        session, items, before, after, ViewDraft(draft.base, draft.references, draft.through, (node,))
    )


def summary_item(session: Session, items: Sequence[ViewItem], node: str | None) -> ViewItem:
    """The summary of a view to edit: `node`, or the only one."""
    summaries = {item.node: item for item in items if item.node and is_summary(item.message)}
    named = ", ".join(summaries)
    if node is not None:
        if node not in summaries:
            raise Conflict(
                f"The summary {node} is no longer in the view of session {session.id}, which has "
                f"{named or 'no summary'} now. Nothing was changed. Read the summary again and repeat your edit."
            )
        return summaries[node]
    if len(summaries) > 1:
        raise UserError(f"The view of session {session.id} has several summaries: {named}. Name one.")
    if not summaries:
        raise UserError(f"The view of session {session.id} has no summary: it has not been compacted yet.")
    return summaries[named]


def cache_effect(model: str, before: Sequence[ViewItem], after: Sequence[tuple[Message, int]]) -> CacheEffect:
    """What replacing a view does to the cache; `after` are the new messages with their tokens."""
    place = 0
    for item, (message, _) in zip(before, after, strict=False):
        if item.message != message:
            break
        place += 1
    kept, rewritten = (sum(tokens for _, tokens in part) for part in (after[:place], after[place:]))
    card = card_for(model)
    if not model or not card.known:
        return CacheEffect(kept, rewritten, None)
    sent = Bill(write_5m=rewritten) if card.cache.style == "anthropic" else Bill(plain=rewritten)
    written, read = money_of(sent, card), money_of(Bill(read=rewritten), card)
    return CacheEffect(kept, rewritten, None if written is None or read is None else written - read)


def _plan(
    session: Session,
    items: Sequence[ViewItem],
    before: Sequence[Message],
    after: Sequence[Message],
    draft: ViewDraft,
    left: tuple[int, ...] = (),
) -> EditPlan:
    known = {id(message): item.tokens for message, item in zip(before, items, strict=True)}
    sized = [(message, known.get(id(message)) or estimate_message_tokens(message)) for message in after]
    cache = cache_effect(session.model, items, sized)
    return EditPlan(draft, left, cache.kept + cache.rewritten, len(after), cache, edit_refusal(before, after))


def _places_to_drop(
    session: Session,
    items: Sequence[ViewItem],
    before: Sequence[Message],
    pins: Collection[int],
    numbers: set[int],
) -> set[int]:
    """The places of the messages to drop, tool groups whole."""
    places = {item.sequence: place for place, item in enumerate(items) if item.sequence}
    for number in sorted(numbers - places.keys()):
        is_there = 1 <= number <= session.messages
        reason = "is not in the view; it was summarised or dropped before" if is_there else "does not exist"
        raise UserError(f"Message {number} of session {session.id} {reason}.")
    gone = {
        place
        for unit in groups(before)
        if numbers & {items[place].sequence for place in unit}
        for place in unit
    }
    if not gone:
        raise UserError("Name at least one message to drop.")
    _require_droppable(session, items, before, pins, sorted(gone))
    return gone


def _require_droppable(
    session: Session,
    items: Sequence[ViewItem],
    before: Sequence[Message],
    pins: Collection[int],
    gone: Sequence[int],
) -> None:
    """Refuse the system prompt, pinned messages, and calls whose results are not there yet."""
    answered = {answered_id(before[place]) for place in gone}
    for place in gone:
        number = items[place].sequence
        if before[place].get("role") in SYSTEM_ROLES:
            raise UserError(f"Message {number} is the system prompt, which cannot be dropped.")
        if number in pins:
            raise UserError(
                f"Message {number} is pinned. Unpin it first (`plimsoll sessions unpin {session.id} {number}`)."
            )
        if set(call_ids(before[place])) - answered:
            raise UserError(
                f"Message {number} has a tool call without a result yet, so it cannot be dropped. Drop it when the "
                "result is stored."
            )


def _unbound(session: Session, after: list[Message], changed_from: int) -> list[Message]:
    """Without signed thinking that the provider would refuse after the change."""
    if card_for(session.model).preserved_thinking:
        return drop_bound_thinking(after, changed_from)
    return after


def _same(item: ViewItem, message: Message) -> ViewItem:
    """The item with the very object that the new list has, by which it is recognised."""
    return ViewItem(message, item.tokens, item.sequence, item.node, item.shortened, item.handle)
