"""Compaction inside other agent frameworks: one core, and a thin adapter for each host."""

from plimsoll.integrations.codec import ChatCodec, HostGroup, MessageCodec, WrittenMessage, one_by_one
from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.host_view import HostView
from plimsoll.integrations.options import AdapterOptions

__all__ = [
    "AdapterOptions",
    "ChatCodec",
    "HistoryCompactor",
    "HostGroup",
    "HostView",
    "MessageCodec",
    "WrittenMessage",
    "one_by_one",
]
