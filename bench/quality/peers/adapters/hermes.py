"""hermes-agent: `ContextCompressor.compress()`, with its one way to a model replaced by the script.

It speaks OpenAI chat dicts already, so nothing is converted; private keys that it leaves on messages are taken off.
"""

import logging
from types import SimpleNamespace
from typing import Any

import agent.context_compressor as hermes
from script import TOOL_ARGUMENTS, TOOL_NAME, Script

Message = dict[str, Any]
logging.disable(logging.CRITICAL)


def compact(messages: list[Message], window: int, tail: int | None, script: Script) -> list[Message]:
    """A forced pass, as `/compress` does it; `tail` is the tail's token budget."""
    hermes.call_llm = lambda **call: _response(script, call)
    engine = hermes.ContextCompressor(model="unknown", quiet_mode=True, config_context_length=window)
    if tail is not None:
        # The ratio is clamped to 0.10-0.80 of the threshold; budgets outside of it are set directly.
        engine.tail_token_budget = tail
        engine.protect_last_n = 1
    result = engine.compress(messages, current_tokens=window)
    return [{key: value for key, value in m.items() if not key.startswith("_")} for m in result]


def round_trip(messages: list[Message]) -> list[Message]:
    """Nothing to convert."""
    return messages


def _response(script: Script, call: dict[str, Any]) -> SimpleNamespace:
    reply = script.reply(call["messages"][0]["content"])
    message = SimpleNamespace(content=reply.text, tool_calls=None)
    if reply.is_tool_call:
        function = SimpleNamespace(name=TOOL_NAME, arguments=str(TOOL_ARGUMENTS))
        message.content, message.tool_calls = None, [SimpleNamespace(id="call_s", function=function)]
    return SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason=reply.finish_reason)])
