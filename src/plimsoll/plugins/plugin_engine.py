"""Wraps a plugin's engine so that it satisfies the engine contract.

    host ──► PluginEngine ──► only the keyword arguments that the plugin accepts
                          ──► copies of the messages, as text if it needs text
         ◄── the host's own messages, tool pairs repaired ◄── the plugin's result

The plugin's object is never copied, because it may hold a database connection. Its counters are
read when the host asks for them. Its errors propagate: the host reports them and continues with
the built-in engine.
"""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from plimsoll.agent.plugin_calls import accepted_arguments
from plimsoll.context import ContextEngine
from plimsoll.errors import PluginError
from plimsoll.messages import Message, repair, text_of
from plimsoll.messages.untyped import object_of
from plimsoll.plugins.hermes import Services, serving

MIRRORED = {
    "last_prompt_tokens": int, "last_completion_tokens": int, "last_total_tokens": int, "threshold_tokens": int,
    "context_length": int, "compression_count": int, "threshold_percent": float, "protect_first_n": int,
    "protect_last_n": int,
}  # fmt: skip
NEEDED = ("compress", "should_compress", "update_from_response")
_POSITIVE = ("threshold_tokens", "context_length")  # 0 until the engine knows its window


class PluginEngine(ContextEngine):
    """Adapts a plugin's engine object to the engine contract."""

    def __init__(
        self,
        inner: Any,
        name: str,
        services: Services,
        *,
        window: int,
        threshold: float,
        as_text: bool = False,
    ) -> None:
        missing = [method for method in NEEDED if not callable(getattr(inner, method, None))]
        if missing:
            raise PluginError(
                f"engine {name!r} has no {missing[0]}(). Derive it from plimsoll.ContextEngine."
            )
        self.inner = inner
        self.services = services
        self.as_text = as_text
        self._name = name
        self._fallback = {"context_length": window, "threshold_tokens": int(window * threshold)}

    def __getattribute__(self, name: str) -> Any:
        if name not in MIRRORED:
            return super().__getattribute__(name)
        value = getattr(self.inner, name, None)
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
        if name in _POSITIVE and (number or 0) <= 0:
            return self._fallback[name]
        return getattr(ContextEngine, name) if number is None else MIRRORED[name](number)

    @property
    def name(self) -> str:
        return self._name

    @property
    def last_report(self) -> Any:
        """The plugin's report about its last compaction, if any."""
        return getattr(self.inner, "last_report", None)

    def update_from_response(self, usage: Mapping[str, Any]) -> None:
        self._ask("update_from_response", dict(usage))

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        tokens = self.last_prompt_tokens if prompt_tokens is None else prompt_tokens
        by_count = tokens >= self.threshold_tokens
        return bool(self._ask("should_compress", prompt_tokens, otherwise=by_count))

    def should_compress_preflight(self, messages: list[Message]) -> bool:
        return bool(self._ask("should_compress_preflight", self._given(messages), otherwise=False))

    def has_content_to_compress(self, messages: list[Message]) -> bool:
        return bool(self._ask("has_content_to_compress", self._given(messages), otherwise=True))

    def compress(
        self,
        messages: list[Message],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        **later: Any,
    ) -> list[Message]:
        copies = self._given(messages)
        keys = [_key(message) for message in copies]
        options = {"current_tokens": current_tokens, "focus_topic": focus_topic, **later}
        result = self._call(self.inner.compress, copies, **options)
        if not isinstance(result, list | tuple) or not all(isinstance(message, dict) for message in result):
            kind = type(result).__name__
            raise PluginError(f"engine {self.name!r} returned {kind}, not a list of messages.")
        return repair(_restored(result, keys, messages))

    def on_session_start(self, session_id: str, **kwargs: Any) -> None:
        known = {
            "platform": "cli",
            "hermes_home": str(self.services.home),
            "context_length": self.context_length,
            "conversation_id": session_id,
        }
        self._ask("on_session_start", session_id, **{**known, **kwargs})

    def on_session_end(self, session_id: str, messages: list[Message]) -> None:
        self._ask("on_session_end", session_id, self._given(messages))

    def on_session_reset(self) -> None:
        self._ask("on_session_reset")

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        schemas = self._ask("get_tool_schemas", otherwise=[])
        return [_function_form(schema) for schema in schemas or () if isinstance(schema, Mapping)]

    def handle_tool_call(self, name: str, args: dict[str, Any], **kwargs: Any) -> str:
        options = dict(kwargs)
        if isinstance(options.get("messages"), list):
            options["messages"] = self._given(options["messages"])
        unknown = {"error": f"engine {self.name!r} has no tool named {name!r}"}
        answer = self._ask("handle_tool_call", name, copy.deepcopy(args), otherwise=unknown, **options)
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)

    def get_status(self) -> dict[str, Any]:
        status = self._ask("get_status", otherwise={})
        return {**super().get_status(), **object_of(status), "engine": self.name}

    def update_model(
        self,
        model: str,
        context_length: int,
        base_url: str = "",
        api_key: str = "",
        provider: str = "",
        api_mode: str = "",
    ) -> None:
        share = self._fallback["threshold_tokens"] / max(1, self._fallback["context_length"])
        self._fallback = {"context_length": context_length, "threshold_tokens": int(context_length * share)}
        options = {"base_url": base_url, "api_key": api_key, "provider": provider, "api_mode": api_mode}
        self._ask("update_model", model=model, context_length=context_length, **options)

    def _given(self, messages: Sequence[Message]) -> list[Message]:
        """Copies that the plugin may change."""
        copies = copy.deepcopy(list(messages))
        if not self.as_text:
            return copies
        return [
            message if isinstance(message.get("content"), str) else {**message, "content": text_of(message)}
            for message in copies
        ]

    def _ask(self, method: str, *arguments: Any, otherwise: Any = None, **options: Any) -> Any:
        """The result of a plugin method; `otherwise` if it has no such method."""
        function = getattr(self.inner, method, None)
        return self._call(function, *arguments, **options) if callable(function) else otherwise

    def _call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call with the options that the function accepts."""
        with serving(self.services):
            return function(*arguments, **accepted_arguments(function, options))


def _restored(result: Sequence[Message], keys: list[str], messages: Sequence[Message]) -> list[Message]:
    """Replace unchanged copies with the host's own messages, each used once.

    The common start and end of both lists are paired by position, so repeated messages keep their place.
    """
    returned = [_key(message) for message in result]
    shorter = min(len(returned), len(keys))
    head = next((i for i in range(shorter) if returned[i] != keys[i]), shorter)
    tail = next((i for i in range(shorter - head) if returned[-1 - i] != keys[-1 - i]), shorter - head)
    pairs = {i: i for i in range(head)} | {len(returned) - i: len(keys) - i for i in range(1, tail + 1)}
    waiting: dict[str, list[int]] = {}
    for place in range(head, len(keys) - tail):
        waiting.setdefault(keys[place], []).append(place)
    for place in range(len(returned) - tail - 1, head - 1, -1):
        if waiting.get(returned[place]):
            pairs[place] = waiting[returned[place]].pop()
    return [messages[pairs[i]] if i in pairs else dict(message) for i, message in enumerate(result)]


def _key(message: Message) -> str:
    return json.dumps(message, sort_keys=True, ensure_ascii=False, default=repr)


def _function_form(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool in OpenAI's format; Hermes engines return only the inner part."""
    if "function" in schema:
        return dict(schema)
    empty = {"type": "object", "properties": {}}
    function = {"parameters": empty, "description": "", **schema}
    return {"type": "function", "function": function}
