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
from plimsoll.context.calibration import calibrate
from plimsoll.context.compressor.assemble import assemble
from plimsoll.context.compressor.compact import sizes_of, unchanged, weight_of
from plimsoll.context.compressor.ladder import fit
from plimsoll.context.compressor.plan import Plan, plan_of
from plimsoll.context.compressor.prune import prune_old_tool_results
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
    Room,
    kept_terms,
    parse_sections,
    read_facts,
    render_evidence,
    render_sections,
    write_sections,
)
from plimsoll.context.report import Report
from plimsoll.errors import InvalidConversation
from plimsoll.messages import SYSTEM_ROLES, Message, is_whole, repair
from plimsoll.models import estimate_messages_tokens_rough, estimate_tokens
from plimsoll.secrets import redact


@dataclass(frozen=True, slots=True)
class Rules:
    """What a publication must keep to."""

    budget: Budget
    protect_last_n: int
    scribe: Scribe
    remembered: Remembered = field(default_factory=Remembered)
    evidence: bool = True  # whether quotes follow the headings


@dataclass(frozen=True, slots=True)
class _Text:
    """What stands for all that left: the nodes with the headings after them, and the evidence."""

    summary: str = ""
    evidence: str = ""

    @property
    def all(self) -> str:
        return f"{self.summary}\n{self.evidence}" if self.evidence else self.summary


@dataclass(frozen=True)
class Publication:
    """What the model sees next, and what was done."""

    messages: list[Message]
    report: Report
    tree: Tree | None = None


def publish(
    messages: Sequence[Message],
    memory: Memory,
    rules: Rules,
    current_tokens: int | None = None,
    overhead_tokens: int | None = None,
) -> Publication:
    """The conversation made lighter; or unchanged, where nothing can go.

    The provider counts `current_tokens` for it, of which `overhead_tokens` are not in the messages.
    """
    strange = next((n for n, message in enumerate(messages) if not isinstance(message, dict)), None)
    if strange is not None:
        raise InvalidConversation(f"compress() takes a list of message objects; item {strange} is none.")
    given, given_seats = list(messages), memory.seats(messages)
    whole = given if is_whole(given) else repair(given)
    seats = reseated(given, given_seats, whole)
    calibration = calibrate(estimate_messages_tokens_rough(given), current_tokens, overhead_tokens)
    start = plan = plan_of(whole, rules.budget, rules.protect_last_n, calibration=calibration)
    total = sum(plan.tokens)
    if not plan.bounds.summary_role and total <= plan.limit:
        # A repair may have taken out a result that nobody asked for.
        Grower(memory, rules.scribe).cover(runs_of(set(given_seats) - set(seats)))
        memory.published(whole, seats)
        reason = "nothing lies between the first exchange and the recent messages"
        return Publication(whole, unchanged(len(given), plan, reason))
    plan = fit(plan, weight_of(" ") + plan.ledger_tokens)
    grower = Grower(memory, rules.scribe, plan.opening)
    stays = {seats[position] for position in _staying(plan)}
    grower.redo()
    grower.cover(gone_runs(memory.messages(1, 1), given_seats, stays, _first_of_tail(plan, seats)))
    grower.condense()
    text = _text(plan, grower.tree, memory, rules, stays, seats) if plan.bounds.summary_role else _Text()
    result = assemble(plan.messages, plan.bounds, text.all)
    if text.all and estimate_messages_tokens_rough(result) > plan.limit:
        text = _Text(render_sections({}))  # in a tiny window there is room for the headings alone
        result = assemble(plan.messages, plan.bounds, text.all)
    refused = refusal(whole, total, result)
    if refused:
        return _only_cleared(given, replace(start, bounds=plan.bounds), seats, memory, refused)
    memory.published(result, reseated(plan.messages, seats, result))
    return Publication(result, _compacted(len(given), total, result, plan, text, rules.scribe), grower.tree)


def _staying(plan: Plan) -> list[int]:
    return [place for part in plan.staying() for place in part if place != plan.bounds.previous]


def _first_of_tail(plan: Plan, seats: Sequence[int]) -> int:
    """The number of the first message of the tail; 0 where there is no tail."""
    return next((seat for seat in seats[plan.bounds.tail_start :] if seat), 0)


def _text(
    plan: Plan, tree: Tree, memory: Memory, rules: Rules, stays: set[int], seats: Sequence[int]
) -> _Text:
    """Nodes and ledger within the room that is left."""
    room = max(0, min(plan.ledger_tokens, plan.limit - plan.size(weight_of(" "))))
    nodes = rendered_nodes([root for root in tree.roots if _is_gone(tree.span(root), stays)], room)
    left = room - estimate_tokens(nodes) - 2
    facts, previous = _ledger(plan, tree, memory, rules, stays, seats)
    # A topic is only a pointer; what a model wrote about something need not be said again.
    told = "\n".join(full(root) for root in tree.roots if not root.degraded and full(root) in nodes)
    kept = kept_terms(plan.stays())
    ledger = Room(min(left, plan.summary_tokens), left if rules.evidence else 0)
    sections = write_sections(
        facts, parse_sections(previous), ledger, rules.scribe.focus, kept=kept, said=told
    )
    headings, evidence = redact(render_sections(sections)), redact(render_evidence(sections))
    rules.remembered.keep(_Text(headings, evidence).all, Behind(facts, previous))
    return _Text(f"{nodes}\n\n{headings}" if nodes else headings, evidence)


def _ledger(
    plan: Plan, tree: Tree, memory: Memory, rules: Rules, stays: set[int], seats: Sequence[int]
) -> tuple[Facts, str]:
    """The facts of all that left, and what only the words of the ledger before still know."""
    at, earlier = plan.bounds.previous, plan.previous
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
    return read_facts(messages, plan.opening, known.facts), known.earlier


def _is_gone(span: Span, stays: set[int]) -> bool:
    """Whether any message of a run is not in the view; a node that was prepared and not needed says nothing new."""
    return any(sequence not in stays for sequence in range(span.first, span.last + 1))


def _only_cleared(
    given: Sequence[Message], plan: Plan, seats: list[int], memory: Memory, refused: str
) -> Publication:
    """Where the nodes were not smaller than what they stand for: large results go, everything else stays."""
    whole, total = plan.messages, sum(plan.tokens)
    result, _ = prune_old_tool_results(whole, plan.bounds.head_end, plan.bounds.tail_start)
    if refusal(whole, total, result):
        memory.published(whole, seats)
        return Publication(whole, unchanged(len(given), plan, refused))
    memory.published(result, seats)
    plan = plan.with_step(f"only cleared results: {refused}")
    return Publication(result, _compacted(len(given), total, result, plan, _Text(), Scribe()))


def _compacted(
    count: int, total: int, result: list[Message], plan: Plan, text: _Text, scribe: Scribe
) -> Report:
    steps = plan.steps + tuple(f"no model summary: {note}" for note in scribe.notes)
    return Report(
        outcome="compacted",
        reason=plan.steps[-1] if plan.steps else "",
        messages_before=count,
        messages_after=len(result),
        summary=text.summary,
        evidence=text.evidence,
        summary_source="model" if scribe.answered else "deterministic",
        steps=steps,
        **sizes_of(plan, result, total),
    )
