"""A long session in an archive, made by the real compressor: for the benchmark and the screenshots of the inspector.

python bench/long_session.py ARCHIVE.db MESSAGES COMPACTIONS
"""

import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plimsoll import ContextCompressor
from plimsoll.agent.compaction_record import ledger_of
from plimsoll.archive import OPERATOR, Archive, CompactionEvent, UsageRecord, draft_of
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.caching.pricing import Bill, money_of
from plimsoll.models import card_for, estimate_message_tokens

START = 1_790_000_000.0
MODEL = "claude-sonnet-4.5"
OVERHEAD = 1_800  # tokens of tool schemas
EXAMPLE = Path(__file__).resolve().parents[1] / "src/plimsoll/examples/fastapi.json"
Message = dict[str, Any]


@dataclass
class Clock:
    """Time that the session moves itself."""

    now: float = START

    def __call__(self) -> float:
        return self.now


def conversation(count: int) -> Iterator[Message]:
    """The bundled example, again and again, with other calls, paths and numbers each time."""
    told = json.loads(EXAMPLE.read_text("utf-8"))
    example = told["messages"] if isinstance(told, dict) else told
    yield example[0]
    sent, round_number = 1, 0
    while sent < count:
        round_number += 1
        for message in example[1:]:
            if sent == count:
                return
            text = json.dumps(message)
            if round_number > 1:
                text = text.replace('"call_', f'"call_{round_number}_').replace(".py", f"_{round_number}.py")
            yield json.loads(text)
            sent += 1


class Growing:
    """A session that grows message by message, and is compacted when it should be."""

    def __init__(self, archive: Archive, id: str, clock: Clock, window: int) -> None:
        self.archive, self.id, self.clock = archive, id, clock
        self.engine = ContextCompressor(context_length=window, protect_last_n=12)
        self.card = card_for(MODEL)
        self.last = self.prompt = 0

    async def add(self, messages: list[Message]) -> None:
        """Store some messages."""
        await self.archive.append(self.id, messages, turn=f"after.{self.last}", after=self.last)
        self.last += len(messages)

    async def asked(self, size: int, pause: float, is_new_view: bool) -> None:
        """Record what a request used: it reads what the one before left, unless that expired or changed."""
        prompt = size + OVERHEAD
        read = 0 if pause > 300 else min(self.prompt, prompt)
        if is_new_view:
            read = min(read, 3_000)
        bill = Bill(read=read, write_5m=prompt - read, output=200)
        money = money_of(bill, self.card)
        await self.archive.record_usage(
            self.id, UsageRecord(MODEL, cache_read=read, cache_write=prompt - read, output=200, money=money)
        )
        self.prompt = prompt

    async def compact(self) -> None:
        """Run the compressor on the view and store what it made."""
        view = await self.archive.view(self.id)
        items = await self.archive.items(self.id, view)
        before = [item.message for item in items]
        after = await asyncio.to_thread(self.engine.compress, before)
        report = self.engine.last_report
        assert report is not None
        event = CompactionEvent(
            "threshold",
            "compressor",
            messages_before=len(before),
            messages_after=len(after),
            tokens_before=report.tokens_before,
            tokens_after=report.tokens_after,
            ledger=ledger_of(before, after, report),
            money=0.0123,
            seconds=2.4,
            waited=0.8,
        )
        await self.archive.commit_compaction(self.id, draft_of(self.id, view, items, after), event)


async def build(path: Path, count: int, compactions: int) -> str:
    """The id of a new session of so many messages; every so many of them it is compacted."""
    clock = Clock()
    async with await SqliteStore.open(path, clock=clock) as store:
        archive = store.for_owner(OPERATOR)
        title = "Set up a FastAPI project with tests and error handling"
        session = await archive.create_session(title=title, model=MODEL, engine="compressor")
        grown = Growing(archive, session.id, clock, window=200_000)
        every = max(20, count // (compactions + 1))
        waiting: list[Message] = []
        size = made = 0
        is_new = False
        for number, message in enumerate(conversation(count), 1):
            if message["role"] == "assistant":
                pause = 900.0 if number % 47 == 0 else 20.0
                clock.now += pause
                await grown.add(waiting)
                waiting = []
                if made < compactions and number > every * (made + 1):
                    await grown.compact()
                    made, is_new = made + 1, True
                    _, size = await archive.view_size(session.id)
                await grown.asked(size, pause, is_new)
                is_new = False
            waiting.append(message)
            size += estimate_message_tokens(message)
        await grown.add(waiting)
        return session.id


if __name__ == "__main__":
    print(asyncio.run(build(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
