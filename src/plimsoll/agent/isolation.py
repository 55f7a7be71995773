"""Runs the built-in engines in a worker process. Objects with connections stay in the parent, and the worker calls
them there.

    engine ── draft ──► worker: a copy of the engine, the messages ──► positions, new messages, report, facts
                          └── summary model · archive · log of the host ──► here

An unchanged message returns as its position in the list, so it stays the same object. The facts of summaries are
returned packed, because only workers read them.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from plimsoll.agent.compaction_record import Assessment, assess
from plimsoll.agent.worker import Host
from plimsoll.agent.workers import Workers
from plimsoll.archive import Node, PersonEdits, SearchPage, SearchQuery, StoredMessage
from plimsoll.context import (
    CompactionReport,
    ContextCompressor,
    ContextEngine,
    ConversationSummarizer,
    Summarizer,
    SummaryService,
    SummaryWriter,
)
from plimsoll.context.lcm import LcmEngine
from plimsoll.context.lcm.node_store import NodeStore
from plimsoll.messages import Message, Wire

_WRITER, _LOG, _STORE, _CLOCK = range(4)  # the objects of a job
Placed = list[int | Message]


@dataclass(frozen=True, slots=True)
class DraftResult:
    """A worker's result."""

    messages: Placed
    report: CompactionReport
    facts: bytes


def is_isolatable(engine: ContextEngine) -> bool:
    """Whether an engine is built in; plugin engines may hold any object and run in threads."""
    return type(engine) in (ContextCompressor, LcmEngine)


def draft_in_worker(
    workers: Workers, engine: ContextCompressor, view: list[Message], arguments: Mapping[str, Any]
) -> tuple[list[Message], CompactionReport]:
    """`engine.draft` in a worker process; blocks until it is done."""
    log, link = engine.remembered.log, _Link()
    engine_copy = copy.copy(engine)
    engine_copy.last_report = None
    engine_copy.summarizer = _Writer(link) if engine.summarizer is not None else None
    remote_log = None if log is None else partial(link.call, _LOG, "__call__")
    engine_copy.remembered = engine.remembered.with_log(remote_log)
    objects: list[Any] = [_WriterHost(engine.summarizer, view), log, None, None]
    if isinstance(engine, LcmEngine) and isinstance(engine_copy, LcmEngine):
        objects[_STORE:] = [_StoreHost(engine.store, view), engine.clock]
        engine_copy.store, engine_copy.late_texts = _StoreProxy(link), {}
        engine_copy.clock = partial(link.call, _CLOCK, "__call__")
    done: DraftResult = workers.run(_draft, link, engine_copy, view, dict(arguments), objects=objects)
    engine.remembered = engine.remembered.unpacked(done.facts)
    return _taken(done.messages, view), done.report


def assess_in_worker(
    workers: Workers,
    view: Sequence[Message],
    after: Sequence[Message],
    wire: Wire,
    report: CompactionReport | None,
) -> Assessment:
    """`assess` in a worker process; blocks until it is done."""
    portable = replace(report, _describe_pruned=tuple) if report is not None else None
    found: Assessment = workers.run(_assess, list(view), _placed(after, view), wire, portable)
    return found


# In the worker


def _draft(
    host: Host, link: "_Link", engine: ContextCompressor, view: list[Message], arguments: dict[str, Any]
) -> DraftResult:
    link.host, link.view = host, view
    messages, report = engine.draft(list(view), **arguments)
    # The gateway never shows the list of cleared results, and building it is slow.
    portable = replace(report, _describe_pruned=tuple)
    return DraftResult(_placed(messages, view), portable, engine.remembered.packed())


def _assess(view: list[Message], after: Placed, wire: Wire, report: CompactionReport | None) -> Assessment:
    return assess(view, _taken(after, view), wire, report)


@dataclass(slots=True)
class _Link:
    """The host and the view of one job, shared by all proxies of that job."""

    host: Host | None = None
    view: Sequence[Message] = ()

    def call(self, object: int, method: str, *arguments: Any) -> Any:
        assert self.host is not None, "only a worker calls its host"
        return self.host.call(object, method, *arguments)

    def wait_for(self, object: int, method: str, *arguments: Any) -> Any:
        assert self.host is not None, "only a worker calls its host"
        return self.host.wait_for(object, method, *arguments)

    def placed(self, messages: Sequence[Message]) -> Placed:
        return _placed(messages, self.view)


@dataclass(frozen=True, slots=True)
class _Writer:
    """A summary writer that stays in the parent."""

    link: _Link

    def begin(self) -> Summarizer:
        number, converses = self.link.call(_WRITER, "begin")
        return (_Conversing if converses else _Summary)(self.link, number)


