"""deepagents: its own `SummarizationMiddleware`, with the settings that its factory works out from the window.

It triggers at once, because the benchmark decides when. Defaults for a model with a known window: the newest 10 % of
the window stay, long arguments of older tool calls are cut to 2 000 characters, the whole middle is summarised, and
what goes is written to a file that the agent could open. A tail in tokens becomes `keep=("tokens", n)`.
"""

from typing import Any

from deepagents.backends import FilesystemBackend
from deepagents.middleware.summarization import SummarizationMiddleware, compute_summarization_defaults
from script import Script

from adapters.langchain_messages import Recorder, SummaryModel, from_langchain, run_turn, to_langchain

Message = dict[str, Any]


def compact(messages: list[Message], window: int, tail: int | None, script: Script) -> list[Message]:
    """One turn of an agent with the middleware."""
    profile = {"max_input_tokens": window}
    model = SummaryModel(script=script, profile=profile)
    defaults = compute_summarization_defaults(model)
    keep = defaults["keep"] if tail is None else ("tokens", tail)
    middleware = SummarizationMiddleware(
        model=model,
        backend=FilesystemBackend(root_dir=".", virtual_mode=True),
        trigger=("messages", 1),
        keep=keep,
        trim_tokens_to_summarize=None,
        truncate_args_settings={
            **defaults["truncate_args_settings"],
            "trigger": ("messages", 1),
            "keep": keep,
        },
    )
    return run_turn(messages, Recorder(profile=profile, seen=[]), middleware)


def round_trip(messages: list[Message]) -> list[Message]:
    """To LangChain's types and back."""
    return from_langchain(to_langchain(messages))
