"""The chat session that is open in the terminal, and everything a user can do with it.

    text ──► a turn of the conversation ──► screen
    /word ─► a command (commands.py)

An error in a turn is shown as a message, and the chat continues.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import nullcontext
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

from plimsoll.archive import Archive, StoredMessage, UsageTotal, title_of
from plimsoll.assembly import (
    OpenConversation,
    card_of,
    is_embedded,
    open_auxiliary,
    open_conversation,
    open_model_connection,
)
from plimsoll.config import Settings
from plimsoll.errors import Conflict, PlimsollError, UserError
from plimsoll.messages import Message, Part, text_of, tool_calls
from plimsoll.messages.printable import plain
from plimsoll.providers import Resolution, ResolutionStep, fetch_model, resolve
from plimsoll.providers.auxiliary import resolve_auxiliary
from plimsoll.providers.local import can_serve, embedded_model, is_fetched
from plimsoll.terminal.chat.attachments import Attachments, mentioned, missing_files
from plimsoll.terminal.chat.screen import BAD, Screen
from plimsoll.terminal.chat.status_lines import Status, fitted, start_lines
from plimsoll.terminal.chat.tool_requests import WITHOUT_TOOLS, needs_tools
from plimsoll.tools import ApprovalAnswer, ApprovalQuestion, Approve, EditPermission
from plimsoll.transcripts import counted

EARLIER_SHOWN = 6  # messages of a resumed session
STARTING = "Starting the embedded model."
STOPPED_TURN = "stopped; what was shown is kept, and the model knows that you stopped it"
_PAGE = 200  # messages per read
SMALL_MODEL = (
    "This is a very small model without tools. To use a large one, set an API key such as OPENROUTER_API_KEY or "
    "ANTHROPIC_API_KEY."
)
Content: TypeAlias = str | list[Part]


class ChatSession:
    """One user at one terminal; `opened` is the current session."""

    opened: OpenConversation

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        home: Path,
        archive: Archive,
        screen: Screen,
        approve: Approve | None = None,
    ) -> None:
        self.settings, self.environ, self.home = settings, environ, home
        self.archive, self.screen, self.approve = archive, screen, approve
        self.total = UsageTotal()
        self.draft = ""  # text of the next prompt
        self.attachments = Attachments()
        self.edits = EditPermission(settings.tools.edits)
        if approve is None and self.edits.mode == "ask":  # no user can be asked
            self.edits.mode = "accept"
        self.on_leaving: list[Callable[[], Awaitable[None]]] = []  # called at the end of the chat
        self.is_unsent = False  # whether the last message is not in the conversation
        self.place = Path.cwd()  # working directory of tools, mentions and exports
        self._task: asyncio.Task[Any] | None = None

    async def open(self, session: str | None = None, *, quiet: bool = False) -> None:
        """Open the session with this id, or a new one; shows the start-up lines unless `quiet`."""
        resolution = await self._resolve(self.settings)
        if session:
            resolution = await self._as_before(session, resolution)
        if await self._fetch(resolution):
            resolution = await self._resolve(self.settings)  # which now says that it is installed
        is_small = is_embedded(resolution.endpoint, self.home)
        with self.screen.busy(STARTING) if is_small and not quiet else nullcontext():
            self.opened = await self._opened(resolution, session)
        agent = self.opened.conversation.agent
        agent.tool_context = replace(agent.tool_context, edits=self.edits, on_output=self.screen.progress)
        self.total = await self.archive.usage_total(self.id)
        if not quiet:
            for line in start_lines(self.opened, is_new=session is None):
                self.screen.note(line, "")
            self.opened.conversation.agent.emit_notices(self.screen.emit)
            for notice in self.opened.notices:
                self.screen.note(f"note: {notice}", "yellow")
            if is_small:
                self.screen.note(SMALL_MODEL)
        if session and not quiet:
            await self._show_earlier()

    async def _opened(self, resolution: Resolution, session: str | None) -> OpenConversation:
        prompt = files("plimsoll.terminal.chat").joinpath("system_prompt.md").read_text("utf-8")
        return await open_conversation(
            self.settings,
            self.environ,
            self.home,
            archive=self.archive,
            resolution=resolution,
            place=self.place,
            holder=uuid4().hex,
            system_prompt=prompt,
            session=session,
        )

    async def close(self, *, for_new: bool = False, keep: bool = False) -> None:
        """Close the session, `for_new` if another replaces it; deletes an empty one unless `keep`."""
        is_empty = not await self.has_messages()
        if (is_empty and not keep) or for_new:
            await self.opened.conversation.end(reset=for_new)
        await self.opened.close()
        if is_empty and not keep:
            await self.archive.delete(self.id)

    async def leave(self) -> None:
        """Leave the chat."""
        await self.close()
        for end in self.on_leaving:
            await end()

    async def reopen(self, session: str | None, *, quiet: bool = False) -> None:
        """Continue in another session, or reload this one after another process changed it; on failure, go back."""
        is_same = session == self.id
        before = self.id if is_same or await self.has_messages() else None
        await self.close(for_new=session is None, keep=is_same)
        try:
            await self.open(session, quiet=quiet)
        except PlimsollError:
            await self.open(before, quiet=True)
            raise

    async def has_messages(self) -> bool:
        """Whether the session has messages from the user."""
        return (await self.archive.session(self.id)).messages > 1

    async def last_request(self) -> StoredMessage | None:
        """The user's newest message."""
        return await self.newest_message(lambda message: message.get("role") == "user")

    async def newest_message(self, fits: Callable[[Message], bool]) -> StoredMessage | None:
        """The newest message of the whole conversation that matches."""
        last = (await self.archive.session(self.id)).messages
        while last > 0:
            first = max(1, last - _PAGE + 1)
            page = await self.archive.messages(self.id, first, last)
            found = next((stored for stored in reversed(page) if fits(stored.message)), None)
            if found is not None:
                return found
            last = first - 1
        return None

    @property
    def id(self) -> str:
        """The id of the open session."""
        return self.opened.conversation.session.id

    @property
    def status(self) -> Status:
        """The values of the status line."""
        agent = self.opened.conversation.agent
        window = agent.compactor.engine.context_length
        return Status(
            agent.connection.card.name,
            agent.connection.tokens(agent.view),
            window,
            self.total,
            self.edits.mode,
        )

    def names_file(self, text: str) -> bool:
        """Whether a line that starts with a slash starts with the path of a file."""
        return "/" in text[1:].split()[0] if text[1:].split() else False

    async def content_of(self, line: str) -> Content:
        """A line of the user with its files, images and outputs; names the attached files on the screen."""
        context = self.opened.conversation.agent.tool_context
        content = await self.attachments.content(line, context)
        for path in mentioned(line, context.workplace.root):
            self.screen.note(f"attached {path.name}")
        for name in missing_files(line, context.workplace.root):
            self.screen.note(f"There is no file {plain(name)}, so nothing was attached for it.", "yellow")
        return content

    async def say(self, content: Content) -> bool:
        """Run one turn. Returns whether it finished."""
        message: Message = {"role": "user", "content": content}
        conversation = self.opened.conversation
        if not conversation.session.title:
            conversation.session = await self.archive.update_session(self.id, title=title_of([message]))
        if not len(conversation.agent.toolbox) and isinstance(content, str) and needs_tools(content):
            return await self.run(conversation.answer_without_model(message, WITHOUT_TOOLS, self.screen.emit))
        work = conversation.say(message, self.screen.emit, self._approver())
        return await self.run(work, stopped=STOPPED_TURN)

    async def run(
        self, work: Coroutine[Any, Any, Any], waiting: str = "thinking", stopped: str = "stopped"
    ) -> bool:
        """Run work that Ctrl-C stops, and show failures as messages. Returns whether it finished."""
        self.screen.on_escape = self.opened.conversation.agent.compactor.skip_summary
        self.screen.begin(waiting)
        message, self.is_unsent = "", False
        try:
            finished = await self._interruptible(work)
            message = "" if finished else stopped
            if not finished:
                self.screen.keep_typed()
        except Conflict as error:
            message = f"{error} The session was reloaded; send your message again."
            self.is_unsent = True
        except PlimsollError as error:
            message = str(error)
        finally:
            self.screen.end()
        if message:
            self.screen.note(message, BAD if message != stopped else "yellow")
        if self.is_unsent:
            await self.reopen(self.id, quiet=True)
        self.total = await self.archive.usage_total(self.id)
        return not message

    async def switch_model(self, name: str) -> None:
        """Continue with another model: at the configured address, or wherever it is served."""
        settings = self.settings.model
        changed: dict[str, Any] = {"name": name, "context_length": None}
        if settings.base_url is None:
            changed["provider"] = "auto"
        settings = settings.model_copy(update=changed)
        later = self.settings.model_copy(update={"model": settings})
        resolution = await self._resolve(later)
        await self._fetch(resolution)
        line = await open_model_connection(later, resolution, self.home, self.id)
        # The summary model may depend on the main model and reads its cache.
        own = later.for_model(name)
        summaries = await resolve_auxiliary(
            own.auxiliary.compression, own.model, self.environ, home=self.home
        )
        before, auxiliary = self.opened.auxiliary, open_auxiliary(own, summaries, self.home)
        line.on_reply = auxiliary.sent if auxiliary else None
        writer = summaries.candidates[0].endpoint.model if summaries.candidates else ""
        conversation = self.opened.conversation
        try:
            charged = auxiliary.charging(conversation.agent.compactor.account.add) if auxiliary else None
            await conversation.switch_model(line, self.screen.emit, (charged, writer), own.compression)
        finally:
            # A compaction for the smaller window may be stopped; the model is switched anyway.
            is_switched = conversation.agent.connection.client is line.client
            if is_switched:
                self.settings = later
                self.opened = replace(
                    self.opened, resolution=resolution, summaries=summaries, auxiliary=auxiliary
                )
            else:
                await line.client.aclose()
            unused = before if is_switched else auxiliary
            if unused is not None:
                await asyncio.to_thread(unused.close)

    async def ask(self, question: ApprovalQuestion, ask: Approve) -> ApprovalAnswer:
        """Ask the user about a call, with the turn's output paused."""
        with self.screen.paused():
            try:
                answer = await ask(question)
            except (KeyboardInterrupt, EOFError):
                if self._task:
                    self._task.cancel()
                answer = ApprovalAnswer(False, "the user stopped the turn")
        self.screen.asked_about = question.preview if answer.allowed else ""
        if not answer.allowed:
            self.screen.refuse(question.call_id)
        return answer

    def _approver(self) -> Approve | None:
        ask = self.approve
        if ask is None:
            return None
        return lambda question: self.ask(question, ask)

    async def _interruptible(self, work: Coroutine[Any, Any, Any]) -> bool:
        """Run the work as a task that SIGINT cancels. Returns whether it finished."""
        task = self._task = asyncio.ensure_future(work)
        loop, before = asyncio.get_running_loop(), signal.getsignal(signal.SIGINT)

        def stop() -> None:
            # Only once: a turn that is being stopped must finish its cleanup.
            if not task.cancelling():
                task.cancel()

        loop.add_signal_handler(signal.SIGINT, stop)
        try:
            await asyncio.wait({task})
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, before)
            self._task = None
        if task.cancelled():
            return False
        task.result()
        return True

    async def _resolve(self, settings: Settings) -> Resolution:
        return await resolve(settings.model, self.environ, home=self.home)

    async def _as_before(self, session: str, found: Resolution) -> Resolution:
        """The session's last model, if none is given; except the embedded model."""
        model = self.settings.model
        last = (await self.archive.session(session)).model
        is_named = model.name or model.base_url or model.provider != "auto"
        here = card_of(self.settings, found.endpoint, self.home).name
        if is_named or last in ("", here, embedded_model().name):
            return found
        wanted = model.model_copy(update={"name": last})
        try:
            again = await self._resolve(self.settings.model_copy(update={"model": wanted}))
        except UserError as error:
            self.screen.note(f"note: this session last used {last}, which is not available now: {error}")
            return found
        return Resolution(again.endpoint, (ResolutionStep(True, f"This session last used {last}."),))

    async def _fetch(self, resolution: Resolution) -> bool:
        """Download the embedded model if it is used and missing. Returns whether it was downloaded."""
        if not is_embedded(resolution.endpoint, self.home) or is_fetched(self.home) or not can_serve():
            return False
        with self.screen.busy(f"Downloading the embedded model ({embedded_model().download}, once)."):
            await fetch_model(self.home)
        return True

    async def _show_earlier(self) -> None:
        last = self.opened.conversation.session.messages
        for stored in await self.archive.messages(self.id, max(1, last - EARLIER_SHOWN + 1)):
            said = " ".join(text_of(stored.message).split())
            if stored.role == "assistant" and (calls := tool_calls(stored.message)):
                said = f"{said} [{counted(len(calls), 'tool call', 'tool calls')}]".strip()
            if stored.role != "system":
                line = f"{stored.sequence:>5} {stored.role:9} {said}"
                self.screen.note(fitted(line, max(40, self.screen.notices.width)))


def require(argument: str, usage: str) -> str:
    """The argument of a command; raises a `UserError` if it is missing."""
    if not argument:
        raise UserError(f"Missing argument: {usage}")
    return argument
