"""Removes old images and documents from a view: before a request that would exceed the provider's limits, and after
the provider has rejected one.

Bytes and images have separate limits: 34 MB of screenshots may be a small part of the window.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from plimsoll.agent.model_connection import ModelConnection
from plimsoll.archive import CompactionEvent
from plimsoll.context.media_budget import (
    ENGINE,
    TOO_LARGE,
    TRIGGER,
    after_rejection,
    inventory,
    within_limits,
)
from plimsoll.errors import PayloadTooLarge
from plimsoll.messages import Message

BYTES_PER_TOKEN = 6  # of tool schemas in JSON, approximately


def within_media_limits(view: Sequence[Message], connection: ModelConnection) -> list[Message] | None:
    """The view within the limits of the model's card; None if it already is, or nothing may be removed."""
    return within_limits(view, connection.card.media, connection.overhead() * BYTES_PER_TOKEN)


def without_rejected_media(
    view: Sequence[Message], connection: ModelConnection, error: PayloadTooLarge, is_repeated: bool
) -> list[Message] | None:
    """The view after the provider rejected it; None if nothing may be removed. The limit applies from now on."""
    size = inventory(view).bytes if error.status == TOO_LARGE else None
    limits = connection.card.media.lowered(request_bytes=size, images=error.images)
    connection.card = replace(connection.card, media=limits)
    return after_rejection(view, images=error.images, is_repeated=is_repeated)


def media_removed(
    view: list[Message], reduced: list[Message], tokens: Callable[[list[Message]], int]
) -> CompactionEvent:
    """The event of a removal."""
    return CompactionEvent(
        trigger=TRIGGER,
        engine=ENGINE,
        messages_before=len(view),
        messages_after=len(reduced),
        tokens_before=tokens(view),
        tokens_after=tokens(reduced),
    )
