"""Matrix: an account on a homeserver, read with /sync.

    sync(since) ─┬─ invitations ─► joined, if the inviting user is allowed
                 └─ rooms ─► timeline ─┐
                    limited: /messages ┴─► messages       messages missed during a long absence, page by page

A joined room is answered from the invitation on. Edits, notices and the bot's own messages are not answered.
Encrypted rooms cannot be read; users who write in one get a message that says so.
"""

import json
import logging
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, ClassVar

import aiohttp
from nio import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
    AsyncClient,
    AsyncClientConfig,
    ErrorResponse,
    MessageDirection,
)

from plimsoll.archive.inbox import IncomingMessage
from plimsoll.errors import PlatformFailed, PlatformRefused
from plimsoll.gateway.messaging.adapter import Adapter, AllowList, Batch, plain
from plimsoll.messages.printable import one_line
from plimsoll.secrets import masked

_PAGE = 100  # events per request
_TYPING_MS = 30_000
_FILTER = {
    "presence": {"not_types": ["*"]},
    "account_data": {"not_types": ["*"]},
    "room": {
        "timeline": {"limit": _PAGE},
        "ephemeral": {"not_types": ["*"]},
        "account_data": {"not_types": ["*"]},
        "state": {"lazy_load_members": True},
    },
}
_REFUSED = frozenset({
    "M_BAD_JSON", "M_BAD_STATE", "M_FORBIDDEN", "M_INVALID_PARAM", "M_MISSING_TOKEN", "M_NOT_FOUND", "M_TOO_LARGE",
    "M_UNKNOWN_TOKEN", "M_USER_DEACTIVATED",
})  # fmt: skip
_READABLE = frozenset({"m.text", "m.emote"})
_log = logging.getLogger(__name__)


