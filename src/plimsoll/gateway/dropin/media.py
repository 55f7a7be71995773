"""Keeps the images and documents of a client's requests within the limits of its upstream.

    before a request   the limits of the model's card, and those learned from the upstream in this conversation
    after a rejection  the limit that the upstream stated, or half of the bytes; once per request

Like a compaction, a removal creates a view: it is stored, and later requests start with it.
"""

import asyncio

from plimsoll.agent.media import BYTES_PER_TOKEN, media_removed
from plimsoll.context.media_budget import TOO_LARGE, after_rejection, within_limits
from plimsoll.errors import PayloadTooLarge
from plimsoll.gateway.dropin.client_conversation import ClientConversation
from plimsoll.gateway.dropin.compaction import ConversationCompactor
from plimsoll.gateway.dropin.upstream_request import UpstreamRequest
from plimsoll.gateway.dropin.windows import ModelFacts
from plimsoll.gateway.http.body import LARGE_BYTES
from plimsoll.messages import Message, media_of
from plimsoll.models import estimate_messages_tokens_rough

_MIN_BYTES = 100  # of an image in a request: its type, the keys around it, and some data
_NEAR_LIMIT = 0.8  # share of the byte limit: a request may grow when it is translated
_WORD = b"image"  # in every image in every wire format: its type, or its media type


def may_exceed_limits(raw: bytes, facts: ModelFacts) -> bool:
    """Whether a body may have more bytes or images than a provider accepts. Decodes nothing."""
    max_images, max_bytes = facts.card.media.images, facts.card.media.request_bytes
    if facts.rejects_media:
        return _WORD in raw
    if max_bytes is not None and len(raw) > max_bytes * _NEAR_LIMIT:
        return True
    return max_images is not None and len(raw) > max_images * _MIN_BYTES and raw.count(_WORD) > max_images


class MediaRemover:
    """Removes images and documents from what the model sees."""

    def __init__(self, compactor: ConversationCompactor) -> None:
        self._compactor = compactor

    async def fit(self, out: UpstreamRequest, conversation: ClientConversation) -> None:
        """Remove the oldest ones before a request that would exceed the limits."""
        view = conversation.view()
        if not self._compactor.is_enabled or not any(map(media_of, view)):
            return
        known = conversation.media_limits
        limits = out.facts.card.media.lowered(request_bytes=known.request_bytes, images=known.images)
        overhead = out.frame.tokens * BYTES_PER_TOKEN
        if len(out.client_request.raw) < LARGE_BYTES:
            reduced = within_limits(view, limits, overhead)
        else:
            reduced = await asyncio.to_thread(within_limits, view, limits, overhead)
        if reduced is not None:
            await self._show(out, conversation, view, reduced)

    async def recover(
        self, out: UpstreamRequest, conversation: ClientConversation, error: PayloadTooLarge
    ) -> bool:
        """Remove what the upstream rejected. Returns whether anything could be removed."""
        view = conversation.view()
        conversation.learn_media_limits(len(out.body) if error.status == TOO_LARGE else None, error.images)
        reduced = await asyncio.to_thread(after_rejection, view, images=error.images)
        return reduced is not None and await self._show(out, conversation, view, reduced)

    async def _show(
        self,
        out: UpstreamRequest,
        conversation: ClientConversation,
        view: list[Message],
        reduced: list[Message],
    ) -> bool:
        def tokens(messages: list[Message]) -> int:
            return conversation.anchor.predict(out.frame.tools + estimate_messages_tokens_rough(messages))

        event = media_removed(view, reduced, tokens)
        newer = conversation.view()[len(view) :]  # sent by the client meanwhile
        return await self._compactor.replace_media(
            conversation, [*reduced, *newer], event, out.facts, out.model
        )
