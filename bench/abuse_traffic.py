"""Ordinary clients of bench/abuse.py: several owners in conversations, and what they were told.

    owner ─┬─ OpenAI client       whole history every time ─► /v1/chat/completions
           ├─ Anthropic client    whole history every time ─► /v1/messages
           └─ session client      one message at a time    ─► /sessions/{id}/messages

Every text names its message and carries its owner's marker, so that anything that reaches another owner is recognised
wherever it turns up. Every request uses a connection of its own, so that all processes of the gateway take part.
"""

import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from plimsoll.agent.agent import PROCESS_ENDED
from plimsoll.dialects import ChatRequest
from plimsoll.messages import text_of
from plimsoll.testing.scripted_server import Fault, ScriptedAnswer, fault, say

MODEL = "claude-sonnet-4-5"
PATIENCE = 60.0  # seconds; an ordinary request that has no answer by then hangs
TURNS = 40  # of a conversation, before its client begins another
_WORDS = (
    "tide",
    "harbour",
    "ballast",
    "crane",
    "manifest",
    "pilot",
    "berth",
    "cargo",
    "signal",
    "lantern",
    "chart",
)
_MARK = re.compile(r"mark-[a-z]+-[0-9a-f]{8}")
_NAME = re.compile(r"[a-z]+-(?:openai|anthropic|session)-\d+-\d+")
# 409 a turn that was stopped, 429 too much at once, 503 the archive or no connection left, 504 too late.
_CLEAN = frozenset({409, 429, 503, 504})


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a key. `mark` stands in everything that is said in this owner's conversations."""

    name: str
    key: str
    mark: str


@dataclass(slots=True)
class Observed:
    """What clients and the model saw during the run; the verdict is found from it afterwards."""

    answered: Counter[str] = field(default_factory=Counter)  # by kind of client
    refused: Counter[str] = field(default_factory=Counter)  # by status
    severed: int = 0  # connections that a kill broke
    broken: list[str] = field(default_factory=list)  # ordinary requests without a clean end
    mixed: list[str] = field(default_factory=list)  # a marker where it does not belong
    waits: list[float] = field(default_factory=list)
    kills: list[tuple[float, float]] = field(default_factory=list)  # when each began and was done
    accepted: dict[str, tuple[str, str, int]] = field(default_factory=dict)  # name -> owner, session, number
    replies: dict[str, str] = field(default_factory=dict)  # name -> text of a session's answer
    sent: dict[str, frozenset[str]] = field(default_factory=dict)  # name -> names that the model saw with it
    left_out: dict[str, set[str]] = field(default_factory=dict)  # owner -> names that only the archive has
    compacted: int = 0  # answers to a compacted view
    abuse: Counter[str] = field(default_factory=Counter)  # abusive requests by outcome
    mishandled: list[str] = field(default_factory=list)  # abusive requests that ended in a 500 or a hang

    def was_severed(self, began: float, ended: float) -> bool:
        """Whether a process was killed while a request was under way."""
        return any(began <= done + 0.5 and start - 0.5 <= ended for start, done in self.kills)


def model(observed: Observed, request: ChatRequest) -> ScriptedAnswer | Fault:
    """Answer with the name and marker of the newest message, and note what the request contains."""
    texts = [text_of(message) for message in request.messages]
    marks = set(_MARK.findall("\n".join(texts)))
    if len(marks) > 1:
        observed.mixed.append(f"one request to the model has the markers {sorted(marks)}")
    newest = _NAME.match(texts[-1])
    if newest is None:
        return say("## Goal\nKeep the harbour running.")
    names = (_NAME.match(text) for text in texts)
    observed.sent[newest[0]] = frozenset(name[0] for name in names if name)
    mark = next(iter(_MARK.findall(texts[-1])), "")
    answer = say(f"Answer to {newest[0]} [{mark}]. {filler(newest[0], 40)}")
    return fault("slow", seconds=0.05, between=0.005, then=answer)


