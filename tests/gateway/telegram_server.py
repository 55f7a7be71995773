"""A stand-in for Telegram's Bot API on loopback, for tests, with the real one's rules.

    POST /bot<token>/<method>   JSON in, {"ok": true, "result": …} or {"ok": false, "error_code": …, "description": …}

Updates are kept until a request names a higher offset; at most 100 are given at once; of two who ask at the same
time the first is sent away; texts have 1 to 4096 UTF-16 units; who has blocked the bot or never wrote to it gets
nothing; what was said to the bot is numbered together with what it says. Nothing else is answered.
"""

import asyncio
import json
import socket
import threading
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

TOKEN = "7007:AAE-only-for-tests-2f9c4b7d1e8a6305"
BOT = {"id": 7007, "is_bot": True, "first_name": "Plimsoll", "username": "plimsoll_bot"}
ADA = {"id": 41, "is_bot": False, "first_name": "Ada", "username": "ada"}
BOB = {"id": 42, "is_bot": False, "first_name": "Bob"}


class Refusal(Exception):
    """An error answer."""

    def __init__(self, code: int, description: str, **parameters: Any) -> None:
        super().__init__(description)
        self.code = code
        self.body: dict[str, Any] = {"ok": False, "error_code": code, "description": description}
        if parameters:
            self.body["parameters"] = parameters


@dataclass
class Chat:
    id: int
    type: str = "private"
    numbers: int = 0
    blocked: bool = False


@dataclass
class TelegramServer:
    """`with TelegramServer() as telegram: telegram.say(ADA, "hello")`."""

    chats: dict[int, Chat] = field(default_factory=dict)
    updates: list[dict[str, Any]] = field(default_factory=list)
    sent: list[dict[str, Any]] = field(default_factory=list)  # what the bot said
    actions: list[tuple[int, str]] = field(default_factory=list)
    offsets: list[int | None] = field(default_factory=list)
    faults: list[Refusal] = field(default_factory=list)  # for the next messages that the bot sends
    polling: int = 0  # requests for updates so far; a new one ends the one before
    _last: int = 900

    def __enter__(self) -> "TelegramServer":
        self._socket = socket.create_server(("127.0.0.1", 0))
        app = Starlette(routes=[Route("/{bot}/{method}", self._answer, methods=["GET", "POST"])])
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._server.serve(sockets=[self._socket])), daemon=True
        )
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    @property
    def said(self) -> list[str]:
        return [message["text"] for message in self.sent]

    def say(self, who: dict[str, Any], text: str, chat: int | None = None, **more: Any) -> None:
        """Somebody writes: to the bot alone, or in a group."""
        self.post(who, {"text": text, **more}, chat)

    def post(self, who: dict[str, Any], content: dict[str, Any], chat: int | None = None) -> None:
        place = chat if chat is not None else who["id"]
        known = self.chats.setdefault(place, Chat(place, "private" if chat is None else "supergroup"))
        known.numbers += 1
        message = {
            "message_id": known.numbers,
            "from": who,
            "chat": {"id": place, "type": known.type},
            "date": int(time.time()),
            **content,
        }
        self._update("message", message)

    def edit(self, who: dict[str, Any], number: int, text: str) -> None:
        chat = {"id": who["id"], "type": "private"}
        self._update("edited_message", {"message_id": number, "from": who, "chat": chat, "text": text})

    def _update(self, kind: str, message: dict[str, Any]) -> None:
        self._last += 1
        self.updates.append({"update_id": self._last, kind: message})

    def restart_numbers(self, last: int) -> None:
        """A week without updates has passed."""
        self._last = last

    async def _answer(self, request: Request) -> JSONResponse:
        try:
            token = request.path_params["bot"].removeprefix("bot")
            if not token.partition(":")[0].isdigit() or ":" not in token:
                raise Refusal(404, "Not Found")
            if token != TOKEN:
                raise Refusal(401, "Unauthorized")
            body = await request.body()
            asked = json.loads(body) if body else dict(request.query_params)
            work = {
                "getMe": self._get_me, "getUpdates": self._get_updates, "sendMessage": self._send_message,
                "sendChatAction": self._send_action,
            }.get(request.path_params["method"])  # fmt: skip
            if work is None:
                raise Refusal(404, "Not Found: method not found")
            return JSONResponse({"ok": True, "result": await work(asked)})
        except Refusal as refusal:
            return JSONResponse(refusal.body, refusal.code)

    async def _get_me(self, _asked: dict[str, Any]) -> dict[str, Any]:
        return BOT

    async def _get_updates(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        self.polling += 1
        mine, wanted = self.polling, asked.get("allowed_updates") or None
        offset = asked.get("offset")
        self.offsets.append(offset)
        if offset is not None:
            self.updates = [one for one in self.updates if one["update_id"] >= offset]
        ends = time.monotonic() + int(asked.get("timeout", 0))
        while True:
            found = [one for one in self.updates if wanted is None or any(kind in one for kind in wanted)]
            if found or time.monotonic() >= ends or self._server.should_exit:
                return found[: max(1, min(100, int(asked.get("limit", 100))))]
            await asyncio.sleep(0.01)
            if mine != self.polling:
                raise Refusal(
                    409,
                    "Conflict: terminated by other getUpdates request; make sure that only one bot instance runs",
                )

    async def _send_message(self, asked: dict[str, Any]) -> dict[str, Any]:
        chat, text = self._chat(asked), str(asked.get("text", ""))
        if self.faults:
            raise self.faults.pop(0)
        if not text.strip():
            raise Refusal(400, "Bad Request: message text is empty")
        if len(text.encode("utf-16-le")) // 2 > 4096:
            raise Refusal(400, "Bad Request: message is too long")
        chat.numbers += 1
        message = {
            "message_id": chat.numbers,
            "from": BOT,
            "chat": {"id": chat.id, "type": chat.type},
            "text": text,
        }
        self.sent.append(message)
        return message

    async def _send_action(self, asked: dict[str, Any]) -> bool:
        self.actions.append((self._chat(asked).id, str(asked.get("action"))))
        return True

    def _chat(self, asked: dict[str, Any]) -> Chat:
        chat = self.chats.get(int(asked.get("chat_id", 0)))
        if chat is None:
            raise Refusal(400, "Bad Request: chat not found")
        if chat.blocked:
            raise Refusal(403, "Forbidden: bot was blocked by the user")
        return chat
