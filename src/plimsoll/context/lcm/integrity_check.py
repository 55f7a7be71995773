"""Checks that exactly one leaf covers every message outside the view.

    edges resolve · leaves do not overlap · every message outside the view has a leaf · nodes are small

Pure: takes the stored nodes, returns problems and missing leaves.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from plimsoll.archive import Node, NodeLink, Span, StoredMessage
from plimsoll.context.lcm.log_positions import runs_of
from plimsoll.context.lcm.node_writer import NodeWriter
from plimsoll.context.lcm.nodes import leaf
from plimsoll.context.lcm.tree import KINDS, Tree, tree_of
from plimsoll.context.lcm.tree_builder import leaf_runs
from plimsoll.messages import SYSTEM_ROLES

_TINY_TOKENS = 64  # tokens below which a node may be as large as its source


@dataclass(frozen=True, slots=True)
class StoredTree:
    """One conversation: its nodes, the length of its log, and the messages in its view."""

    nodes: Sequence[Node]
    first: StoredMessage | None
    last: int
    seen: AbstractSet[int]

    @property
    def tree(self) -> Tree:
        return tree_of(_connected(self.nodes))


def faults(examined: StoredTree) -> Iterator[str]:
    """All problems, one sentence each."""
    own = [node for node in examined.nodes if node.kind in KINDS]
    connected = {node.id for node in _connected(examined.nodes)}
    for node in own:
        yield from (f"node {node.id} {wrong}" for wrong in _broken(node, examined))
        if node.id not in connected:
            yield f"node {node.id} refers to nodes that are not stored"
    tree = examined.tree
    counted = {leaf.id for leaf in tree.leaves} | set(tree.replaced)
    for node in own:
        if node.kind == "leaf" and node.id in connected and node.id not in counted:
            yield f"leaf {node.id} covers messages that an earlier leaf covers; it is ignored"
    for run in uncovered(examined):
        yield f"messages {run.first} to {run.last} left the view but have no leaf"


def uncovered(examined: StoredTree) -> list[Span]:
    """Runs of messages that are neither in the view nor under a leaf."""
    is_system = examined.first is not None and examined.first.role in SYSTEM_ROLES
    gaps = examined.tree.uncovered(2 if is_system else 1, examined.last)
    return runs_of({n for gap in gaps for n in range(gap.first, gap.last + 1)} - examined.seen)


def replacement_leaves(session: str, messages: Sequence[StoredMessage]) -> list[Node]:
    """Leaves for a run of messages, written from its facts; a later compaction rewrites them with a model."""
    return [leaf(session, part, NodeWriter(), "") for part in leaf_runs(messages)]


def _connected(nodes: Sequence[Node]) -> list[Node]:
    """The nodes whose descendants all resolve to messages."""
    known = {node.id: node for node in nodes if node.kind in KINDS}

    def resolves(node: Node) -> bool:
        below = [known.get(source.node) for source in node.sources if isinstance(source, NodeLink)]
        return bool(node.sources) and all(child is not None and resolves(child) for child in below)

    return [node for node in known.values() if resolves(node)]


def _broken(node: Node, examined: StoredTree) -> Iterator[str]:
    """The problems of a single node."""
    spans = [source for source in node.sources if isinstance(source, Span)]
    if not node.sources:
        yield "has no sources"
    if (node.kind == "leaf") != (len(spans) == len(node.sources) == 1):
        yield (
            "is a leaf that does not cover exactly one range of messages"
            if node.kind == "leaf"
            else "mixes sources"
        )
    for span in spans:
        if not 1 <= span.first <= span.last <= examined.last:
            yield f"covers messages {span.first} to {span.last}, but the log has {examined.last}"
    depths = {item.depth for item in examined.nodes if NodeLink(item.id) in node.sources}
    if depths and depths != {node.depth - 1}:
        yield f"has depth {node.depth} but refers to nodes of depth {', '.join(map(str, sorted(depths)))}"
    replaced = int(node.details.get("tokens", 0))
    if node.kind == "leaf" and replaced > _TINY_TOKENS and node.tokens >= replaced + _TINY_TOKENS:
        yield f"has {node.tokens:,} tokens but replaces only {replaced:,}"