def filler(name: str, words: int) -> str:
    """Words that are the same for the same message."""
    return " ".join(random.Random(name).choices(_WORDS, k=words))


def said(owner: Owner, name: str) -> str:
    """What a client says."""
    return f"{name} [{owner.mark}]: {filler(name, 150)}"


class Refusal(Exception):
    """The gateway refused an ordinary request cleanly."""


class Broken(Exception):
    """An ordinary request ended in a way that no client understands."""


class Client:
    """One ordinary client: sends its next message when the last was answered, and repeats what was refused."""

    def __init__(self, kind: str, owner: Owner, url: str, observed: Observed) -> None:
        self.kind, self.owner, self._observed = kind, owner, observed
        self._random = random.Random(f"{owner.name} {kind}")
        self._http = httpx.AsyncClient(
            base_url=url,
            timeout=httpx.Timeout(None),
            limits=httpx.Limits(max_keepalive_connections=0),
            headers={"authorization": f"Bearer {owner.key}"},
        )
        self._history: list[dict[str, Any]] = []
        self._session = ""

    async def run(self, until: float) -> None:
        """Converse until the time is over."""
        async with self._http:
            number = 0
            while time.monotonic() < until:
                conversation, turn = divmod(number, TURNS)
                name = f"{self.owner.name}-{self.kind}-{conversation}-{turn}"
                if turn == 0:
                    self._history, self._session = [], ""
                while time.monotonic() < until and not await self._attempt(name):
                    await asyncio.sleep(self._random.uniform(0.2, 0.6))
                number += 1
                await asyncio.sleep(self._random.uniform(0.1, 0.7))

    async def _attempt(self, name: str) -> bool:
        """Send one message; whether it was answered."""
        observed, began = self._observed, time.monotonic()
        try:
            async with asyncio.timeout(PATIENCE):
                await (self._say(name) if self.kind == "session" else self._ask(name))
        except Refusal as refusal:
            observed.refused[str(refusal)] += 1
            return False
        except Broken as broken:
            observed.broken.append(f"{name}: {broken}")
            return False
        except TimeoutError:
            observed.broken.append(f"{name}: no answer within {PATIENCE:.0f} s")
            return False
        except (httpx.TransportError, EOFError) as error:
            # A process that is killed takes its connections along; nothing else may break one.
            await asyncio.sleep(1.0)
            if observed.was_severed(began, time.monotonic() - 1.0):
                observed.severed += 1
            else:
                observed.broken.append(f"{name}: {type(error).__name__} {error}")
            return False
        observed.answered[self.kind] += 1
        observed.waits.append(time.monotonic() - began)
        return True

    async def _ask(self, name: str) -> None:
        """One request of a drop-in client."""
        history = [*self._history, {"role": "user", "content": said(self.owner, name)}]
        stream = self._random.random() < 0.5
        body = {"model": MODEL, "max_tokens": 400, "messages": history, "stream": stream}
        openai = self.kind == "openai"
        path = "/v1/chat/completions" if openai else "/v1/messages"
        async with self._http.stream("POST", path, json=body) as response:
            _check_status(self.kind, response, await _error_body(response))
            if stream:
                text = await _streamed_text(self.kind, response)
            else:
                reply = json.loads(await response.aread())
                text = reply["choices"][0]["message"]["content"] if openai else reply["content"][0]["text"]
        self._check(name, text)
        if response.headers.get("x-plimsoll-view") == "compacted":
            self._observed.compacted += 1
            seen = self._observed.sent.get(name, frozenset())
            mine = {turn["content"].split(" ", 1)[0] for turn in history if turn["role"] == "user"}
            self._observed.left_out.setdefault(self.owner.name, set()).update(mine - seen)
        self._history = [*history, {"role": "assistant", "content": text}]

    async def _say(self, name: str) -> None:
        """One message of a session, under a key that makes repeating it harmless."""
        if not self._session:
            begun = await self._http.post("/sessions", json={})
            _check_status(self.kind, begun, begun.content if begun.status_code >= 400 else b"")
            self._session = begun.json()["id"]
        stream = self._random.random() < 0.5
        body = {"content": said(self.owner, name), "stream": stream}
        path, headers = f"/sessions/{self._session}/messages", {"idempotency-key": name}
        async with self._http.stream("POST", path, json=body, headers=headers) as response:
            _check_status(self.kind, response, await _error_body(response))
            if stream:
                done = await self._session_events(name, response)
            else:
                done = json.loads(await response.aread())
        self._observed.accepted[name] = (self.owner.name, self._session, done["first"])
        self._observed.replies[name] = done["text"]
        if not done["text"].startswith(PROCESS_ENDED):  # said by the gateway where a kill left the turn
            self._check(name, done["text"])

    async def _session_events(self, name: str, response: httpx.Response) -> dict[str, Any]:
        async for event, data in _events(response):
            if event == "accepted":
                self._observed.accepted[name] = (self.owner.name, data["session"], data["number"])
            elif event == "done":
                return data
            elif event == "error":
                _check_problem(data, data.get("status", 0))
                raise Refusal(f"{data['status']} in a stream")
        raise EOFError("the stream ended without done or error")

    def _check(self, name: str, text: str) -> None:
        foreign = set(_MARK.findall(text)) - {self.owner.mark}
        if foreign:
            self._observed.mixed.append(f"the answer to {name} has {sorted(foreign)}")
        if not text.startswith(f"Answer to {name} ["):
            raise Broken(f"another answer came: {text[:80]!r}")


