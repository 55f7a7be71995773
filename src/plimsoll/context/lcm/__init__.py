"""The lossless engine: every message stays in the log, under exactly one leaf of a tree of summaries."""

from plimsoll.context.lcm.engine import LcmEngine
from plimsoll.context.lcm.memory import Memory, OwnMemory
from plimsoll.context.lcm.outline import outline_of, shape_of
from plimsoll.context.lcm.stored import StoredMemory
from plimsoll.context.lcm.tree import Tree

__all__ = ["LcmEngine", "Memory", "OwnMemory", "StoredMemory", "Tree", "outline_of", "shape_of"]
