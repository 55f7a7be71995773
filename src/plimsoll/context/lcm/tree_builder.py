"""Builds the tree: leaves for messages that leave the view, condensed nodes over leaves, and rewrites of
fallback texts.

    uncovered run ──► cut between tool groups, about 20 000 tokens each ──► leaves ──► four of a depth ──► one

No message leaves the view before its leaf is stored. A prepared leaf that was never shown is
reused, so no message is ever under two leaves. Messages that a person removed from the view
are under none.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from plimsoll.archive import Node, Span, StoredMessage
from plimsoll.context.lcm.log_positions import runs_of
from plimsoll.context.lcm.node_store import NodeStore
from plimsoll.context.lcm.node_writer import NodeWriter
from plimsoll.context.lcm.nodes import condensed, leaf
from plimsoll.context.lcm.tree import Tree, run_of, tree_of
from plimsoll.messages import Message, safe_cuts

LEAF_TOKENS = 20_000  # of messages that one leaf covers
MAX_REDONE = 4  # fallback texts that one compaction rewrites
MAX_READ = 1_000  # the newest messages, from which the facts of one condensed node are read


class TreeBuilder:
    """The tree of one conversation during a compaction."""

    def __init__(self, store: NodeStore, writer: NodeWriter, opening: str = "") -> None:
        self._store, self._writer, self._opening = store, writer, opening
        self._nodes = store.nodes()
        self.edits = store.edits()
        self.hidden = self.edits.hidden
        self.tree: Tree = tree_of(self._nodes, self.hidden)

    def cover(self, runs: Sequence[Span]) -> None:
        """Create leaves for the uncovered messages of these runs."""
        for run in (part for whole in runs for part in self._shown(whole)):
            for gap in self.tree.uncovered(run.first, run.last):
                messages = self._store.messages(gap.first, gap.last)
                self._add(
                    [
                        leaf(self._store.session, part, self._writer, self._opening)
                        for part in leaf_runs(messages)
                    ]
                )

    def condense(self) -> None:
        """Condense the oldest four adjacent nodes of each depth that has more than four."""
        while due := self.tree.due():
            originals = self._originals(due)
            self._add([condensed(self._store.session, due, originals, self._writer)])

    def redo(self) -> None:
        """Rewrite nodes that were written without a model, leaves before their parents."""
        makeshift = [node for node in self._counted() if node.degraded]
        for node in sorted(makeshift, key=lambda item: (item.depth, -self.tree.span(item).last))[:MAX_REDONE]:
            if not self._writer.may_ask and not self._writer.late_texts:
                return
            again = self._again(node)
            if not again.degraded:
                self._add([again])

    def _again(self, node: Node) -> Node:
        session = self._store.session
        if node.kind == "leaf":
            run = run_of(node)
            messages = self._store.messages(run.first, run.last)
            return leaf(session, messages, self._writer, self._opening, node)
        below = self.tree.children(node)
        return condensed(session, below, self._originals(below), self._writer, node)

    def _counted(self) -> Iterator[Node]:
        """Every valid node."""
        yield from self.tree.leaves
        for id in dict.fromkeys(self.tree.parents.values()):
            yield self.tree.known[id]

    def _originals(self, nodes: Sequence[Node]) -> list[Message]:
        spans = [self.tree.span(node) for node in nodes]
        first, last = min(span.first for span in spans), max(span.last for span in spans)
        messages = self._store.messages(max(first, last - MAX_READ + 1), last)
        return [entry.message for entry in messages if entry.sequence not in self.hidden]

    def _shown(self, run: Span) -> list[Span]:
        """The parts of a run that no person removed."""
        if not self.hidden:
            return [run]
        return runs_of(set(range(run.first, run.last + 1)) - self.hidden)

    def _add(self, nodes: Sequence[Node]) -> None:
        self._store.add(nodes)
        self._nodes = [*self._nodes, *nodes]
        self.tree = tree_of(self._nodes, self.hidden)


def leaf_runs(
    messages: Sequence[StoredMessage], size: int = LEAF_TOKENS
) -> Iterator[Sequence[StoredMessage]]:
    """A run of messages in parts of about `size` tokens each, without splitting tool groups."""
    if not messages:
        return
    weighed = list(accumulate((entry.tokens for entry in messages), initial=0))
    parts = max(1, round(weighed[-1] / size))
    start, wanted = 0, weighed[-1] / parts
    for place in safe_cuts([entry.message for entry in messages]):
        if place > start and (place == len(messages) or weighed[place] - weighed[start] >= wanted * 0.95):
            yield messages[start:place]
            start = place
