"""The lossless engine: every message stays in the log, under exactly one leaf of a tree of summaries."""

from plimsoll.context.lcm.archive_node_store import ArchiveNodeStore
from plimsoll.context.lcm.engine import LcmEngine
from plimsoll.context.lcm.node_store import InMemoryNodeStore, NodeStore
from plimsoll.context.lcm.outline import outline_of, shape_of
from plimsoll.context.lcm.tree import Tree

__all__ = [
    "ArchiveNodeStore",
    "InMemoryNodeStore",
    "LcmEngine",
    "NodeStore",
    "Tree",
    "outline_of",
    "shape_of",
]
