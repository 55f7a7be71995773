"""Finish reasons: the canonical ones, and those of the providers.

    canonical        OpenAI           Anthropic
    stop             stop             end_turn · stop_sequence · pause_turn
    length           length           max_tokens · model_context_window_exceeded
    tool_calls       tool_calls       tool_use
    content_filter   content_filter   refusal

The provider's own reason is kept and restored on its own wire. It distinguishes
`pause_turn` (a server tool is still running: send the reply back to continue) and
a full window.
"""

from typing import Literal

FinishReason = Literal["stop", "length", "tool_calls", "content_filter"]

_FROM_ANTHROPIC: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_FROM_OPENAI: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    # From compatible servers that pass another provider's reason through.
    "max_tokens": "length",
    "model_length": "length",
    "tool_use": "tool_calls",
    "safety": "content_filter",
    "refusal": "content_filter",
}
_TO_ANTHROPIC: dict[FinishReason, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}


def finish_from_anthropic(stop_reason: object) -> FinishReason | None:
    """The canonical reason; None while the reply has not ended; an unknown reason counts as `stop`."""
    return _FROM_ANTHROPIC.get(stop_reason, "stop") if isinstance(stop_reason, str) else None


def finish_from_openai(finish_reason: object) -> FinishReason | None:
    """The canonical reason; None while the reply has not ended; an unknown reason counts as `stop`."""
    return _FROM_OPENAI.get(finish_reason.lower(), "stop") if isinstance(finish_reason, str) else None


def finish_to_anthropic(reason: FinishReason | None, native: str | None) -> str | None:
    """Anthropic's reason; the provider's own if it is Anthropic's and still applies."""
    if native in _FROM_ANTHROPIC and finish_from_anthropic(native) == reason:
        return native
    return _TO_ANTHROPIC[reason] if reason else None
