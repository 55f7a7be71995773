"""Telegram: a bot, over the Bot API with long polling.

    getUpdates(offset) ─► messages, and the next offset      Telegram deletes updates below the given offset
    getUpdates()       ─► what it has not deleted          after a restart; known messages are not stored again
    sendMessage · sendChatAction

The token is part of every URL, so no error and no httpx log line contains a URL.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar

import httpx

from plimsoll.archive.inbox import IncomingMessage
from plimsoll.errors import PlatformFailed, PlatformRefused
from plimsoll.gateway.messaging.adapter import Adapter, AllowList, Batch, plain
from plimsoll.messages.printable import one_line
from plimsoll.messages.untyped import object_of
from plimsoll.secrets import MASK, masked

_PAGE = 100  # maximum updates per request
_RESPONSE_SECONDS = 15.0  # seconds for a response in addition to the long-polling timeout
_REFUSED = (400, 401, 403, 404)
_UNREADABLE = (
    "animation", "audio", "contact", "document", "location", "photo", "poll", "sticker", "story", "video",
    "video_note", "voice",
)  # fmt: skip


class TelegramAdapter(Adapter):
    """One bot. `wait` is the long-polling timeout in seconds."""

    platform: ClassVar[str] = "telegram"
    max_size: ClassVar[int] = 4_096
    typing_seconds: ClassVar[float] = 4.0

    def __init__(self, base_url: str, token: str, allowed: AllowList, *, wait: int = 25) -> None:
        self._base, self._token, self._allowed, self._wait = base_url.rstrip("/"), token, allowed, wait
        self._client: httpx.AsyncClient | None = None
        self._mask = _Masking(token)
        # The position of the newest batch until Telegram has it. It is sent once: after a week without updates the
        # numbers restart, maybe lower, and an old position would delete new updates.
        self._stored = ""

    async def connect(self) -> None:
        if self._client is None:
            logging.getLogger("httpx").addFilter(self._mask)
            self._client = httpx.AsyncClient(timeout=_RESPONSE_SECONDS)
        me = await self._call("getMe")
        self.account = f"telegram:{me['id']}"

    async def receive(self, position: str, wait: bool) -> Batch:
        seconds = self._wait if wait else 0
        parameters = {"limit": _PAGE, "timeout": seconds, "allowed_updates": ["message"]}
        if position and position == self._stored:
            parameters["offset"] = int(position)
        updates = await self._call("getUpdates", parameters, seconds + _RESPONSE_SECONDS)
        found = (self._incoming_message(update.get("message") or {}) for update in updates)
        messages = [message for message in found if message is not None]
        following = str(updates[-1]["update_id"] + 1) if updates else position
        self._stored = following if updates else ""
        return Batch(messages, following)

    async def send(self, place: str, text: str, key: str) -> None:
        await self._call("sendMessage", {"chat_id": int(place), "text": text})

    async def typing(self, place: str, on: bool) -> None:
        if on:  # it cannot be switched off; it ends by itself
            await self._call("sendChatAction", {"chat_id": int(place), "action": "typing"})

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
            logging.getLogger("httpx").removeFilter(self._mask)

    @staticmethod
    def size(text: str) -> int:
        return len(text.encode("utf-16-le", "replace")) // 2

    def _incoming_message(self, message: Mapping[str, Any]) -> IncomingMessage | None:
        """An update as an incoming message; None if it is not to be answered."""
        sender, chat = message.get("from") or {}, message.get("chat") or {}
        if not sender or not chat or sender.get("is_bot"):
            return None
        place, id = str(chat["id"]), str(sender["id"])
        if not self._allowed.allows(place, id, f"@{sender.get('username', '')}"):
            return None
        return self._read(
            message, place, id, "" if chat.get("type") == "private" else sender.get("first_name") or id
        )

    def _read(
        self, message: Mapping[str, Any], place: str, id: str, speaker: object
    ) -> IncomingMessage | None:
        """The content of a message; None for joins, leaves and title changes."""
        event, text = str(message["message_id"]), message.get("text") or message.get("caption") or ""
        text = plain(str(text)).strip()
        media = next((name for name in _UNREADABLE if name in message), None)
        if not text:
            return IncomingMessage(place, event, id, media, "unreadable") if media else None
        text = f"{text}\n[with a {media}, which cannot be read here]" if media else text
        return IncomingMessage(place, event, id, text, speaker=plain(str(speaker)))

    async def _call(
        self, method: str, parameters: Mapping[str, Any] | None = None, seconds: float = _RESPONSE_SECONDS
    ) -> Any:
        if self._client is None:
            raise PlatformFailed("Telegram is not connected.")
        try:
            answer = await self._client.post(
                f"{self._base}/bot{self._token}/{method}", json=dict(parameters or {}), timeout=seconds
            )
            reply = answer.json()
        except httpx.HTTPError as error:
            reason = masked(str(error), [self._token]) or type(error).__name__
            raise PlatformFailed(f"Telegram cannot be reached at {self._base}: {one_line(reason)}") from None
        except ValueError:
            raise PlatformFailed(f"Telegram at {self._base} returned invalid JSON.") from None
        if isinstance(reply, dict) and reply.get("ok"):
            return reply.get("result")
        raise self._failure(method, answer.status_code, object_of(reply))

    def _failure(self, method: str, status: int, reply: Mapping[str, Any]) -> PlatformFailed:
        code = int(reply.get("error_code") or status)
        reason = one_line(masked(str(reply.get("description") or "no reason given"), [self._token]))
        if code in (401, 404) and method == "getMe":
            return PlatformRefused(
                f"Telegram rejected the token ({reason}). Set the variable that gateway.telegram.token names to "
                "the token of the bot."
            )
        if code == 409:
            return PlatformFailed(
                f"Another program reads this bot's messages ({reason}). Stop it, or remove its webhook."
            )
        kind = PlatformRefused if code in _REFUSED else PlatformFailed
        wait = None
        with suppress(TypeError, ValueError):
            wait = float((reply.get("parameters") or {})["retry_after"]) if code == 429 else None
        return kind(f"Telegram rejected {method}: {reason} ({code}).", retry_after=wait)


class _Masking(logging.Filter):
    """Masks the token in httpx's log lines."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = record.getMessage().replace(self._token, MASK), ()
        return True


ADAPTER = TelegramAdapter
