"""Compacts the histories of a host's conversations, with the same rules and the same gate as the gateway.

    host ── history, system prompt, tools ──► codec ──► canonical ──► which conversation? due? compact
         ◄── messages to send ─────────────── codec ◄── view ◄───────────────┘

Between two compactions every view extends the previous one, and the same history gives the same view, so the
provider's cache still matches. The host keeps its history; a view is made for one request.

The work runs on one thread with an event loop, so synchronous and asynchronous hosts share the same code.
"""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Self, TypeVar

from plimsoll.dialects import dialect_named
from plimsoll.integrations.codec import H, HostGroup, MessageCodec
from plimsoll.integrations.context_tools import tool_definitions
from plimsoll.integrations.conversations import chain_of
from plimsoll.integrations.host_view import HostView, host_messages, sent_view
from plimsoll.integrations.options import AdapterOptions
from plimsoll.integrations.overflow import stated_limit
from plimsoll.integrations.serving import ServedView, ViewRequest, ViewServer
from plimsoll.integrations.tracked import TrackedConversation
from plimsoll.messages import SYSTEM_ROLES, Message
from plimsoll.models import estimate_tools_tokens
from plimsoll.providers.auxiliary.bridge import LoopThread

T = TypeVar("T")
_CURRENT: ContextVar[TrackedConversation | None] = ContextVar("plimsoll_conversation", default=None)


