"""A client that keeps its whole history in Google's dialect, with and without ids."""

import json
from typing import Any

import httpx
from clients import LOOKUP, http, run_tool

_SCHEMA = {"type": "OBJECT", "properties": {"key": {"type": "STRING"}}, "required": ["key"]}
TOOLS = [{"functionDeclarations": [{"name": LOOKUP, "description": "Look it up.", "parameters": _SCHEMA}]}]


class GeminiClient:
    """Speaks Google's dialect by hand; `version` is that of the API."""

    def __init__(
        self,
        url: str,
        *,
        stream: bool = False,
        system: str = "Be brief.",
        model: str = "gemini-2.5-pro",
        version: str = "v1beta",
        **body: Any,
    ) -> None:
        self.url, self.stream, self.model, self.version = url, stream, model, version
        self.body = {"systemInstruction": {"parts": [{"text": system}]}, "tools": TOOLS, **body}
        self.body.setdefault("generationConfig", {"maxOutputTokens": 300})
        self.headers = {"x-goog-api-key": "client-key"}
        self.history: list[dict[str, Any]] = []
        self.last: httpx.Response | None = None

    def say(self, text: str) -> str:
        """One turn with its tool calls; the last answer."""
        self.history.append({"role": "user", "parts": [{"text": text}]})
        while True:
            parts = self.ask()
            self.history.append({"role": "model", "parts": parts})
            calls = [part["functionCall"] for part in parts if "functionCall" in part]
            if not calls:
                return "".join(part["text"] for part in parts if not part.get("thought"))
            self.history.append({"role": "user", "parts": [_response(call) for call in calls]})

    def ask(self) -> list[dict[str, Any]]:
        response = self.last = self.post()
        assert response.status_code == 200, response.text
        chunks = chunks_of(response.text) if self.stream else [response.json()]
        assert chunks[-1]["usageMetadata"]["promptTokenCount"] > 0
        assert chunks[-1]["candidates"][0]["finishReason"]
        parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
        return _joined(parts)

    def post(self, method: str = "", query: str = "", **more: Any) -> httpx.Response:
        method = method or ("streamGenerateContent" if self.stream else "generateContent")
        query = query or ("?alt=sse" if method.startswith("stream") else "")
        url = f"{self.url}/{self.version}/models/{self.model}:{method}{query}"
        return http().post(url, json={**self.body, "contents": self.history, **more}, headers=self.headers)


def chunks_of(text: str) -> list[dict[str, Any]]:
    """The chunks of a stream; nothing but data may be in it, as Google's SDKs read every line."""
    lines = [line for line in text.splitlines() if line]
    assert all(line.startswith("data: ") for line in lines), text
    return [json.loads(line[6:]) for line in lines]


def _joined(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Neighbouring texts as one, as agents keep them."""
    joined: list[dict[str, Any]] = []
    for part in parts:
        if joined and part.keys() == joined[-1].keys() == {"text"}:
            joined[-1] = {"text": joined[-1]["text"] + part["text"]}
        elif part.keys() != {"text"} or part["text"]:
            joined.append(part)
    return joined


def _response(call: dict[str, Any]) -> dict[str, Any]:
    named = {"id": call["id"]} if "id" in call else {}
    return {
        "functionResponse": {
            **named, "name": call["name"], "response": {"output": run_tool(call["args"]["key"])}
        }
    }  # fmt: skip
