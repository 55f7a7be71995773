"""One publication: what leaves the view goes under leaves, and the roots of the tree take its place.

    messages ─► seats in the log ─► head, middle, tail ─► leaves, condensed nodes ─► one message ─► gate ─► lighter
                                        └── too heavy: the same ladder as the compressor's ──┘

Head, tail, the ladder and the gate are the compressor's, so every promise of that engine
about what the model sees holds here too. What leaves is stored under a leaf first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from plimsoll.archive import Span
from plimsoll.context.budget import Budget
from plimsoll.context.compressor.assemble import assemble, summary_message
from plimsoll.context.compressor.boundaries import find_boundaries
from plimsoll.context.compressor.ladder import SMALLEST_SUMMARY, Plan, fit
from plimsoll.context.compressor.prune import prune_old_tool_results
from plimsoll.context.compressor.spend import spend_tail
from plimsoll.context.gate import refusal
from plimsoll.context.lcm.grow import READ, Grower
from plimsoll.context.lcm.memory import Memory
from plimsoll.context.lcm.render import full, rendered_nodes
from plimsoll.context.lcm.scribe import Scribe
from plimsoll.context.lcm.seating import gone_runs, reseated, runs_of
from plimsoll.context.lcm.tree import Tree
from plimsoll.context.ledger import (
    Behind,
    Facts,
    Remembered,
    kept_terms,
    parse_sections,
    read_facts,
    render_sections,
    write_sections,
)
from plimsoll.context.markers import summary_body
from plimsoll.context.report import Report
from plimsoll.errors import InvalidConversation
from plimsoll.messages import SYSTEM_ROLES, Message, is_whole, repair, text_of
from plimsoll.models import estimate_message_tokens, estimate_messages_tokens_rough, estimate_tokens
from plimsoll.secrets import redact

_MOST_SCALE = 2.0  # a provider that counts more than this beside the estimate counts something else


@dataclass(frozen=True, slots=True)
class Rules:
    """What a publication must keep to."""

    budget: Budget
    protect_last_n: int
    scribe: Scribe
    remembered: Remembered = field(default_factory=Remembered)


@dataclass(frozen=True)
class Publication:
    """What the model sees next, and what was done."""

    messages: list[Message]
    report: Report
    tree: Tree | None = None


def publish(
    messages: Sequence[Message], memory: Memory, rules: Rules, current_tokens: int | None = None
) -> Publication:
    """The conversation made lighter; or unchanged, where nothing can go."""
    strange = next((n for n, message in enumerate(messages) if not isinstance(message, dict)), None)
    if strange is not None:
        raise InvalidConversation(f"compress() takes a list of message objects; item {strange} is none.")
    given, given_seats = list(messages), memory.seats(messages)
    whole = given if is_whole(given) else repair(given)
    seats = reseated(given, given_seats, whole)
    plan, limit = _planned(whole, rules, current_tokens)
    total = sum(plan.tokens)
    if not plan.bounds.summary_role and total <= limit:
        # A repair may have taken out a result that nobody asked for.
        Grower(memory, rules.scribe).cover(runs_of(set(given_seats) - set(seats)))
        memory.published(whole, seats)
        reason = "nothing lies between the first exchange and the recent messages"
        return Publication(whole, _unchanged(len(given), total, reason))
    plan = spend_tail(plan, rules.budget.tail_tokens)
    plan = fit(plan, limit, _weight(" ") + _allowance(plan, rules.budget))
    grower = Grower(memory, rules.scribe, _opening(plan))
    stays = {seats[position] for position in _staying(plan)}
    grower.redo()
    grower.cover(gone_runs(memory.messages(1, 1), given_seats, stays, _first_of_tail(plan, seats)))
    grower.condense()
    text = _text(plan, grower.tree, memory, rules, limit, stays, seats) if plan.bounds.summary_role else ""
    result = assemble(plan.messages, plan.bounds, text)
    refused = refusal(whole, total, result)
    if refused:
        return _only_cleared(given, whole, seats, plan, memory, refused)
    memory.published(result, reseated(plan.messages, seats, result))
    return Publication(result, _compacted(len(given), total, result, plan, text, rules.scribe), grower.tree)


def _planned(whole: list[Message], rules: Rules, current_tokens: int | None) -> tuple[Plan, int]:
    tokens = list(map(estimate_message_tokens, whole))
    total = sum(tokens)
    scale = max(1.0, min(_MOST_SCALE, current_tokens / total)) if current_tokens and total else 1.0
    tail_tokens = int(rules.budget.tail_tokens / scale)
    bounds = find_boundaries(whole, tokens, tail_tokens, rules.protect_last_n)
    return Plan(whole, tokens, bounds, whole), int(rules.budget.threshold_tokens / scale)


def _allowance(plan: Plan, budget: Budget) -> int:
    """Tokens that all nodes and the ledger may take together."""
    runs, at = plan.bounds.middle, plan.bounds.previous
    leaving = sum(sum(plan.tokens[run.start : run.stop]) for run in runs)
    earlier = 0 if at is None else plan.tokens[at]
    return budget.ledger_tokens(leaving, earlier, budget.target_tokens - plan.size(0) - SMALLEST_SUMMARY)


def _staying(plan: Plan) -> list[int]:
    return [place for part in plan.staying() for place in part if place != plan.bounds.previous]


def _first_of_tail(plan: Plan, seats: Sequence[int]) -> int:
    """The number of the first message of the tail; 0 where there is no tail."""
    return next((seat for seat in seats[plan.bounds.tail_start :] if seat), 0)


def _text(
    plan: Plan, tree: Tree, memory: Memory, rules: Rules, limit: int, stays: set[int], seats: Sequence[int]
) -> str:
    """Nodes and ledger within the room that is left."""
    room = max(0, min(_allowance(plan, rules.budget), limit - plan.size(_weight(" "))))
    nodes = rendered_nodes([root for root in tree.roots if _is_gone(tree.span(root), stays)], room)
    left = room - estimate_tokens(nodes) - 2
    facts, previous = _ledger(plan, tree, memory, rules, stays, seats)
    # A topic is only a pointer; what a model wrote about something need not be said again.
    told = "\n".join(full(root) for root in tree.roots if not root.degraded and full(root) in nodes)
    kept = kept_terms(plan.stays())
    sections = write_sections(facts, parse_sections(previous), left, rules.scribe.focus, kept=kept, said=told)
    ledger = redact(render_sections(sections))
    rules.remembered.keep(ledger, Behind(facts, previous))
    return f"{nodes}\n\n{ledger}" if nodes else ledger


def _ledger(
    plan: Plan, tree: Tree, memory: Memory, rules: Rules, stays: set[int], seats: Sequence[int]
) -> tuple[Facts, str]:
    """The facts of all that left, and what only the words of the ledger before still know."""
    at = plan.bounds.previous
    earlier = "" if at is None else summary_body(plan.messages[at])
    known = rules.remembered.behind(earlier)
    last = tree.leaves[-1].details["last"] if tree.leaves else 0
    if known.facts or (earlier and last > READ):
        leaving = {seats[place] for run in plan.bounds.middle for place in run}
        # A result that was made shorter has no seat; it lies between two that have one.
        behind = [
            seats[place] for run in plan.bounds.middle for place in run if place > (at or 0) and seats[place]
        ]
        leaving.update(range(min(behind, default=last), last + 1))
    else:
        known, leaving = Behind(), set(range(max(1, last - READ + 1), last + 1))
    said = [one for run in runs_of(leaving - stays) for one in memory.messages(run.first, run.last)]
    messages = [one.message for one in said if one.role not in SYSTEM_ROLES]
    return read_facts(messages, _opening(plan), known.facts), known.earlier


def _is_gone(span: Span, stays: set[int]) -> bool:
    """Whether any message of a run is not in the view; a node that was prepared and not needed says nothing new."""
    return any(sequence not in stays for sequence in range(span.first, span.last + 1))


def _opening(plan: Plan) -> str:
    """The request that the conversation began with, if it stays in the head."""
    return next((text_of(m) for m in plan.messages[: plan.bounds.head_end] if m.get("role") == "user"), "")


def _weight(summary: str) -> int:
    return estimate_message_tokens(summary_message(summary, "assistant"))


def _only_cleared(
    given: Sequence[Message], whole: list[Message], seats: list[int], plan: Plan, memory: Memory, refused: str
) -> Publication:
    """Where the nodes were not smaller than what they stand for: large results go, everything else stays."""
    total = sum(map(estimate_message_tokens, whole))
    result, _ = prune_old_tool_results(whole, plan.bounds.head_end, plan.bounds.tail_start)
    if refusal(whole, total, result):
        memory.published(whole, seats)
        return Publication(whole, _unchanged(len(given), total, refused))
    memory.published(result, seats)
    plan = replace(plan, steps=(f"only cleared results: {refused}",))
    return Publication(result, _compacted(len(given), total, result, plan, "", Scribe()))


def _unchanged(count: int, tokens: int, reason: str) -> Report:
    return Report("unchanged", reason, count, count, tokens, tokens)


def _compacted(
    count: int, total: int, result: list[Message], plan: Plan, text: str, scribe: Scribe
) -> Report:
    steps = plan.steps + tuple(f"no model summary: {note}" for note in scribe.notes)
    return Report(
        outcome="compacted",
        reason=plan.steps[-1] if plan.steps else "",
        messages_before=count,
        messages_after=len(result),
        tokens_before=total,
        tokens_after=estimate_messages_tokens_rough(result),
        summary=text,
        summary_source="model" if scribe.answered else "deterministic",
        steps=steps,
    )
