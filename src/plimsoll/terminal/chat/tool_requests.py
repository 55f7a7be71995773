"""Detects a request that needs tools, for a model that has none. The patterns are in `tool_requests.toml`."""

import re
import tomllib
from functools import cache
from importlib.resources import files

WITHOUT_TOOLS = (
    "This model has no tools: it cannot read files, run commands or look anything up. In a terminal, @file attaches "
    "a file and !command runs a command. For a model with tools, set an API key such as OPENROUTER_API_KEY or "
    "ANTHROPIC_API_KEY."
)


def needs_tools(text: str) -> bool:
    """Whether a request asks for something that only tools can do."""
    return any(pattern.search(text) for pattern in _patterns())


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    text = files("plimsoll.terminal.chat").joinpath("tool_requests.toml").read_text("utf-8")
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in tomllib.loads(text)["patterns"])
