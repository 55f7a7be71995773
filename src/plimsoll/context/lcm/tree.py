"""The tree over the log: which leaf covers which messages, and which node covers which leaves.

    log      1 2 3 4 5 6 7 8 9 10 11 12 …
    leaves       [ ----- ][ ------- ]            runs of messages that do not overlap
    depth 1      [ ---------------- ]            four nodes of one depth become one of the next
    roots        nodes without a parent, which the model sees

A tree is built only from the stored nodes, so it is the same after a restart. If two writers
covered the same messages, the first one counts, and the other node is a stray: stored, but
not referenced and never counted twice. A rewritten node takes the position of the one that
it replaces.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from plimsoll.archive import Node, NodeLink, Span

if TYPE_CHECKING:
    from plimsoll.context.lcm.node_store import NodeStore

FAN_IN = 4  # nodes that are condensed into one
KINDS = ("leaf", "condensed")
REPLACES = "replaces"


@dataclass(frozen=True, slots=True)
class Tree:
    """The valid nodes of one conversation, and their structure."""

    known: Mapping[str, Node] = field(default_factory=dict)  # by id, including replaced ones and strays
    leaves: tuple[Node, ...] = ()  # the valid leaves, in log order
    roots: tuple[Node, ...] = ()
    parents: Mapping[str, str] = field(default_factory=dict)
    replaced: Mapping[str, str] = field(default_factory=dict)  # maps an old id to its replacement

    def current(self, id: str) -> str:
        """The id of the node's newest version; the same id if it was never rewritten."""
        while id in self.replaced:
            id = self.replaced[id]
        return id

    def children(self, node: Node) -> list[Node]:
        """The newest versions of the child nodes."""
        links = (source.node for source in node.sources if isinstance(source, NodeLink))
        return [self.known[self.current(id)] for id in links if self.current(id) in self.known]

    def span(self, node: Node) -> Span:
        """The range of messages that a node covers."""
        ends = [source if isinstance(source, Span) else self._span_of(source.node) for source in node.sources]
        return Span(min(end.first for end in ends), max(end.last for end in ends))

    def leaf_at(self, sequence: int) -> Node | None:
        """The leaf that covers a message."""
        place = bisect_right(self.leaves, sequence, key=_first_of) - 1
        if place < 0 or run_of(self.leaves[place]).last < sequence:
            return None
        return self.leaves[place]

    def leaves_below(self, node: Node) -> Iterator[Node]:
        """All leaves below a node, or the node itself if it is a leaf."""
        if node.kind == "leaf":
            yield node
        for child in self.children(node):
            yield from self.leaves_below(child)

    def uncovered(self, first: int, last: int) -> list[Span]:
        """The runs between two messages that no leaf covers."""
        gaps: list[Span] = []
        expected = first
        for run in map(run_of, self.leaves):
            if run.first > last:
                break
            if run.first > expected:
                gaps.append(Span(expected, run.first - 1))
            expected = max(expected, run.last + 1)
        if expected <= last:
            gaps.append(Span(expected, last))
        return gaps

    def due(self) -> tuple[Node, ...]:
        """The oldest adjacent nodes of one depth to condense; the newest node of a depth is never included."""
        for depth in sorted({root.depth for root in self.roots}):
            for run in _equal_runs(self.roots, depth):
                if len(run) > FAN_IN:
                    return tuple(run[:FAN_IN])
        return ()

    def _span_of(self, id: str) -> Span:
        return self.span(self.known[id])


def tree_of(nodes: Iterable[Node], hidden: Set[int] = frozenset()) -> Tree:
    """The tree of these nodes, given in the order they were written.

    A node that covers a `hidden` message, directly or through another node, is excluded.
    """
    known = dict(_not_hidden({node.id: node for node in nodes if node.kind in KINDS}, hidden))
    replaced = {
        str(node.details[REPLACES]): node.id
        for node in known.values()
        if node.details.get(REPLACES) in known and node.details[REPLACES] != node.id
    }
    bare = Tree(known, replaced=replaced)
    # A rewritten node keeps the chronological position of its first version.
    order = [known[bare.current(id)] for id, node in known.items() if node.details.get(REPLACES) not in known]
    leaves = _without_overlaps(node for node in order if node.kind == "leaf")
    parents = _parents(leaves, [node for node in order if node.kind == "condensed"], bare)
    counted = {leaf.id for leaf in leaves} | set(parents.values())
    tops = [known[id] for id in counted - parents.keys()]
    roots = tuple(sorted(tops, key=lambda node: bare.span(node).first))
    return Tree(known, leaves, roots, parents, replaced)


def current_tree(store: "NodeStore") -> Tree:
    """The tree of a conversation without messages that a person removed."""
    return tree_of(store.nodes(), store.edits().hidden)


def _not_hidden(nodes: Mapping[str, Node], hidden: Set[int]) -> Iterator[tuple[str, Node]]:
    """The nodes that cover no hidden message, children before their parents."""
    named: set[str] = set()
    for id, node in nodes.items():
        if not hidden or not any(
            source.node not in named if isinstance(source, NodeLink) else _overlaps(source, hidden)
            for source in node.sources
        ):
            named.add(id)
            yield id, node


def _overlaps(span: Span, hidden: Set[int]) -> bool:
    return any(sequence in hidden for sequence in range(span.first, span.last + 1))


def _parents(leaves: Sequence[Node], condensed: Iterable[Node], bare: Tree) -> dict[str, str]:
    """The parent of each node; a condensed node whose children are strays or have a parent is excluded."""
    counted = {leaf.id for leaf in leaves}
    parents: dict[str, str] = {}
    for node in sorted(condensed, key=lambda item: item.depth):
        below = [bare.current(source.node) for source in node.sources if isinstance(source, NodeLink)]
        if below and all(id in counted and id not in parents for id in below):
            counted.add(node.id)
            parents |= dict.fromkeys(below, node.id)
    return parents


def run_of(leaf: Node) -> Span:
    """The messages of a leaf."""
    (run,) = (source for source in leaf.sources if isinstance(source, Span))
    return run


def _first_of(leaf: Node) -> int:
    return run_of(leaf).first


def _without_overlaps(leaves: Iterable[Node]) -> tuple[Node, ...]:
    """The leaves, in the order they were written, that do not overlap an earlier one."""
    kept: list[Node] = []
    for leaf in leaves:
        run = run_of(leaf)
        place = bisect_right(kept, run.first, key=_first_of)
        before, after = kept[:place][-1:], kept[place:][:1]
        if all(run_of(node).last < run.first for node in before) and all(
            run_of(node).first > run.last for node in after
        ):
            kept.insert(place, leaf)
    return tuple(kept)


def _equal_runs(roots: Sequence[Node], depth: int) -> Iterator[list[Node]]:
    run: list[Node] = []
    for root in roots:
        if root.depth == depth:
            run.append(root)
        elif run:
            yield run
            run = []
    if run:
        yield run
