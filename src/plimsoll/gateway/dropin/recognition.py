"""Recognises the conversation that a request belongs to.

    hashes of its messages ─► known to this process ─► the same conversation, or a branch of it
                                    └─► unknown ─► the archive ─► a new one

A request that shares the start of a conversation and continues differently is a branch.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from plimsoll.errors import InvalidConversation, PlimsollError
from plimsoll.gateway.dropin.analysis import frame_key, frame_of
from plimsoll.gateway.dropin.chain import chain_of, root_for
from plimsoll.gateway.dropin.client_conversation import ClientConversation
from plimsoll.gateway.dropin.client_request import ClientRequest, Frame
from plimsoll.gateway.dropin.conversation_store import ConversationStore
from plimsoll.gateway.dropin.known_conversations import KnownConversations
from plimsoll.gateway.dropin.upstream_request import UpstreamRequest
from plimsoll.gateway.dropin.windows import Windows
from plimsoll.models import UsageAnchor

log = logging.getLogger(__name__)
_FRAMES = 512  # cached sizes of system prompts with their tools


class Recognizer:
    """Finds conversations in memory and in the archive."""

    def __init__(self, known: KnownConversations, store: ConversationStore, windows: Windows) -> None:
        self._known, self._store, self._windows = known, store, windows
        self._frames: dict[bytes, Frame] = {}

    @asynccontextmanager
    async def recognised(self, out: UpstreamRequest) -> AsyncIterator[ClientConversation | None]:
        """The conversation of a request, with exactly its messages; locked against other requests.

        None if the messages are not a conversation: the upstream rejects them with its own error.
        """
        request = out.client_request
        try:
            chain, messages = chain_for(request), request.messages
        except InvalidConversation:
            yield None
            return
        while True:
            found = self._known.find(chain)
            if found is None:
                ratio = self._windows.ratio(request.owner, out.endpoint, out.model)
                anchor = UsageAnchor(ratio=ratio)
                conversation = ClientConversation(request.dialect, request.lead, request.owner, anchor=anchor)
            else:
                known, place = found
                conversation = known if place == len(known.chain) else known.fork(place)
            length = len(conversation.chain)
            async with conversation.lock:
                if len(conversation.chain) != length:
                    continue  # another request continued it meanwhile
                try:
                    conversation.extend(messages, chain, request.analysis)
                except InvalidConversation:
                    yield None
                    return
                self._known.keep(conversation, conversation.kept_bytes(len(request.raw)))
                self._attach(out, conversation)
                yield conversation
                return

    def peek(self, out: UpstreamRequest) -> None:
        """Find the conversation of a request that is only counted. Remembers nothing."""
        request, chain = out.client_request, chain_for(out.client_request)
        found = self._known.find(chain)
        conversation = (
            found[0].fork(found[1])
            if found
            else ClientConversation(request.dialect, request.lead, request.owner)
        )
        conversation.extend(request.messages, chain, request.analysis)
        self._attach(out, conversation)
        out.set_view(conversation)

    async def update_from_archive(self, conversation: ClientConversation, model: str) -> None:
        """Update a conversation from the archive. If the archive fails, it stays as it is."""
        try:
            await self._store.update_from_archive(conversation, model)
        except PlimsollError as error:
            log.warning("a conversation was not looked up: %s", error)

    def _attach(self, out: UpstreamRequest, conversation: ClientConversation) -> None:
        out.conversation, out.frame = conversation, self._frame(out.client_request)
        conversation.set_tools(out.frame.tools, out.client_request.recalls)

    def _frame(self, request: ClientRequest) -> Frame:
        """The hash and size of system prompt and tools, cached because they stay the same across requests."""
        frame = request.analysis.frame if request.analysis else None
        if frame is None:
            key = frame_key(request.lead, request.tools)
            frame = self._frames.get(key) or frame_of(request.dialect, request.lead, request.tools)
        if frame.key not in self._frames:
            while len(self._frames) >= _FRAMES:
                del self._frames[next(iter(self._frames))]
            self._frames[frame.key] = frame
        return frame


def chain_for(request: ClientRequest) -> list[bytes]:
    """The hashes of a request's messages. Raises `InvalidConversation` if they are not messages."""
    if request.analysis is None:
        return chain_of(
            root_for(request.named, request.dialect), map(request.dialect.unmarked, request.messages)
        )
    if request.analysis.fault:
        raise InvalidConversation(request.analysis.fault)
    return request.analysis.chain
