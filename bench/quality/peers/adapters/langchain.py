"""langchain: `SummarizationMiddleware` in an agent made by `create_agent`; read is what the agent's model is sent.

It triggers at once, because the benchmark decides when. Defaults: the last 20 messages stay and the summary model
is shown the newest 4 000 tokens of what goes, from a human message on; where these hold none, it is not asked and a
fixed sentence stands for the history. A tail in tokens becomes `keep=("tokens", n)`, and then the model is shown all.
"""

from typing import Any

from langchain.agents.middleware import SummarizationMiddleware
from script import Script

from adapters.langchain_messages import Recorder, SummaryModel, from_langchain, run_turn, to_langchain

Message = dict[str, Any]


def compact(messages: list[Message], window: int, tail: int | None, script: Script) -> list[Message]:
    """One turn of an agent with the middleware."""
    profile = {"max_input_tokens": window}
    knobs: dict[str, Any] = {}
    if tail is not None:
        knobs = {"keep": ("tokens", tail), "trim_tokens_to_summarize": None}
    middleware = SummarizationMiddleware(
        model=SummaryModel(script=script, profile=profile), trigger=("messages", 1), **knobs
    )
    return run_turn(messages, Recorder(profile=profile, seen=[]), middleware)


def round_trip(messages: list[Message]) -> list[Message]:
    """To LangChain's types and back."""
    return from_langchain(to_langchain(messages))
