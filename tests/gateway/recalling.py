"""A gateway with the recall tool before a scripted server, and conversations that need it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from clients import http
from gateway_server import RunningGateway, settings_for

from plimsoll.dialects import ChatRequest, Dialect, Reply, SseParser, dialects
from plimsoll.gateway.dropin.recall_definition import NAME
from plimsoll.messages import Message, call_name, text_of, tool_calls
from plimsoll.testing.scripted_server import CapturedRequest, ScriptedServer, say

NAMES = tuple(dialect.name for dialect in dialects())
MODELS = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}
WINDOW = 16_000
LOOK = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look.",
        "parameters": {"type": "object", "properties": {"key": {"type": "string"}}},
    },
}
STOCK = "\n".join(f"shelf item-{n:04d} holds {n * 7919 % 9973} pieces" for n in range(900))
FACT = str(417 * 7919 % 9973)
QUESTION = "How many pieces of item-0417 are there?"
FIRST: tuple[Message, ...] = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Here we begin."},
)


def history(name: str) -> tuple[Message, ...]:
    """A conversation above the threshold; `name` tells it from others."""
    opening = {"role": "user", "content": f"Here we begin, {name}."}
    talk: list[Message] = [FIRST[0], opening, {"role": "assistant", "content": "Ok."}]
    talk += [{"role": "user", "content": STOCK}, {"role": "assistant", "content": "Noted."}]
    for n in range(12):
        talk += [
            {"role": "user", "content": f"Step {n}, please."},
            {"role": "assistant", "content": f"Did {n}."},
        ]
    return (*talk, {"role": "user", "content": QUESTION})


class Script:
    """Answers in their order, then "Ok."; requests for summaries, which have no tools, get no answer from it."""

    def __init__(self) -> None:
        self.next: list[Any] = []

    def __call__(self, request: ChatRequest) -> Any:
        if not request.tools or not self.next:
            return say("Ok.")
        answer = self.next.pop(0)
        return answer(request) if callable(answer) else answer


class Upstream:
    """A scripted server of one dialect with a gateway in front of it."""

    def __init__(self, name: str, script: Script, server: ScriptedServer, gateway: RunningGateway) -> None:
        self.name, self.script, self.server, self.gateway = name, script, server, gateway
        self.model = MODELS.get(name, "gpt-4.1")

    def request(self, messages: tuple[Message, ...], stream: bool) -> ChatRequest:
        return ChatRequest(self.model, messages, tools=(LOOK,), max_tokens=500, stream=stream)

    def post(
        self, client: Dialect, messages: tuple[Message, ...], stream: bool, key: str = "a-key"
    ) -> httpx.Response:
        url = client.url(client.local_url(self.gateway.url), self.model, stream)
        own = {"anthropic-version": "2023-06-01"} if client.needs_limit else {}
        name, value = client.auth(key)
        return http().post(
            url, json=client.encode_request(self.request(messages, stream)), headers={name: value, **own}
        )

    def ask(
        self, client: Dialect, messages: tuple[Message, ...], stream: bool, key: str = "a-key"
    ) -> tuple[Reply, list[CapturedRequest]]:
        """The reply as the client reads it, and the requests that it took."""
        before = len(self.server.requests)
        response = self.post(client, messages, stream, key)
        assert response.status_code == 200, response.text
        assert NAME not in response.text
        if stream:
            decoder = client.decoder()
            for event in SseParser().feed(response.content):
                if event.data.strip():
                    decoder.feed(event.event, event.decoded())
            assert decoder.complete, response.text
            reply = decoder.reply()
        else:
            reply = client.decode_reply(response.json())
        return reply, [one for one in self.server.requests[before:] if one.request and one.request.tools]


def gateway_settings(server: ScriptedServer, name: str, recall: bool = True, **gateway: Any) -> Any:
    return settings_for(
        server,
        name,
        model={"context_length": WINDOW},
        compression={"protect_last_n": 4, "evidence": False},
        gateway={"recall": recall, **gateway},
    )


def recalled(request: ChatRequest) -> Any:
    """A model that repeats the number which the tool has found."""
    results = [text_of(m) for m in request.messages if m["role"] == "tool" and "item-0417" in text_of(m)]
    found = re.search(r"item-0417 holds (\d+) pieces", results[-1]) if results else None
    return say(f"There are {found[1]}." if found else "Not found.")


def offered(seen: CapturedRequest) -> list[str]:
    assert seen.request is not None
    return [tool["function"]["name"] for tool in seen.request.tools]


def results_in(seen: CapturedRequest) -> list[str]:
    assert seen.request is not None
    calls = {one["id"]: call_name(one) for m in seen.request.messages for one in tool_calls(m)}
    return [calls[m["tool_call_id"]] for m in seen.request.messages if m["role"] == "tool"]


@contextmanager
def running(name: str, home: Path, **gateway: Any) -> Iterator[Upstream]:
    """An upstream of this dialect, and a gateway with these settings on a home folder."""
    script = Script()
    with (
        ScriptedServer(script, model=MODELS.get(name, "gpt-4.1"), window=WINDOW) as server,
        RunningGateway(gateway_settings(server, name, **gateway), home) as running_gateway,
    ):
        yield Upstream(name, script, server, running_gateway)