async def _error_body(response: httpx.Response) -> bytes:
    return await response.aread() if response.status_code >= 400 else b""


def _check_status(kind: str, response: httpx.Response, body: bytes) -> None:
    """Raise unless the request was served: `Refusal` if it was refused as the dialect has it."""
    status = response.status_code
    if status < 400:
        return
    if status not in _CLEAN:
        raise Broken(f"status {status}: {body[:200]!r}")
    try:
        told = json.loads(body)
    except ValueError:
        raise Broken(f"status {status} without a JSON body: {body[:200]!r}") from None
    if kind == "session":
        _check_problem(told, status)
    elif not (told.get("error") or {}).get("message") or (
        kind == "anthropic" and told.get("type") != "error"
    ):
        raise Broken(f"status {status} with a body of another dialect: {body[:200]!r}")
    raise Refusal(str(status))


def _check_problem(told: dict[str, Any], status: int) -> None:
    if status not in _CLEAN or told.get("status") != status or not told.get("detail"):
        raise Broken(f"not a clean problem: {json.dumps(told)[:200]}")


async def _events(response: httpx.Response) -> Any:
    event = ""
    async for line in response.aiter_lines():
        field_name, _, value = line.partition(": ")
        if field_name == "event":
            event = value
        elif field_name == "data" and value != "[DONE]":
            yield event, json.loads(value)
        elif field_name == "data":
            yield "[DONE]", {}


async def _streamed_text(kind: str, response: httpx.Response) -> str:
    """The text of a stream that ended as its dialect says; `EOFError` if it broke off."""
    pieces: list[str] = []
    async for event, data in _events(response):
        if event == "error" or "error" in data:
            if not (data.get("error") or {}).get("message"):
                raise Broken(f"an error event without a message: {json.dumps(data)[:200]}")
            raise Refusal("error in a stream")
        if event in ("[DONE]", "message_stop"):
            return "".join(pieces)
        if kind == "openai":
            pieces += [choice["delta"].get("content") or "" for choice in data.get("choices", ())]
        elif event == "content_block_delta":
            pieces.append(data["delta"].get("text", ""))
    raise EOFError("the stream broke off")


def clients(owners: Sequence[Owner], url: str, observed: Observed) -> list[Client]:
    """One client of each kind for each owner."""
    return [
        Client(kind, owner, url, observed) for owner in owners for kind in ("openai", "anthropic", "session")
    ]
