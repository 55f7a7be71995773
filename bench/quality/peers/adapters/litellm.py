"""litellm: `litellm.compress`: messages that score low against the newest request become one-line stubs.

No model takes part. It speaks OpenAI chat dicts; null content, on which it raises, is given to it as empty text. Its
trigger is the window (or the conversation, where that is smaller: the benchmark decides when), its target 70 % of
that, as in its own defaults. A tail in tokens becomes `compression_target`.
"""

from typing import Any

import litellm
from script import Script
from sizing import tokens

Message = dict[str, Any]
MODEL = "gpt-4o"


def compact(messages: list[Message], window: int, tail: int | None, _script: Script) -> list[Message]:
    """One call; the originals that it offers through a retrieval tool are not part of the context."""
    messages = [{**message, "content": message.get("content") or ""} for message in messages]
    counted = litellm.token_counter(model=MODEL, messages=messages)
    trigger = max(1, min(window, counted, tokens(messages)) - 1)
    knobs = {} if tail is None else {"compression_target": tail}
    return litellm.compress(messages, model=MODEL, compression_trigger=trigger, **knobs)["messages"]


def round_trip(messages: list[Message]) -> list[Message]:
    """Nothing to convert."""
    return messages
