"""Clients that keep their whole history, as agents do, and a model that answers what it really sees."""

import json
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpx

from plimsoll.dialects import ChatRequest
from plimsoll.messages import text_of
from plimsoll.testing.scripted_server import CapturedRequest, ScriptedAnswer, ScriptedServer, call, say

FILLER = "The harbour master wrote down every ship that came in, its draught, its cargo and its line. "
LOOKUP = "lookup"
_SCHEMA = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}


@cache
def http() -> httpx.Client:
    """One client for all, as making one takes longer than a test."""
    return httpx.Client(timeout=60)


@contextmanager
def sent(url: str, body: Any, headers: Mapping[str, str]) -> Iterator[socket.socket]:
    """A request whose client leaves at the end of the block, without having waited for an answer."""
    address = httpx.URL(url)
    content = json.dumps(body).encode()
    lines = [f"POST {address.path} HTTP/1.1", f"host: {address.host}", f"content-length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in {"content-type": "application/json", **headers}.items()]
    with socket.create_connection((address.host, address.port), timeout=60) as leaving:
        leaving.sendall("\r\n".join([*lines, "", ""]).encode() + content)
        yield leaving


def model(request: ChatRequest) -> ScriptedAnswer:
    """Answers from the newest turn and the tools that arrived: a question is looked up, a result is reported."""
    newest = request.messages[-1]
    said = text_of(newest)
    if newest.get("role") == "tool":
        return say(f"The register says: {said[:60]}")
    names = [tool.get("function", tool).get("name") for tool in request.tools]
    word = said.split(":", 1)[0]
    return (
        say(f"Let me see {word}.") + call(LOOKUP, key=word)
        if LOOKUP in names
        else say(f"No tools for {word}.")
    )


def last_turn(requests: Sequence[CapturedRequest]) -> CapturedRequest:
    """The last request of a client that offers tools: a summary prepared beside it, without tools, may come later."""
    return next(one for one in reversed(requests) if one.request is not None and one.request.tools)


def run_tool(key: str) -> str:
    return f"{key} lies at pier {len(key)}. " + FILLER * 12


class AnthropicClient:
    """Speaks Anthropic's dialect by hand, so that every byte is the test's own."""

    path = "/v1/messages"

    def __init__(self, url: str, *, stream: bool = False, system: Any = "Be brief.", **body: Any) -> None:
        self.url, self.stream = url, stream
        self.body = {"model": "claude-sonnet-4-5", "max_tokens": 300, "system": system, **body}
        self.tools = [{"name": LOOKUP, "description": "Look it up.", "input_schema": _SCHEMA}]
        self.headers = {"x-api-key": "client-key", "anthropic-version": "2023-06-01"}
        self.last: httpx.Response | None = None
        self.history: list[dict[str, Any]] = []

    def say(self, text: str) -> str:
        """One turn with its tool calls; the last answer."""
        self.history.append({"role": "user", "content": text})
        while True:
            blocks = self.ask()
            self.history.append({"role": "assistant", "content": blocks})
            calls = [block for block in blocks if block["type"] == "tool_use"]
            if not calls:
                return "".join(block["text"] for block in blocks if block["type"] == "text")
            results = [
                {"type": "tool_result", "tool_use_id": one["id"], "content": run_tool(one["input"]["key"])}
                for one in calls
            ]
            self.history.append({"role": "user", "content": results})

    def ask(self) -> list[dict[str, Any]]:
        body = {**self.body, "tools": self.tools, "messages": self.history, "stream": self.stream}
        response = self.last = http().post(self.url + self.path, json=body, headers=self.headers)
        assert response.status_code == 200, response.text
        if not self.stream:
            return list(response.json()["content"])
        return _blocks_of(response.text)


class OpenAIClient:
    """The same in OpenAI's dialect."""

    path = "/v1/chat/completions"

    def __init__(self, url: str, *, stream: bool = False, system: str = "Be brief.", **body: Any) -> None:
        self.url, self.stream = url, stream
        self.history: list[dict[str, Any]] = [{"role": "system", "content": system}]
        self.body = {"model": "gpt-4.1", "max_tokens": 300, **body}
        self.tools = [
            {
                "type": "function",
                "function": {"name": LOOKUP, "description": "Look it up.", "parameters": _SCHEMA},
            }
        ]
        self.headers = {"authorization": "Bearer client-key"}
        self.last: httpx.Response | None = None

    def say(self, text: str) -> str:
        """One turn with its tool calls; the last answer."""
        self.history.append({"role": "user", "content": text})
        while True:
            message = self.ask()
            self.history.append(message)
            calls = message.get("tool_calls") or []
            if not calls:
                return str(message["content"])
            for one in calls:
                key = json.loads(one["function"]["arguments"])["key"]
                self.history.append({"role": "tool", "tool_call_id": one["id"], "content": run_tool(key)})

    def ask(self) -> dict[str, Any]:
        body = {**self.body, "tools": self.tools, "messages": self.history, "stream": self.stream}
        if self.stream:
            body["stream_options"] = {"include_usage": True}
        response = self.last = http().post(self.url + self.path, json=body, headers=self.headers)
        assert response.status_code == 200, response.text
        if not self.stream:
            message = response.json()["choices"][0]["message"]
            return {key: value for key, value in message.items() if value is not None}
        return _message_of(response.text)


class ResponsesClient:
    """The same in the dialect of OpenAI Responses; with `continues`, the server keeps the history."""

    path = "/v1/responses"

    def __init__(
        self,
        url: str,
        *,
        stream: bool = False,
        system: str = "Be brief.",
        continues: bool = False,
        **body: Any,
    ) -> None:
        self.url, self.stream, self.continues = url, stream, continues
        self.history: list[dict[str, Any]] = []
        self.body = {"model": "gpt-4.1", "instructions": system, "max_output_tokens": 300, **body}
        self.tools = [
            {
                "type": "function",
                "name": LOOKUP,
                "description": "Look it up.",
                "parameters": _SCHEMA,
                "strict": False,
            }
        ]
        self.headers = {"authorization": "Bearer client-key"}
        self.previous = ""
        self.last: httpx.Response | None = None

    def say(self, text: str) -> str:
        """One turn with its tool calls; the last answer."""
        self.history.append({"role": "user", "content": text})
        while True:
            items = self.ask()
            self.history = [] if self.continues else [*self.history, *items]
            calls = [item for item in items if item["type"] == "function_call"]
            if not calls:
                said = (part for item in items if item["type"] == "message" for part in item["content"])
                return "".join(part["text"] for part in said)
            for one in calls:
                output = run_tool(json.loads(one["arguments"])["key"])
                self.history.append(
                    {"type": "function_call_output", "call_id": one["call_id"], "output": output}
                )

    def ask(self) -> list[dict[str, Any]]:
        response = self.last = self.post()
        assert response.status_code == 200, response.text
        reply = _events(response.text)[-1]["response"] if self.stream else response.json()
        assert reply["status"] == "completed", reply
        self.previous = reply["id"]
        return list(reply["output"])

    def post(self, **more: Any) -> httpx.Response:
        body = {**self.body, "tools": self.tools, "input": self.history, "stream": self.stream, **more}
        if self.continues and self.previous:
            body["previous_response_id"] = self.previous
        return http().post(self.url + self.path, json=body, headers=self.headers)


AnyClient = AnthropicClient | OpenAIClient | ResponsesClient


def converse(client: AnyClient, turns: int, first: int = 0) -> list[str]:
    """So many turns; the answers."""
    return [
        client.say(f"ship{number}: where does it lie? {FILLER * 3}") for number in range(first, first + turns)
    ]


def same_without_gateway(make: Callable[[str], AnyClient], turns: int, script: Any = model) -> list[str]:
    """The answers of a model with a window for all of it, asked directly."""
    with ScriptedServer(script, window=900_000) as server:
        return converse(make(server.url), turns)


def _events(text: str) -> list[dict[str, Any]]:
    lines = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def _blocks_of(text: str) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for event in _events(text):
        if event["type"] == "content_block_start":
            blocks.append({**event["content_block"], "partial": ""})
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            if delta["type"] == "text_delta":
                blocks[-1]["text"] += delta["text"]
            elif delta["type"] == "thinking_delta":
                blocks[-1]["thinking"] += delta["thinking"]
            elif delta["type"] == "signature_delta":
                blocks[-1]["signature"] = delta["signature"]
            else:
                blocks[-1]["partial"] += delta["partial_json"]
    for block in blocks:
        partial = block.pop("partial")
        if block["type"] == "tool_use":
            block["input"] = json.loads(partial or "{}")
    return blocks


def _message_of(text: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    calls: dict[int, dict[str, Any]] = {}
    for event in _events(text):
        for choice in event.get("choices", []):
            delta = choice["delta"]
            message["content"] += delta.get("content") or ""
            for piece in delta.get("tool_calls") or []:
                one = calls.setdefault(
                    piece["index"],
                    {"id": piece.get("id"), "type": "function", "function": {"name": "", "arguments": ""}},
                )
                one["function"]["name"] += piece["function"].get("name") or ""
                one["function"]["arguments"] += piece["function"].get("arguments") or ""
    return {**message, "tool_calls": list(calls.values())} if calls else message
