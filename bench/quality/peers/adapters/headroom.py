"""headroom-ai: `headroom.compress`, its rules for tool output, code, logs and JSON.

No summary model takes part. It speaks OpenAI chat dicts. Its learned text compressor needs weights from the network
and is absent here, as after a plain `pip install` without a connection. A tail in tokens becomes `target_ratio`,
which steers only what that compressor would do, so sizes asked for are met only by chance.
"""

from typing import Any

from headroom import compress
from script import Script
from sizing import tokens

Message = dict[str, Any]
MODEL = "claude-sonnet-4-5-20250929"  # its own default


def compact(messages: list[Message], window: int, tail: int | None, _script: Script) -> list[Message]:
    """One call."""
    knobs = {} if tail is None else {"target_ratio": min(1.0, max(0.05, tail / max(1, tokens(messages))))}
    return compress(messages, model=MODEL, model_limit=window, **knobs).messages


def round_trip(messages: list[Message]) -> list[Message]:
    """Nothing to convert."""
    return messages
