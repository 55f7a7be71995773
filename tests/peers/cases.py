"""Which client talks to which upstream, through which window.

A window is small enough for at least two compactions in forty turns, and large enough for what the client always
sends: the system prompt and tools of Claude Code take about 30,000 tokens, those of opencode about 10,000.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from peer_list import Peer, read_peers

PEERS = read_peers()
DRIVERS = Path(__file__).with_name("drivers")
_MODELS = {"openai": "gpt-4.1", "anthropic": "claude-sonnet-4-5"}


@dataclass(frozen=True, slots=True)
class Case:
    """One client in front of one upstream."""

    client: str  # its name in peers.toml
    driver: str
    api: str  # what the client speaks
    upstream: str  # what the provider speaks
    model: str
    window: int = 10_000
    uses_tools: bool = True
    command: str | None = None  # the client's own program; clients without one are libraries

    @property
    def id(self) -> str:
        """The name of the test."""
        return f"{self.client}-{self.api}-on-{self.upstream}-{self.model}"

    @property
    def peer(self) -> Peer:
        """The pinned client."""
        return PEERS[self.client]

    @property
    def program(self) -> str:
        """The client's own program; empty for a library."""
        return str(self.peer.program(self.command)) if self.command else ""

    @property
    def driver_command(self) -> list[str]:
        """The driver, run by the client's interpreter, or by ours where the client is a program."""
        script = str(DRIVERS / self.driver)
        if self.driver.endswith(".mjs"):
            return ["node", script]
        return [sys.executable if self.command else str(self.peer.python), script]


def _library(client: str, driver: str, *apis: str) -> list[Case]:
    """A library in front of both kinds of upstream."""
    return [
        Case(client, driver, api, upstream, _MODELS[api])
        for api in apis
        for upstream in ("openai", "anthropic")
    ]


CASES = [
    *_library("openai", "openai_sdk.py", "openai"),
    *_library("anthropic", "anthropic_sdk.py", "anthropic"),
    *_library("langchain-chat", "langchain_chat.py", "openai", "anthropic"),
    *_library("pydantic-ai-slim", "pydantic_ai_agent.py", "openai", "anthropic"),
    *_library("openai-agents", "openai_agents.py", "openai"),
    *_library("litellm-sdk", "litellm_sdk.py", "openai", "anthropic"),
    *_library("smolagents", "smolagents_agent.py", "openai"),
    *_library("vercel-ai", "vercel_ai.mjs", "openai", "anthropic"),
]
