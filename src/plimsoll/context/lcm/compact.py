"""One compaction: leaves cover the messages that leave the view, and the tree's roots replace them.

    messages ─► plan: sizes, head, middle, tail ─► leaves, condensed nodes ─► assemble ─► gate ─► compacted messages
                     └ too large: the ladder                                               │
                                                           refused: only old results are cleared

The plan, the ladder, the gate and the report are the compressor's, so this engine gives the same
guarantees about what the model sees. Messages are stored under a leaf before they leave the view.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from plimsoll.archive import PersonEdits, Span, StoredMessage
from plimsoll.context.compressor.assemble import assemble
from plimsoll.context.compressor.compact import only_cleared, weight_of
from plimsoll.context.compressor.ladder import fit
from plimsoll.context.compressor.plan import CompactionPlan, CompressorRules, planned
from plimsoll.context.compressor.reports import NOTHING_BETWEEN, compacted, unchanged
from plimsoll.context.gate import refusal
from plimsoll.context.lcm.log_positions import carry_positions, runs_of, runs_to_cover
from plimsoll.context.lcm.node_store import NodeStore
from plimsoll.context.lcm.node_writer import NodeWriter
from plimsoll.context.lcm.render import full, rendered_nodes
from plimsoll.context.lcm.tree_builder import TreeBuilder
from plimsoll.context.ledger import (
    CONSTRAINTS,
    ConversationFacts,
    SummaryLine,
    SummaryRoom,
    SummarySource,
    cited_lines,
    kept_terms,
    parse_sections,
    read_facts,
    render_evidence,
    render_sections,
    write_summary,
)
from plimsoll.context.markers import summary_body, summary_preamble
from plimsoll.context.report import CompactionReport
from plimsoll.messages import Message, leading_system_messages
from plimsoll.models import estimate_messages_tokens_rough, estimate_tokens
from plimsoll.secrets import redact

MAX_READ = 50_000  # messages to read at once if nothing is remembered; the newest ones


@dataclass(frozen=True, slots=True)
class _Text:
    """The text that replaces all messages outside the view: nodes, headings and evidence."""

    summary: str = ""
    evidence: str = ""
    lines: tuple[SummaryLine, ...] = ()

    @property
    def all(self) -> str:
        return f"{self.summary}\n{self.evidence}" if self.evidence else self.summary


def compact_into_tree(
    messages: Sequence[Message],
    store: NodeStore,
    writer: NodeWriter,
    rules: CompressorRules,
    current_tokens: int | None = None,
    overhead_tokens: int | None = None,
) -> tuple[list[Message], CompactionReport]:
    """The compacted conversation and its report; unchanged if nothing can be removed.

    The provider counts `current_tokens` for it, of which `overhead_tokens` are not in the messages.
    """
    start = plan = planned(messages, rules, current_tokens, overhead_tokens, repairs_middle=True)
    given_positions = store.positions(messages)
    whole, total = plan.messages, sum(plan.tokens)
    positions = carry_positions(messages, given_positions, whole)
    if not plan.can_shrink:
        # A repair may have removed a result without a call.
        TreeBuilder(store, writer).cover(runs_of(set(given_positions) - set(positions)))
        store.record_view(whole, positions)
        return whole, unchanged(len(messages), plan, NOTHING_BETWEEN)
    plan = fit(plan, weight_of(" ") + plan.ledger_tokens)
    builder = TreeBuilder(store, writer, plan.opening)
    kept = {positions[place] for place in _staying(plan)}
    builder.redo()
    builder.cover(runs_to_cover(store.messages(1, 1), given_positions, kept, _first_of_tail(plan, positions)))
    builder.condense()
    text = _Text()
    if plan.bounds.summary_role:
        text = _text(plan, builder, store, writer.focus, rules, kept, positions)
    result = assemble(plan.messages, plan.bounds, text.all)
    if text.all and estimate_messages_tokens_rough(result) > plan.limit:
        text = _Text(render_sections({}))  # in a tiny window, only the headings fit
        result = assemble(plan.messages, plan.bounds, text.all)
    refused = refusal(whole, total, result)
    if refused:
        # The nodes are not smaller than the messages they cover.
        result = only_cleared(whole, total, plan.bounds, rules)
        store.record_view(result or whole, positions)
        if not result:
            return whole, unchanged(len(messages), replace(start, bounds=plan.bounds), refused)
        plan = replace(start, bounds=plan.bounds).with_step(f"only cleared results: {refused}")
        return result, compacted(len(messages), total, plan, whole, result)
    store.record_view(result, carry_positions(plan.messages, positions, result))
    return result, compacted(
        len(messages),
        total,
        plan,
        whole,
        result,
        summary=text.summary,
        evidence=text.evidence,
        lines=text.lines,
        source="model" if writer.answered else "deterministic",
        failures=tuple(writer.notes),
    )


def _staying(plan: CompactionPlan) -> list[int]:
    return [place for part in plan.staying() for place in part if place != plan.bounds.previous]


def _first_of_tail(plan: CompactionPlan, positions: Sequence[int]) -> int:
    """The number of the first message of the tail; 0 if there is no tail."""
    return next((number for number in positions[plan.bounds.tail_start :] if number), 0)


def _text(
    plan: CompactionPlan,
    builder: TreeBuilder,
    store: NodeStore,
    focus: str | None,
    rules: CompressorRules,
    kept_sequences: set[int],
    positions: Sequence[int],
) -> _Text:
    """Nodes and ledger within the remaining room."""
    tree, room = builder.tree, max(0, min(plan.ledger_tokens, plan.limit - plan.size(weight_of(" "))))
    gone = [root for root in tree.roots if _is_gone(tree.span(root), kept_sequences)]
    facts, previous = _ledger(plan, builder, store, rules, kept_sequences, positions)
    by_person = _nodes_by_person(builder.edits, room)
    left = room - estimate_tokens(by_person)
    nodes = rendered_nodes(gone, left, names_tools=rules.able_to_recall)
    for_nodes = max(0, left - _required_tokens(facts))
    if estimate_tokens(nodes) > for_nodes:
        nodes = rendered_nodes(gone, for_nodes, names_tools=rules.able_to_recall)
    nodes = "\n\n".join(part for part in (by_person, nodes) if part)
    left = room - estimate_tokens(nodes) - 2
    # A topic is only a pointer; the ledger need not repeat a model's text.
    shown = "\n".join(full(root) for root in tree.roots if not root.degraded and full(root) in nodes)
    kept = kept_terms(plan.stays())
    ledger = SummaryRoom(min(left, plan.summary_tokens), left if rules.evidence else 0)
    now = _state_after(plan, facts, positions, rules)
    written = write_summary(
        facts, parse_sections(previous), ledger, focus, kept=kept, model_text=shown, now=now
    )
    sections = written.sections
    headings, evidence = redact(render_sections(sections)), redact(render_evidence(sections))
    rules.remembered.keep(_Text(headings, evidence).all, SummarySource(facts, previous))
    lines = cited_lines(_Text(headings, evidence).all, written.sources, now)
    return _Text(f"{nodes}\n\n{headings}" if nodes else headings, evidence, lines)


def _required_tokens(facts: ConversationFacts) -> int:
    """The tokens of the headings with the limits in force, which matter more than the nodes: search finds those."""
    lines = "\n".join(f"- {limit}" for limit in facts.constraints)
    return estimate_tokens(render_sections({CONSTRAINTS: lines})) + 2


def _state_after(
    plan: CompactionPlan, facts: ConversationFacts, positions: Sequence[int], rules: CompressorRules
) -> ConversationFacts:
    """The facts at the end of the conversation, including messages that stay."""
    end = rules.lasting(plan.originals)
    places = [place for place in range(plan.bounds.tail_start, end) if positions[place]]
    messages = [plan.originals[place] for place in places]
    return read_facts(messages, "", facts, [positions[place] - 1 for place in places], quotes=False)


def _nodes_by_person(edits: PersonEdits, room: int) -> str:
    """The nodes of a summary that a person wrote, verbatim, if they leave room for newer ones."""
    text = summary_preamble(edits.summary.message) if edits.summary else ""
    return text if estimate_tokens(text) <= room // 2 else ""


def _ledger(
    plan: CompactionPlan,
    builder: TreeBuilder,
    store: NodeStore,
    rules: CompressorRules,
    kept: set[int],
    positions: Sequence[int],
) -> tuple[ConversationFacts, str]:
    """The facts of all messages outside the view, and the earlier ledger's text without known sources."""
    at, earlier, tree = plan.bounds.previous, plan.previous, builder.tree
    known, by_person = rules.remembered.source_of(earlier), builder.edits.summary
    last = tree.leaves[-1].details["last"] if tree.leaves else 0
    if known.facts or (earlier and last > MAX_READ):
        middle = [place for run in plan.bounds.middle for place in run]
        leaving = {positions[place] for place in middle}
        # A shortened result has no number; it is between two messages that have one.
        new = (positions[place] for place in middle if place > (at or 0))
        leaving.update(range(min(filter(None, new), default=last), last + 1))
    else:
        known = SummarySource(earlier=summary_body(by_person.message) if by_person else "")
        leaving = set(range(max(1, last - MAX_READ + 1), last + 1))
    spoken = _logged_messages(store, leaving - kept - builder.hidden)
    messages, numbers = [entry.message for entry in spoken], [entry.sequence - 1 for entry in spoken]
    return read_facts(messages, plan.opening, known.facts, numbers), known.earlier


def _logged_messages(store: NodeStore, sequences: set[int]) -> list[StoredMessage]:
    """Messages of the log by number, without the system prompt."""
    messages = [entry for run in runs_of(sequences) for entry in store.messages(run.first, run.last)]
    lead = leading_system_messages([entry.message for entry in messages])
    return [entry for place, entry in enumerate(messages) if place >= lead or entry.sequence > place + 1]


def _is_gone(span: Span, kept: set[int]) -> bool:
    """Whether any message of a run is outside the view; an unused prepared node adds nothing."""
    return any(sequence not in kept for sequence in range(span.first, span.last + 1))
