"""The bundled conversation in a temporary archive, with the real engine, archive and recall tool.

    grow ─► compact ─► recall ─► undo ─► costs

The archive is deleted at the end; your own sessions are never opened.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

from plimsoll.archive import OPERATOR, Archive, CompactionEvent, SearchQuery
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.caching import Bill, Compaction, replay
from plimsoll.context import CompactionReport, ContextCompressor
from plimsoll.context.ledger.outcome import call_line
from plimsoll.messages import Message, text_of, tool_calls
from plimsoll.models import card_for, estimate_message_tokens
from plimsoll.sessions.journal import ArchiveJournal
from plimsoll.sessions.recall import PAGE, recall_tool
from plimsoll.tools import ToolContext, Workspace
from plimsoll.transcripts import read_example

MODEL = "claude-sonnet-4.5"  # its prices and cache rules are used; nothing is sent to it
WINDOW = 64_000  # small enough for the recording to outgrow it
GAP_SECONDS = 30.0  # between two requests, as in `plimsoll cost`
QUESTION = "In which file and line did the first failing test stop?"
SEARCH = '"in create_berth"'
ANSWER = "app/routers/berths.py:67: in create_berth"


@dataclass(frozen=True, slots=True)
class GrowthStep:
    """The conversation after one more message."""

    messages: int
    tokens: int
    line: str


@dataclass(frozen=True, slots=True)
class RecalledFact:
    """Where the answer was found."""

    in_view: bool
    sequence: int
    handle: str
    line: str


@dataclass(frozen=True, slots=True)
class TourCosts:
    """The whole recording as an agent's requests, with the cache and compaction that a row names."""

    uncached: Bill
    cached: Bill
    compacted: Bill
    requests: int
    compactions: int
    too_large: int  # requests that do not fit the window without a compaction


class RecordedSession:
    """The steps of the tour. Use it as a context manager."""

    def __init__(self) -> None:
        self.recording: list[Message] = read_example()[0].messages
        self.engine = ContextCompressor(model=MODEL, context_length=WINDOW, able_to_recall=True)
        self._folder = TemporaryDirectory(prefix="plimsoll-tour-")
        self._runner = asyncio.Runner()

    def __enter__(self) -> "RecordedSession":
        self._store = self._runner.run(SqliteStore.open(Path(self._folder.name) / "archive.db"))
        self.archive: Archive = self._store.for_owner(OPERATOR)
        session = self._runner.run(
            self.archive.create_session(title="Tour", model=MODEL, engine="compressor")
        )
        self.id = session.id
        self._journal = ArchiveJournal(self.archive, session.id, "tour", 0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.run(self._store.close())
        self._runner.close()
        self._folder.cleanup()

    def grow(self) -> Iterator[GrowthStep]:
        """Store message by message, until the next request would reach the threshold."""
        tokens = 0
        for number, message in enumerate(self.recording, start=1):
            if message.get("role") == "assistant" and self.engine.should_compress(tokens):
                return
            self._runner.run(self._journal.add([message]))
            tokens += estimate_message_tokens(message)
            yield GrowthStep(number, tokens, _line_of(message))

    def view(self) -> list[Message]:
        """What the model sees now."""
        return [item.message for item in self._runner.run(self.archive.items(self.id))]

    def compact(self) -> CompactionReport:
        """Compact the view and store the result."""
        before = self.view()
        after = self.engine.compress(before)
        report = self.engine.last_report
        if report is None:
            raise RuntimeError("The engine returned no report.")
        event = CompactionEvent(
            "tour",
            self.engine.name,
            messages_before=report.messages_before,
            messages_after=report.messages_after,
            tokens_before=report.tokens_before,
            tokens_after=report.tokens_after,
        )
        self._runner.run(self._journal.compacted(before, after, event))
        return report

    def recall(self) -> RecalledFact:
        """Search the archive for a fact that left the view, and read the original with the recall tool."""
        in_view = any(ANSWER in text_of(message) for message in self.view())
        page = self._runner.run(self.archive.search(SearchQuery(SEARCH, session=self.id, order="oldest")))
        sequence = page.hits[0].sequence
        (stored,) = self._runner.run(self.archive.messages(self.id, sequence, sequence))
        tool = recall_tool(self._journal, lambda: PAGE)
        context = ToolContext(Workspace(Path(self._folder.name)))
        result = self._runner.run(tool.run({"handle": stored.handle}, context))
        original = str(json.loads(result.text)["text"])
        line = next(line for line in original.splitlines() if ANSWER in line)
        return RecalledFact(in_view, sequence, stored.handle, line.strip())

    def undo(self) -> bool:
        """Return to the view before the compaction. Returns whether it equals the recording."""
        self._runner.run(self.archive.undo(self.id))
        view = self.view()
        return view == self.recording[: len(view)]

    def costs(self) -> TourCosts:
        """Price the whole recording three ways."""
        card = card_for(MODEL)
        engine = ContextCompressor(model=MODEL, context_length=WINDOW)
        compactions = 0

        def at_threshold(index: int, sent: Sequence[Message]) -> Compaction | None:
            nonlocal compactions
            if not engine.should_compress(sum(map(estimate_message_tokens, sent))):
                return None
            compactions += 1
            return Compaction(index, engine.compress(list(sent)))

        plain = replay(self.recording, card, "none", gap_seconds=GAP_SECONDS)
        cached = replay(self.recording, card, "planned", gap_seconds=GAP_SECONDS)
        compacted = replay(self.recording, card, "planned", gap_seconds=GAP_SECONDS, compactions=at_threshold)
        too_large = sum(step.bill.prompt_tokens > WINDOW for step in plain.steps)
        return TourCosts(plain.total, cached.total, compacted.total, len(plain.steps), compactions, too_large)


def _line_of(message: Message) -> str:
    """A message in one line."""
    calls = tool_calls(message)
    text = " ".join(text_of(message).split())
    return f"{message.get('role')}: {call_line(calls[0]) if calls else text}"
