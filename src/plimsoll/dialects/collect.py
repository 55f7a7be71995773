"""Assembles the deltas of a streamed reply.

    Start · ReasoningDelta… · TextDelta… · ToolCallDelta… · Finish · UsageReport   ->   Reply

Interleaved blocks keep their order, adjacent blocks stay separate, and an
interrupted reply contains everything that arrived.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from plimsoll.dialects.blocks.arguments import arguments_from
from plimsoll.dialects.blocks.assistant import THINKING_TYPES, Entry, message_from
from plimsoll.dialects.blocks.parts import part_from_block
from plimsoll.dialects.reply import (
    BlockDelta,
    BlockEnd,
    CitationDelta,
    Delta,
    Failure,
    Finish,
    MessageDelta,
    ReasoningDelta,
    Reply,
    SignatureDelta,
    Start,
    TextDelta,
    ToolCallDelta,
    UsageReport,
)


class Collector:
    """Collects deltas; you can call `reply()` at any time."""

    def __init__(self) -> None:
        self._reply = Reply({})
        self._blocks: list[dict[str, Any]] = []
        self._open: str | None = None  # the type of the last block while it is incomplete
        self._calls: dict[int, dict[str, Any]] = {}
        self._fields: dict[str, Any] = {}
        self.failure: Failure | None = None

    def add(self, deltas: Iterable[Delta]) -> None:
        """Add these deltas."""
        for delta in deltas:
            self._add(delta)

    def reply(self) -> Reply:
        """The reply so far."""
        message = {
            **message_from([_entry(block) for block in self._blocks if _has_content(block)]),
            **self._fields,
        }
        return replace(self._reply, message=message)

    def _add(self, delta: Delta) -> None:
        match delta:
            case TextDelta(text):
                self._writing("text", {"text": ""})["text"] += text
            case ReasoningDelta(text):
                # A signature ends its block: thinking after it is a new block.
                if self._open == "thinking" and self._blocks[-1]["signature"]:
                    self._open = None
                self._writing("thinking", {"thinking": "", "signature": ""})["thinking"] += text
            case SignatureDelta(signature):
                self._writing("thinking", {"thinking": "", "signature": ""})["signature"] += signature
            case CitationDelta(citation):
                self._writing("text", {"text": ""}).setdefault("citations", []).append(citation)
            case ToolCallDelta():
                self._call(delta)
            case BlockDelta(block):
                self._blocks.append(block)
                self._open = None
            case MessageDelta(fields):
                self._fields |= fields
            case BlockEnd():
                self._open = None
            case _:
                self._envelope(delta)

    def _envelope(self, delta: Delta) -> None:
        match delta:
            case Start(id, model):
                self._reply = replace(self._reply, id=id or self._reply.id, model=model or self._reply.model)
            case Finish(reason, native):
                self._reply = replace(self._reply, finish_reason=reason, native_finish_reason=native)
            case UsageReport(usage):
                self._reply = replace(self._reply, usage=usage)
            case Failure():
                self.failure = delta

    def _writing(self, kind: str, empty: dict[str, Any]) -> dict[str, Any]:
        if self._open != kind:
            self._blocks.append({"type": kind, **empty})
            self._open = kind
        return self._blocks[-1]

    def _call(self, delta: ToolCallDelta) -> None:
        self._open = None
        call = self._calls.get(delta.index)
        if call is None:
            call = {"type": "tool_call", "id": "", "name": "", "arguments": "", "extra": {}}
            self._calls[delta.index] = call
            self._blocks.append(call)
        call["id"] = call["id"] or delta.id or ""
        call["name"] = call["name"] or delta.name or ""
        call["arguments"] += delta.arguments
        call["extra"] = {**call["extra"], **delta.extra}


def collect(deltas: Iterable[Delta]) -> Reply:
    """The reply that these deltas form."""
    collector = Collector()
    collector.add(deltas)
    return collector.reply()


class StreamDecoder(ABC):
    """Base class of all stream decoders: call `feed()` with each event, then `reply()`."""

    def __init__(self) -> None:
        self._collector = Collector()
        self._is_whole = False  # whether the provider ended the stream

    @property
    def complete(self) -> bool:
        """Whether the provider ended the reply; otherwise the stream was interrupted."""
        return self._is_whole and self._collector.failure is None

    @property
    def failure(self) -> Failure | None:
        """The error that the provider ended the stream with."""
        return self._collector.failure

    def reply(self) -> Reply:
        """The reply so far."""
        return self._collector.reply()

    def feed(self, event: str | None, data: dict[str, Any] | None) -> list[Delta]:
        """The deltas in one event; `data` is None for an end marker."""
        deltas = self._deltas(event, data)
        self._collector.add(deltas)
        return deltas

    @abstractmethod
    def _deltas(self, event: str | None, data: dict[str, Any] | None) -> list[Delta]:
        """The deltas in one event."""


def _has_content(block: dict[str, Any]) -> bool:
    if block["type"] == "thinking":
        return bool(block["thinking"] or block["signature"])
    return block["type"] != "text" or bool(block["text"].strip())


def _entry(block: dict[str, Any]) -> Entry:
    if block["type"] in THINKING_TYPES:
        return Entry("thinking", block)
    if block["type"] == "tool_call":
        function = {"name": block["name"], "arguments": block["arguments"] or arguments_from({})}
        call = {"id": block["id"], "type": "function", "function": function, **block["extra"]}
        return Entry("tool_use", call)
    return Entry("content", part_from_block(block) or dict(block))