class MatrixAdapter(Adapter):
    """One account. `wait` is the long-polling timeout in seconds."""

    platform: ClassVar[str] = "matrix"
    max_size: ClassVar[int] = 40_000  # bytes of JSON; the whole event may have 65 536
    typing_seconds: ClassVar[float] = 20.0

    def __init__(self, homeserver: str, token: str, allowed: AllowList, *, wait: int = 25) -> None:
        self._server, self._token, self._allowed, self._wait = homeserver.rstrip("/"), token, allowed, wait
        self._client: Any = None  # nio has no types
        self._user = ""

    async def connect(self) -> None:
        if self._client is None:
            # The caller waits and retries, because it has other messages to process meanwhile.
            config = AsyncClientConfig(max_limit_exceeded=0, max_timeouts=0, encryption_enabled=False)
            self._client = AsyncClient(self._server, config=config)
            self._client.access_token = self._token
        me = await self._asked(self._client.whoami())
        self._user = self._client.user_id = me.user_id
        self.account = f"matrix:{me.user_id}"

    async def receive(self, position: str, wait: bool) -> Batch:
        milliseconds = self._wait * 1000 if wait and position else 0
        answer = await self._asked(
            self._client.sync(timeout=milliseconds, since=position or None, sync_filter=_FILTER)
        )
        for room, invited in answer.rooms.invite.items():
            await self._accept(room, invited.invite_state)
        messages: list[IncomingMessage] = []
        if position:
            for room, found in answer.rooms.join.items():
                try:
                    messages += await self._incoming_messages(room, found.timeline, position)
                except PlatformRefused as error:  # the account was removed from the room meanwhile
                    _log.warning("%s cannot be read: %s", room, error)
        return Batch(messages, answer.next_batch)

    async def send(self, place: str, text: str, key: str) -> None:
        content = {"msgtype": "m.text", "body": text}
        await self._asked(self._client.room_send(place, "m.room.message", content, tx_id=key))

    async def typing(self, place: str, on: bool) -> None:
        await self._asked(self._client.room_typing(place, on, timeout=_TYPING_MS))

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    @staticmethod
    def size(text: str) -> int:
        return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace"))

    async def _accept(self, room: str, state: Sequence[Any]) -> None:
        by = next((event.sender for event in state if _membership(event, self._user) == "invite"), "")
        if not self._allowed.allows(room, by):
            _log.info("An invitation by %s to %s was ignored: gateway.matrix.allowed_users", by, room)
            return
        try:
            await self._asked(self._client.join(room))
        except PlatformFailed as error:
            if error.retry_after is not None:
                raise
            # Withdrawn meanwhile, or the room is gone; one invitation must not block all other rooms.
            _log.warning("The invitation to %s cannot be accepted, it must be sent again: %s", room, error)

    async def _incoming_messages(self, room: str, timeline: Any, since: str) -> list[IncomingMessage]:
        events = list(timeline.events)
        if timeline.limited and timeline.prev_batch:
            events = [*await self._older(room, timeline.prev_batch, since), *events]
        entered = max((place for place, event in enumerate(events) if self._entered(event)), default=-1)
        wanted = [event.source for event in events[entered + 1 :] if self._is_wanted(room, event.source)]
        if not wanted:
            return []
        members = (await self._asked(self._client.joined_members(room))).members
        names = {member.user_id: member.display_name or member.user_id for member in members}
        return [_incoming_message(room, event, names) for event in wanted]

    async def _older(self, room: str, start: str, since: str) -> list[Any]:
        """The events between a position and the start of a timeline, oldest first."""
        found: list[Any] = []
        while start:
            page = await self._asked(
                self._client.room_messages(room, start, since, direction=MessageDirection.back, limit=_PAGE)
            )
            found += page.chunk
            # Some homeservers always name another page; an empty one is the last.
            start = page.end if page.chunk and not any(map(self._entered, found)) else ""
        return found[::-1]

    def _entered(self, event: Any) -> bool:
        """Whether the account was invited here, or joined without an invitation."""
        membership = _membership(event, self._user)
        before = getattr(event, "prev_membership", None)
        return membership == "invite" or (membership == "join" and before not in ("invite", "join"))

    def _is_wanted(self, room: str, event: Mapping[str, Any]) -> bool:
        sender, content = event.get("sender", ""), event.get("content") or {}
        if sender == self._user or not self._allowed.allows(room, sender) or "event_id" not in event:
            return False
        if event.get("type") == "m.room.encrypted":
            return True
        is_edit = (content.get("m.relates_to") or {}).get("rel_type") == "m.replace"
        says = event.get("type") == "m.room.message" and content.get("msgtype") not in (None, "m.notice")
        return says and not is_edit

    async def _asked(self, request: Awaitable[Any]) -> Any:
        try:
            answer = await request
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            text = one_line(masked(str(error), [self._token])) or type(error).__name__
            raise PlatformFailed(f"Matrix cannot be reached at {self._server}: {text}") from None
        if not isinstance(answer, ErrorResponse):
            return answer
        code, text = str(answer.status_code or ""), one_line(masked(str(answer.message), [self._token]))
        if code in ("M_UNKNOWN_TOKEN", "M_MISSING_TOKEN"):
            raise PlatformRefused(
                f"Matrix rejected the access token ({text}). Set the variable that gateway.matrix.token names to "
                "an access token of it."
            )
        wait = answer.retry_after_ms / 1000 if answer.retry_after_ms else None
        kind = PlatformRefused if code in _REFUSED else PlatformFailed
        raise kind(f"Matrix rejected a request: {text} ({code or 'no code'}).", retry_after=wait)


def _membership(event: Any, user: str) -> str:
    """The user's membership after an event; empty if the event is about something else."""
    return str(getattr(event, "membership", "")) if getattr(event, "state_key", "") == user else ""


def _incoming_message(room: str, event: Mapping[str, Any], names: Mapping[str, str]) -> IncomingMessage:
    content, sender, id = event.get("content") or {}, str(event["sender"]), str(event["event_id"])
    kind = content.get("msgtype")
    body = plain(str(content.get("body") or "")).strip()
    if kind not in _READABLE or not body:
        media = "encrypted" if event.get("type") == "m.room.encrypted" else str(kind or "").removeprefix("m.")
        return IncomingMessage(room, id, sender, media, "unreadable")
    text = f"* {body}" if kind == "m.emote" else body
    # With three or more members in a room, the model must know who speaks.
    speaker = plain(names.get(sender, sender)) if len(names) > 2 else ""
    return IncomingMessage(room, id, sender, text, speaker=speaker)


ADAPTER = MatrixAdapter
