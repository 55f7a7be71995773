"""The built-in engine: one file per phase, and the ladder for when the result does not fit."""

from plimsoll.context.compressor.assemble import assemble
from plimsoll.context.compressor.boundaries import Boundaries, find_boundaries
from plimsoll.context.compressor.compressor import ContextCompressor
from plimsoll.context.compressor.handoff import HANDOFF_TOKENS, write_handoff
from plimsoll.context.compressor.prune import PLACEHOLDER, prune_old_tool_results
from plimsoll.context.compressor.summarise import summarise
from plimsoll.context.markers import NOTE, SUMMARY_PREFIX, find_summary, is_summary

__all__ = [
    "HANDOFF_TOKENS",
    "NOTE",
    "PLACEHOLDER",
    "SUMMARY_PREFIX",
    "Boundaries",
    "ContextCompressor",
    "assemble",
    "find_boundaries",
    "find_summary",
    "is_summary",
    "prune_old_tool_results",
    "summarise",
    "write_handoff",
]