@dataclass(frozen=True, slots=True)
class _Summary:
    link: _Link
    number: int

    @property
    def context_length(self) -> int:
        return int(self.link.call(_WRITER, "context_length", self.number))

    def summarize(self, prompt: str, max_tokens: int) -> str:
        return str(self.link.wait_for(_WRITER, "summarize", self.number, prompt, max_tokens))


class _Conversing(_Summary):
    def prefers_conversation(self, view: Sequence[Message], excerpt_tokens: int, max_tokens: int) -> bool:
        arguments = (self.number, self.link.placed(view), excerpt_tokens, max_tokens)
        return bool(self.link.call(_WRITER, "prefers_conversation", *arguments))

    def summarize_conversation(self, view: Sequence[Message], instruction: str, max_tokens: int) -> str:
        arguments = (self.number, self.link.placed(view), instruction, max_tokens)
        return str(self.link.wait_for(_WRITER, "summarize_conversation", *arguments))


@dataclass(frozen=True, slots=True)
class _StoreProxy:
    """A log with its nodes that stays in the parent."""

    link: _Link

    @property
    def session(self) -> str:
        return str(self.link.call(_STORE, "session"))

    def positions(self, messages: Sequence[Message]) -> list[int]:
        return list(self.link.call(_STORE, "positions", self.link.placed(messages)))

    def record_view(self, messages: Sequence[Message], positions: Sequence[int]) -> None:
        self.link.call(_STORE, "record_view", self.link.placed(messages), list(positions))

    def messages(self, first: int, last: int, session: str = "") -> list[StoredMessage]:
        return list(self.link.call(_STORE, "messages", first, last, session))

    def nodes(self, session: str = "") -> list[Node]:
        return list(self.link.call(_STORE, "nodes", session))

    def add(self, nodes: Sequence[Node]) -> None:
        self.link.call(_STORE, "add", list(nodes))

    def search(self, query: SearchQuery) -> SearchPage:
        found: SearchPage = self.link.call(_STORE, "search", query)
        return found

    def scratch(self) -> NodeStore:
        self.link.call(_STORE, "use_scratch")
        return self

    def by_handle(self, handle: str) -> StoredMessage | None:
        found: StoredMessage | None = self.link.call(_STORE, "by_handle", handle)
        return found

    def edits(self) -> PersonEdits:
        found: PersonEdits = self.link.call(_STORE, "edits")
        return found


# In the parent


class _WriterHost:
    """Calls the summary writer for a worker; each summary that a worker has begun has a number."""

    def __init__(self, writer: SummaryWriter | None, view: list[Message]) -> None:
        self._writer, self._view = writer, view
        self._begun: list[Summarizer] = []

    def begin(self) -> tuple[int, bool]:
        writer = self._writer
        assert writer is not None
        self._begun.append(writer.begin() if isinstance(writer, SummaryService) else writer)
        return len(self._begun) - 1, isinstance(self._begun[-1], ConversationSummarizer)

    def context_length(self, number: int) -> int:
        return self._begun[number].context_length

    def summarize(self, number: int, prompt: str, max_tokens: int) -> str:
        return self._begun[number].summarize(prompt, max_tokens)

    def prefers_conversation(self, number: int, view: Placed, excerpt_tokens: int, max_tokens: int) -> bool:
        return self._conversing(number).prefers_conversation(
            _taken(view, self._view), excerpt_tokens, max_tokens
        )

    def summarize_conversation(self, number: int, view: Placed, instruction: str, max_tokens: int) -> str:
        return self._conversing(number).summarize_conversation(
            _taken(view, self._view), instruction, max_tokens
        )

    def _conversing(self, number: int) -> ConversationSummarizer:
        found = self._begun[number]
        assert isinstance(found, ConversationSummarizer)
        return found


class _StoreHost:
    """Calls the store of the lossless engine for a worker."""

    def __init__(self, store: NodeStore, view: list[Message]) -> None:
        self._store, self._view = store, view

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def use_scratch(self) -> None:
        self._store = self._store.scratch()

    def positions(self, messages: Placed) -> list[int]:
        return self._store.positions(_taken(messages, self._view))

    def record_view(self, messages: Placed, positions: list[int]) -> None:
        self._store.record_view(_taken(messages, self._view), positions)


def _placed(messages: Sequence[Message], view: Sequence[Message]) -> Placed:
    """Messages of the view as positions, all others unchanged."""
    places = {id(message): place for place, message in enumerate(view)}
    return [places.get(id(message), message) for message in messages]


def _taken(placed: Placed, view: Sequence[Message]) -> list[Message]:
    return [view[item] if isinstance(item, int) else item for item in placed]
