"""The tree over the log: which leaf covers which messages, and which node covers which leaves.

    log      1 2 3 4 5 6 7 8 9 10 11 12 …
    leaves       [ ----- ][ ------- ]            runs of messages, side by side, none twice
    depth 1      [ ---------------- ]            four nodes of one depth become one of the next
    roots        what no other node stands for: what the model sees

A tree is read from the stored nodes alone, so it is the same after a restart. Where two
writers covered the same messages, the one who came first counts, and the other node is a
stray: stored, named in nothing, never counted twice. A node that was written again takes
the place of the one that it replaces.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from plimsoll.archive import Node, NodeLink, Span

if TYPE_CHECKING:
    from plimsoll.context.lcm.node_store import NodeStore

FAN_IN = 4
KINDS = ("leaf", "condensed")
REPLACES = "replaces"


@dataclass(frozen=True, slots=True)
class Tree:
    """The nodes of one conversation that count, and how they hang together."""

    known: Mapping[str, Node] = field(default_factory=dict)  # by id, also replaced ones and strays
    leaves: tuple[Node, ...] = ()  # that count, in the order of the log
    roots: tuple[Node, ...] = ()
    parents: Mapping[str, str] = field(default_factory=dict)
    replaced: Mapping[str, str] = field(
        default_factory=dict
    )  # an earlier text by the one that took its place

    def current(self, id: str) -> str:
        """The node that stands in the place of this one now; itself where it was never written again."""
        while id in self.replaced:
            id = self.replaced[id]
        return id

    def children(self, node: Node) -> list[Node]:
        """The nodes below, as they are now."""
        links = (source.node for source in node.sources if isinstance(source, NodeLink))
        return [self.known[self.current(id)] for id in links if self.current(id) in self.known]

    def span(self, node: Node) -> Span:
        """The messages that a node stands for, from the first to the last."""
        ends = [one if isinstance(one, Span) else self._span_of(one.node) for one in node.sources]
        return Span(min(one.first for one in ends), max(one.last for one in ends))

    def leaf_at(self, sequence: int) -> Node | None:
        """The leaf that stands for a message."""
        place = bisect_right(self.leaves, sequence, key=_first_of) - 1
        if place < 0 or run_of(self.leaves[place]).last < sequence:
            return None
        return self.leaves[place]

    def leaves_below(self, node: Node) -> Iterator[Node]:
        """All leaves of a node, itself if it is one."""
        if node.kind == "leaf":
            yield node
        for child in self.children(node):
            yield from self.leaves_below(child)

    def uncovered(self, first: int, last: int) -> list[Span]:
        """The runs between two messages that are under no leaf."""
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

    def ripe(self) -> tuple[Node, ...]:
        """The oldest neighbours of one depth that may become one node; the newest of a depth stays as it is."""
        for depth in sorted({root.depth for root in self.roots}):
            for run in _equal_runs(self.roots, depth):
                if len(run) > FAN_IN:
                    return tuple(run[:FAN_IN])
        return ()

    def _span_of(self, id: str) -> Span:
        return self.span(self.known[id])


def tree_of(nodes: Iterable[Node], hidden: Set[int] = frozenset()) -> Tree:
    """The tree that these nodes are, in the order in which they were written.

    A node that tells of a `hidden` message, directly or through another node, does not count.
    """
    known = dict(_telling({node.id: node for node in nodes if node.kind in KINDS}, hidden))
    replaced = {
        str(node.details[REPLACES]): node.id
        for node in known.values()
        if node.details.get(REPLACES) in known and node.details[REPLACES] != node.id
    }
    bare = Tree(known, replaced=replaced)
    # A node that was written again keeps the place in time of its first text.
    order = [known[bare.current(id)] for id, node in known.items() if node.details.get(REPLACES) not in known]
    leaves = _side_by_side(node for node in order if node.kind == "leaf")
    parents = _parents(leaves, [node for node in order if node.kind == "condensed"], bare)
    counted = {leaf.id for leaf in leaves} | set(parents.values())
    tops = [known[id] for id in counted - parents.keys()]
    roots = tuple(sorted(tops, key=lambda node: bare.span(node).first))
    return Tree(known, leaves, roots, parents, replaced)


def current_tree(store: "NodeStore") -> Tree:
    """The tree of a conversation as its view shows it: without what a person removed."""
    return tree_of(store.nodes(), store.edits().hidden)


def _telling(nodes: Mapping[str, Node], hidden: Set[int]) -> Iterator[tuple[str, Node]]:
    """The nodes that tell of no hidden message; children come before their parents."""
    told: set[str] = set()
    for id, node in nodes.items():
        if not hidden or not any(
            one.node not in told if isinstance(one, NodeLink) else _meets(one, hidden) for one in node.sources
        ):
            told.add(id)
            yield id, node


def _meets(span: Span, hidden: Set[int]) -> bool:
    return any(sequence in hidden for sequence in range(span.first, span.last + 1))


def _parents(leaves: Sequence[Node], condensed: Iterable[Node], bare: Tree) -> dict[str, str]:
    """The condensed node over each node; one whose children are strays or have a parent does not count."""
    counted = {leaf.id for leaf in leaves}
    parents: dict[str, str] = {}
    for node in sorted(condensed, key=lambda one: one.depth):
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


def _side_by_side(leaves: Iterable[Node]) -> tuple[Node, ...]:
    """Those leaves, the first written first, that overlap with no earlier one."""
    taken: list[Node] = []
    for leaf in leaves:
        run = run_of(leaf)
        place = bisect_right(taken, run.first, key=_first_of)
        before, behind = taken[:place][-1:], taken[place:][:1]
        if all(run_of(one).last < run.first for one in before) and all(
            run_of(one).first > run.last for one in behind
        ):
            taken.insert(place, leaf)
    return tuple(taken)


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
