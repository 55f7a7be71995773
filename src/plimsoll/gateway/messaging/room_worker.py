"""Answers the rooms of one account: the messages waiting in a room become one turn.

    messages ─► [ /command ]                   ─► done, answered
            └► [ words, words, words ] ─► one turn in the room's session ─► answer in parts ─► settled

Rooms do not wait for each other. Messages that arrive while an answer is written wait for the next turn. A message is
settled after its answer was sent. If a process ended in between, the answer is found in the log by the message's name
and sent without asking the model again.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import takewhile
from zlib import crc32

from plimsoll.agent import INTERRUPTED, PROCESS_ENDED, UNANSWERED
from plimsoll.archive import room_owner
from plimsoll.archive.inbox import Inbox, IncomingMessage
from plimsoll.errors import PlatformFailed, PlatformRefused, PlimsollError, UnknownSession
from plimsoll.gateway.messaging.adapter import Adapter
from plimsoll.gateway.messaging.commands import CommandContext, command_in, run_command
from plimsoll.gateway.messaging.splitting import split
from plimsoll.gateway.sessions import OwnerSessions, SessionService
from plimsoll.messages import Message, text_of
from plimsoll.sessions import Exchange

FIRST_PAUSE = 1.0  # seconds before a failed step is retried; doubled after each failure
LONGEST_PAUSE = 60.0
_STOPPED = "(I was stopped here. Send a message and I will continue.)"
_FAILED = "I could not answer: the request failed. Send a message and I will try again."
_SILENT = "(The model returned an empty answer.)"
_UNREADABLE = {"encrypted": "I cannot read encrypted rooms. Please invite me to a room without encryption."}
_log = logging.getLogger(__name__)


class RoomWorker:
    """Answers messages. `pause` is the delay before a failed step is retried."""

    def __init__(
        self,
        adapter: Adapter,
        inbox_of: Callable[[str], Inbox],
        sessions: SessionService,
        pause: float = FIRST_PAUSE,
    ) -> None:
        self._adapter, self._inbox_of, self._sessions = adapter, inbox_of, sessions
        self._pause = pause
        self._waiting: dict[str, list[IncomingMessage]] = {}  # by place
        self._known: set[tuple[str, str]] = set()  # messages that wait
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._notices: dict[str, str] = {}  # the last failure notice sent to each room
        self._closing = asyncio.Event()

    def add(self, messages: Sequence[IncomingMessage]) -> None:
        """Queue messages; one that is queued already keeps its position."""
        for message in messages:
            if (message.place, message.event) not in self._known:
                self._known.add((message.place, message.event))
                self._waiting.setdefault(message.place, []).append(message)

    def wake(self) -> None:
        """Start answering in every room with queued messages."""
        for place in self._waiting:
            if place not in self._tasks and not self._closing.is_set():
                task = self._tasks[place] = asyncio.create_task(self._serve(place))
                task.add_done_callback(partial(self._ended, place))

    async def close(self, grace_seconds: float) -> None:
        """Finish the answers in progress; stop those that take longer than `grace_seconds`."""
        self._closing.set()
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=grace_seconds)
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _ended(self, place: str, task: asyncio.Task[None]) -> None:
        del self._tasks[place]
        error = None if task.cancelled() else task.exception()
        if error is not None:  # a bug; the messages stay queued until the next one in this room
            _log.error("The answer in %s was interrupted.", place, exc_info=error)
        elif place in self._waiting:  # a message arrived after the last check
            self.wake()

    async def _serve(self, place: str) -> None:
        pause = self._pause
        while self._waiting.get(place) and not self._closing.is_set():
            try:
                await self._next(place)
                pause = self._pause
            except PlimsollError as error:
                _log.warning("No answer in %s yet: %s", place, error)
                await self._send_notice(place, error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), pause)
                pause = min(pause * 2, LONGEST_PAUSE)

    async def _next(self, place: str) -> None:
        messages = self._waiting[place]
        first = messages[0]
        command = command_in(first)
        if command is not None:
            await self._settle(place, [first])  # before it runs: an /undo must not run twice
            async with self._typing(place):
                counter = CommandContext(
                    self._own(place), await self._session(place), lambda: self._begin(place)
                )
                answer = await run_command(counter, *command)
            await self._say(place, answer, f"{self._adapter.platform}:{first.event}")
        elif first.kind == "unreadable":
            answer = _UNREADABLE.get(first.text, f"I can only read text, not this ({first.text or 'empty'}).")
            await self._say(place, answer, f"{self._adapter.platform}:{first.event}")
            await self._settle(place, [first])
        else:
            await self._turn(place, list(takewhile(_is_plain, messages)))

    async def _turn(self, place: str, messages: Sequence[IncomingMessage]) -> None:
        session = await self._session(place) or await self._begin(place)
        turn_messages: list[tuple[str, Message]] = [
            (
                f"{self._adapter.platform}:{message.event}",
                {"role": "user", "content": text_for_model(message)},
            )
            for message in messages
        ]
        stored = 0

        def on_stored(count: int) -> None:
            nonlocal stored
            stored = count

        async with self._typing(place):
            try:
                exchange, count = await self._own(place).send_all(session, turn_messages, on_stored=on_stored)
            except PlimsollError as error:
                if not stored:
                    raise
                # The log has the messages and the failure; the next message is answered together with them.
                _log.warning("No answer in %s: %s", place, error)
                notice = f"I could not answer: {error.public} Send a message and I will try again."
                await self._say(place, notice, turn_messages[stored - 1][0])
                await self._settle(place, messages[:stored])
                return
            await self._say(place, answer_text(exchange), f"{exchange.session}:{exchange.last}")
        await self._settle(place, messages[:count])
        self._notices.pop(place, None)

    async def _settle(self, place: str, messages: Sequence[IncomingMessage]) -> None:
        await self._inbox.settle(messages)
        self._known -= {(message.place, message.event) for message in messages}
        self._waiting[place] = [item for item in self._waiting[place] if item not in messages]
        if not self._waiting[place]:
            del self._waiting[place]

    @property
    def _inbox(self) -> Inbox:
        return self._inbox_of(self._adapter.account)

    def _own(self, place: str) -> OwnerSessions:
        """The sessions of a room. Each room is a separate owner and cannot see other rooms' sessions."""
        return self._sessions.for_owner(room_owner(self._adapter.account, place))

    async def _session(self, place: str) -> str:
        """The session of a room; empty if it has none or it was deleted."""
        id = (await self._inbox.room(place)).session
        if not id:
            return ""
        try:
            return (await self._own(place).session(id)).id
        except UnknownSession:
            return ""

    async def _begin(self, place: str) -> str:
        session = await self._own(place).create()
        await self._inbox.update_room(place, session=session.id)
        return session.id

    async def _say(self, place: str, text: str, name: str) -> None:
        """Send a text in parts, skipping those sent before; `name` is the text's permanent name."""
        of, _, count = (await self._inbox.room(place)).sent.rpartition(":")
        done = int(count) if of == name else 0
        for number, part in enumerate(split(text, self._adapter.max_size, self._adapter.size)):
            if number < done:
                continue
            try:
                await self._with_retries(partial(self._adapter.send, place, part, f"{name}:{number}"))
            except PlatformRefused as error:
                _log.error("An answer cannot be sent to %s: %s", place, error)
                return
            await self._inbox.update_room(place, sent=f"{name}:{number + 1}")

    async def _with_retries(self, work: Callable[[], Awaitable[None]]) -> None:
        """Retry until the platform accepts it."""
        pause = self._pause
        while True:
            try:
                return await work()
            except PlatformRefused:
                raise
            except PlatformFailed as error:
                _log.warning("%s Trying again.", error)
                await asyncio.sleep(error.retry_after or pause)
                pause = min(pause * 2, LONGEST_PAUSE)

    async def _send_notice(self, place: str, error: PlimsollError) -> None:
        """Send once why there is no answer yet."""
        waiting = self._waiting.get(place)
        if not waiting or self._notices.get(place) == error.public or isinstance(error, PlatformFailed):
            return
        self._notices[place] = error.public
        notice = f"I cannot answer yet: {error.public} Your messages are kept, and I keep trying."
        key = f"excuse:{waiting[0].event}:{crc32(notice.encode('utf-8', 'replace'))}"
        with suppress(PlatformFailed):
            await self._adapter.send(place, split(notice, self._adapter.max_size, self._adapter.size)[0], key)

    @asynccontextmanager
    async def _typing(self, place: str) -> AsyncIterator[None]:
        showing = asyncio.create_task(self._show_typing(place))
        try:
            yield
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)
            with suppress(PlatformFailed):
                await self._adapter.typing(place, False)

    async def _show_typing(self, place: str) -> None:
        while True:
            with suppress(PlatformFailed):
                await self._adapter.typing(place, True)
            await asyncio.sleep(self._adapter.typing_seconds)


def _is_plain(message: IncomingMessage) -> bool:
    return message.kind == "text" and command_in(message) is None


def text_for_model(message: IncomingMessage) -> str:
    """What the model reads; in a room with several users, also who said it."""
    return f"{message.speaker}: {message.text}" if message.speaker else message.text


def answer_text(exchange: Exchange) -> str:
    """An answer as text for a chat."""
    text = text_of(exchange.answer).strip()
    for mark, sentence in ((INTERRUPTED, _STOPPED), (PROCESS_ENDED, _STOPPED), (UNANSWERED, _FAILED)):
        if text.endswith(mark):
            text = f"{text.removesuffix(mark).rstrip()}\n\n{sentence}"
    return text.strip() or _SILENT
