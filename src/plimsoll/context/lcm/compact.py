"""One compaction: messages that leave the view go under leaves, and the tree's roots replace them.

    messages ─► positions in the log ─► head, middle, tail ─► leaves, condensed nodes ─► one message ─► gate
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
from plimsoll.context.compressor.plan import CompactionPlan, plan_of
from plimsoll.context.compressor.prune import prune_old_tool_results
from plimsoll.context.gate import refusal
from plimsoll.context.lcm.log_positions import carry_positions, runs_of, runs_to_cover
from plimsoll.context.lcm.node_store import NodeStore
from plimsoll.context.lcm.node_writer import NodeWriter
from plimsoll.context.lcm.render import full, rendered_nodes
from plimsoll.context.lcm.tree import Tree
from plimsoll.context.lcm.tree_builder import READ, TreeBuilder
from plimsoll.context.ledger import (
    ConversationFacts,
    SummaryRoom,
    SummarySource,
    SummarySources,
    kept_terms,
    parse_sections,
    read_facts,
    render_evidence,
    render_sections,
    write_sections,
)
from plimsoll.context.report import NO_MODEL_SUMMARY, CompactionReport
from plimsoll.errors import InvalidConversation
from plimsoll.messages import SYSTEM_ROLES, Message, is_whole, repair
from plimsoll.models import estimate_messages_tokens_rough, estimate_tokens
from plimsoll.secrets import redact


@dataclass(frozen=True, slots=True)
class LcmRules:
    """What a publication must keep to."""

    budget: Budget
    protect_last_n: int
    writer: NodeWriter
    remembered: SummarySources = field(default_factory=SummarySources)
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
class LcmCompaction:
    """What the model sees next, and what was done."""

    messages: list[Message]
    report: CompactionReport
    tree: Tree | None = None


def compact_into_tree(
    messages: Sequence[Message],
    store: NodeStore,
    rules: LcmRules,
    current_tokens: int | None = None,
    overhead_tokens: int | None = None,
) -> LcmCompaction:
    """The conversation made lighter; or unchanged, where nothing can go.

    The provider counts `current_tokens` for it, of which `overhead_tokens` are not in the messages.
    """
    strange = next((n for n, message in enumerate(messages) if not isinstance(message, dict)), None)
    if strange is not None:
        raise InvalidConversation(f"compress() takes a list of message objects; item {strange} is not one.")
    given, given_positions = list(messages), store.positions(messages)
    whole = given if is_whole(given) else repair(given)
    positions = carry_positions(given, given_positions, whole)
    calibration = calibrate(estimate_messages_tokens_rough(given), current_tokens, overhead_tokens)
    start = plan = plan_of(whole, rules.budget, rules.protect_last_n, calibration=calibration)
    total = sum(plan.tokens)
    if not plan.bounds.summary_role and total <= plan.limit:
        # A repair may have taken out a result that nobody asked for.
        TreeBuilder(store, rules.writer).cover(runs_of(set(given_positions) - set(positions)))
        store.record_view(whole, positions)
        reason = "nothing lies between the first exchange and the recent messages"
        return LcmCompaction(whole, unchanged(len(given), plan, reason))
    plan = fit(plan, weight_of(" ") + plan.ledger_tokens)
    builder = TreeBuilder(store, rules.writer, plan.opening)
    stays = {positions[place] for place in _staying(plan)}
    builder.redo()
    builder.cover(
        runs_to_cover(store.messages(1, 1), given_positions, stays, _first_of_tail(plan, positions))
    )
    builder.condense()
    text = _text(plan, builder.tree, store, rules, stays, positions) if plan.bounds.summary_role else _Text()
    result = assemble(plan.messages, plan.bounds, text.all)
    if text.all and estimate_messages_tokens_rough(result) > plan.limit:
        text = _Text(render_sections({}))  # in a tiny window there is room for the headings alone
        result = assemble(plan.messages, plan.bounds, text.all)
    refused = refusal(whole, total, result)
    if refused:
        return _only_cleared(given, replace(start, bounds=plan.bounds), positions, store, refused)
    store.record_view(result, carry_positions(plan.messages, positions, result))
    return LcmCompaction(
        result, _compacted(len(given), total, result, plan, text, rules.writer), builder.tree
    )


def _staying(plan: CompactionPlan) -> list[int]:
    return [place for part in plan.staying() for place in part if place != plan.bounds.previous]


def _first_of_tail(plan: CompactionPlan, positions: Sequence[int]) -> int:
    """The number of the first message of the tail; 0 where there is no tail."""
    return next((number for number in positions[plan.bounds.tail_start :] if number), 0)


def _text(
    plan: CompactionPlan,
    tree: Tree,
    store: NodeStore,
    rules: LcmRules,
    stays: set[int],
    positions: Sequence[int],
) -> _Text:
    """Nodes and ledger within the room that is left."""
    room = max(0, min(plan.ledger_tokens, plan.limit - plan.size(weight_of(" "))))
    nodes = rendered_nodes([root for root in tree.roots if _is_gone(tree.span(root), stays)], room)
    left = room - estimate_tokens(nodes) - 2
    facts, previous = _ledger(plan, tree, store, rules, stays, positions)
    # A topic is only a pointer; what a model wrote about something need not be said again.
    told = "\n".join(full(root) for root in tree.roots if not root.degraded and full(root) in nodes)
    kept = kept_terms(plan.stays())
    ledger = SummaryRoom(min(left, plan.summary_tokens), left if rules.evidence else 0)
    sections = write_sections(
        facts, parse_sections(previous), ledger, rules.writer.focus, kept=kept, said=told
    )
    headings, evidence = redact(render_sections(sections)), redact(render_evidence(sections))
    rules.remembered.keep(_Text(headings, evidence).all, SummarySource(facts, previous))
    return _Text(f"{nodes}\n\n{headings}" if nodes else headings, evidence)


def _ledger(
    plan: CompactionPlan,
    tree: Tree,
    store: NodeStore,
    rules: LcmRules,
    stays: set[int],
    positions: Sequence[int],
) -> tuple[ConversationFacts, str]:
    """The facts of all that left, and what only the words of the ledger before still know."""
    at, earlier = plan.bounds.previous, plan.previous
    known = rules.remembered.behind(earlier)
    last = tree.leaves[-1].details["last"] if tree.leaves else 0
    if known.facts or (earlier and last > READ):
        leaving = {positions[place] for run in plan.bounds.middle for place in run}
        # A result that was made shorter has no number; it lies between two that have one.
        behind = [
            positions[place]
            for run in plan.bounds.middle
            for place in run
            if place > (at or 0) and positions[place]
        ]
        leaving.update(range(min(behind, default=last), last + 1))
    else:
        known, leaving = SummarySource(), set(range(max(1, last - READ + 1), last + 1))
    said = [one for run in runs_of(leaving - stays) for one in store.messages(run.first, run.last)]
    spoken = [one for one in said if one.role not in SYSTEM_ROLES]
    numbers = [one.sequence - 1 for one in spoken]
    messages = [one.message for one in spoken]
    return read_facts(messages, plan.opening, known.facts, numbers), known.earlier


def _is_gone(span: Span, stays: set[int]) -> bool:
    """Whether any message of a run is not in the view; a node that was prepared and not needed says nothing new."""
    return any(sequence not in stays for sequence in range(span.first, span.last + 1))


def _only_cleared(
    given: Sequence[Message], plan: CompactionPlan, positions: list[int], store: NodeStore, refused: str
) -> LcmCompaction:
    """Where the nodes were not smaller than what they stand for: large results go, everything else stays."""
    whole, total = plan.messages, sum(plan.tokens)
    result, _ = prune_old_tool_results(whole, plan.bounds.head_end, plan.bounds.tail_start)
    if refusal(whole, total, result):
        store.record_view(whole, positions)
        return LcmCompaction(whole, unchanged(len(given), plan, refused))
    store.record_view(result, positions)
    plan = plan.with_step(f"only cleared results: {refused}")
    return LcmCompaction(result, _compacted(len(given), total, result, plan, _Text(), NodeWriter()))


def _compacted(
    count: int, total: int, result: list[Message], plan: CompactionPlan, text: _Text, writer: NodeWriter
) -> CompactionReport:
    failures = tuple(writer.notes)
    return CompactionReport(
        outcome="compacted",
        model_failures=failures,
        reason=plan.steps[-1] if plan.steps else "",
        messages_before=count,
        messages_after=len(result),
        summary=text.summary,
        evidence=text.evidence,
        summary_source="model" if writer.answered else "deterministic",
        steps=plan.steps + tuple(map(NO_MODEL_SUMMARY.format, failures)),
        **sizes_of(plan, result, total),
    )