class HistoryCompactor:
    """Creates the views of a host's conversations. Any thread and any event loop may use it."""

    def __init__(
        self,
        options: AdapterOptions | None = None,
        *,
        clock: Callable[[], float] = time.time,
        **fields: Any,
    ) -> None:
        """Takes options, or their fields by name."""
        self.options = options or AdapterOptions(**fields)
        self._clock = clock
        self._process, self._server, self._loop = self._new_server()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the thread and close the archive."""
        self._loop.close()

    def _new_server(self) -> tuple[int, ViewServer, LoopThread]:
        """The conversations of this process, and the thread for them."""
        server = ViewServer(self.options, self._clock)
        loop = LoopThread(server.close, "plimsoll-integration", "the adapter was closed")
        loop.end_with(self)  # hosts that create an adapter for each conversation never close it
        return os.getpid(), server, loop

    def _start(self, work: Callable[[ViewServer], Coroutine[Any, Any, T]]) -> "Future[T]":
        """Start work on the thread.

        Servers load an application once and fork workers. Threads and connections do not survive that, so a worker
        starts over; the messages of its requests identify the conversations again.
        """
        if self._process != os.getpid():
            self._process, self._server, self._loop = self._new_server()
        return self._loop.start(work(self._server))

    @property
    def tool_definitions(self) -> list[dict[str, Any]]:
        """The tools for the agent, in OpenAI's function format."""
        return tool_definitions(self.options.recall)

    def view(self, codec: MessageCodec[H], messages: Sequence[H], **options: Any) -> HostView[H]:
        """The view of a history for the model. Blocks; the arguments are those of `view_async`."""
        groups, system_count, request = self._read(codec, messages, **options)
        served = self._start(lambda server: server.serve(request)).result()
        return self._written(codec, messages, groups, system_count, request, served)

    async def view_async(self, codec: MessageCodec[H], messages: Sequence[H], **options: Any) -> HostView[H]:
        """The view of a history for the model.

        Keyword arguments, all optional:

        - `system`: the system prompt in canonical form, if it is not among the messages.
        - `tools`: the request's tools, in OpenAI's function format. They are only counted.
        - `conversation`: the host's id of the conversation. Without it, the messages identify the conversation.
        - `model`: the model of this request; by default that of the options.
        - `window`: the window known to the host; that of the options takes precedence.
        - `reported`: the prompt tokens that the provider counted for the newest answered request.
        - `force`, `focus`: compact now, whatever the size, with this topic in focus.
        - `compact`: the focus of the agent's `compact_context` call, if the messages do not contain the call.
        - `limit`: the window that the provider stated in a refusal; it applies to the rest of the conversation.
        """
        groups, system_count, request = self._read(codec, messages, **options)
        served = await asyncio.wrap_future(self._start(lambda server: server.serve(request)))
        return self._written(codec, messages, groups, system_count, request, served)

    def view_after_overflow(
        self, error: Exception, codec: MessageCodec[H], messages: Sequence[H], **options: Any
    ) -> HostView[H]:
        """The view to send after the provider refused a prompt as too long; re-raises other errors."""
        view = self.view(codec, messages, **options, force=True, limit=stated_limit(error))
        if not view.compacted:
            raise error
        return view

    async def view_after_overflow_async(
        self, error: Exception, codec: MessageCodec[H], messages: Sequence[H], **options: Any
    ) -> HostView[H]:
        """The same for asynchronous hosts."""
        view = await self.view_async(codec, messages, **options, force=True, limit=stated_limit(error))
        if not view.compacted:
            raise error
        return view

    def observe(self, view: HostView[H], prompt_tokens: int) -> None:
        """Record the provider's token count for the request with this view."""
        if view.conversation is not None and prompt_tokens > 0:
            # Without waiting: the loop processes it before the next request.
            conversation = view.conversation
            self._start(lambda server: server.observe(conversation, view.estimated, prompt_tokens))

    def replaced(self, codec: MessageCodec[H], view: HostView[H], conversation: str = "") -> None:
        """Record that the host's history is now the messages of this view. The conversation continues from there."""
        if view.conversation is not None and view.changed:
            _, _, request = self._read(codec, view.messages, conversation=conversation)
            conversation_before = view.conversation
            self._start(lambda server: server.replace(conversation_before, view.log_view, request)).result()

    def answer(self, name: str, arguments: Mapping[str, Any], log: Sequence[Message] | None = None) -> str:
        """The result of a context tool.

        Recall reads the conversation whose view this thread or task requested last, or `log` if given.
        """
        return self._start(lambda server: server.answer(name, arguments, log, _CURRENT.get())).result()

    async def answer_async(
        self, name: str, arguments: Mapping[str, Any], log: Sequence[Message] | None = None
    ) -> str:
        """The same for asynchronous hosts."""
        current = _CURRENT.get()
        return await asyncio.wrap_future(
            self._start(lambda server: server.answer(name, arguments, log, current))
        )

    def _read(
        self,
        codec: MessageCodec[H],
        messages: Sequence[H],
        *,
        system: Sequence[Message] = (),
        tools: Sequence[Mapping[str, Any]] = (),
        conversation: str = "",
        model: str = "",
        window: int | None = None,
        reported: int | None = None,
        force: bool = False,
        focus: str | None = None,
        limit: int | None = None,
        compact: str | None = None,
    ) -> tuple[list[HostGroup], int, ViewRequest]:
        """The request in canonical form, and how many of the host's messages are its system prompt."""
        plain = dialect_named("openai").canonical
        groups = [
            HostGroup(
                group.count, [item for n in range(len(group.messages)) for item in plain(group.messages, n)]
            )
            for group in codec.decode(messages)
        ]
        log = [message for group in groups for message in group.messages]
        system_count = next(
            (n for n, message in enumerate(log) if message.get("role") not in SYSTEM_ROLES), len(log)
        )
        name = model or self.options.model
        request = ViewRequest(
            lead=(*system, *log[:system_count]),
            log=log[system_count:],
            chain=chain_of(conversation, log[system_count:]),
            model=name,
            window=self.options.window or window or self.options.window_for(name),
            tools=estimate_tools_tokens([dict(tool) for tool in tools]),
            reported=reported,
            force=force,
            focus=focus,
            limit=limit,
            compact=compact,
        )
        return groups, system_count, request

    def _written(
        self,
        codec: MessageCodec[H],
        before: Sequence[H],
        groups: Sequence[HostGroup],
        system_count: int,
        request: ViewRequest,
        served: ServedView,
    ) -> HostView[H]:
        view = served.view
        _CURRENT.set(served.conversation)
        sent = sent_view(request.lead, served.kept, view, self.options.recall)
        return HostView(
            messages=list(before)
            if view is None
            else host_messages(codec, before, groups, system_count, sent),
            system=sent.lead[: len(sent.lead) - system_count],
            canonical=[*sent.lead, *(item.message for item in sent.kept)],
            changed=view is not None,
            tokens=served.tokens,
            event=served.event,
            report=served.report,
            conversation=served.conversation,
            log_view=view,
            estimated=served.estimated,
        )
