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
    direct_model: str | None = None  # asked without the gateway, where the API has no such model
    recipe: str = ""  # its heading in docs/recipes.md
    strategy: str = "auto"  # prompt_caching.strategy; `planned` marks Claude behind an unknown server

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


CASES = [
    Case("openai", "openai_sdk.py", "openai", "openai", "gpt-4.1", recipe="OpenAI SDK"),
    Case("openai", "openai_sdk.py", "openai", "anthropic", "gpt-4.1"),
    Case("openai", "openai_responses.py", "responses", "responses", "gpt-5"),
    Case(
        "openai", "openai_responses.py", "responses", "anthropic", "claude-sonnet-4-5", direct_model="gpt-5"
    ),
    Case(
        "anthropic",
        "anthropic_sdk.py",
        "anthropic",
        "anthropic",
        "claude-sonnet-4-5",
        recipe="Anthropic SDK",
    ),
    Case("anthropic", "anthropic_sdk.py", "anthropic", "openai", "gpt-4.1", direct_model="claude-sonnet-4-5"),
    Case("anthropic", "anthropic_sdk.py", "anthropic", "openai", "claude-sonnet-4-5", strategy="planned"),
    Case("google-genai", "google_genai_sdk.py", "gemini", "gemini", "gemini-2.5-pro"),
    Case("google-genai", "google_genai_sdk.py", "gemini", "openai", "gpt-4.1", direct_model="gemini-2.5-pro"),
    Case("langchain-chat", "langchain_chat.py", "openai", "anthropic", "gpt-4.1", recipe="LangChain"),
    Case(
        "langchain-chat",
        "langchain_chat.py",
        "anthropic",
        "openai",
        "gpt-4.1",
        direct_model="claude-sonnet-4-5",
        recipe="LangChain",
    ),
    Case("pydantic-ai-slim", "pydantic_ai_agent.py", "openai", "openai", "gpt-4.1"),
    Case(
        "pydantic-ai-slim",
        "pydantic_ai_agent.py",
        "anthropic",
        "openai",
        "gpt-4.1",
        direct_model="claude-sonnet-4-5",
    ),
    Case("pydantic-ai-slim", "pydantic_ai_agent.py", "responses", "responses", "gpt-5"),
    Case("openai-agents", "openai_agents.py", "openai", "openai", "gpt-4.1"),
    Case("openai-agents", "openai_agents.py", "responses", "responses", "gpt-5"),
    Case("litellm-sdk", "litellm_sdk.py", "openai", "anthropic", "gpt-4.1"),
    Case("litellm-sdk", "litellm_sdk.py", "anthropic", "anthropic", "claude-sonnet-4-5"),
    Case("smolagents", "smolagents_agent.py", "openai", "openai", "gpt-4.1"),
    Case("vercel-ai", "vercel_ai.mjs", "openai", "openai", "gpt-4.1", recipe="Vercel AI SDK"),
    Case(
        "vercel-ai",
        "vercel_ai.mjs",
        "anthropic",
        "anthropic",
        "claude-sonnet-4-5",
        recipe="Vercel AI SDK",
    ),
    Case("vercel-ai", "vercel_ai.mjs", "responses", "responses", "gpt-5", recipe="Vercel AI SDK"),
    Case("llm", "llm_chat.py", "openai", "openai", "gpt-4.1", command="llm", recipe="llm"),
    Case(
        "aider",
        "aider_chat.py",
        "openai",
        "openai",
        "gpt-4.1",
        uses_tools=False,
        command="aider",
        recipe="aider",
    ),
    Case(
        "aider",
        "aider_chat.py",
        "anthropic",
        "anthropic",
        "claude-sonnet-4-5",
        uses_tools=False,
        command="aider",
        recipe="aider",
    ),
    Case(
        "opencode",
        "opencode_server.py",
        "openai",
        "openai",
        "gpt-4.1",
        40_000,
        command="opencode",
        recipe="OpenCode",
    ),
    Case(
        "opencode",
        "opencode_server.py",
        "anthropic",
        "anthropic",
        "claude-sonnet-4-5",
        40_000,
        command="opencode",
        recipe="OpenCode",
    ),
    Case(
        "claude-code",
        "claude_code.py",
        "anthropic",
        "anthropic",
        "claude-opus-5",
        80_000,
        command="claude",
        recipe="Claude Code",
    ),
    Case(
        "claude-code",
        "claude_code.py",
        "anthropic",
        "openai",
        "gpt-5",
        80_000,
        command="claude",
        direct_model="claude-opus-5",
        recipe="Claude Code",
    ),
    Case(
        "claude-code",
        "claude_code.py",
        "anthropic",
        "openai",
        "gpt-4o",
        80_000,
        command="claude",
        direct_model="claude-opus-5",
        recipe="Claude Code",
    ),
    Case(
        "codex",
        "codex_exec.py",
        "responses",
        "responses",
        "gpt-5.5",
        40_000,
        command="codex",
        recipe="Codex CLI",
    ),
    Case(
        "gemini-cli",
        "gemini_cli.py",
        "gemini",
        "gemini",
        "gemini-2.5-pro",
        40_000,
        command="gemini",
        recipe="Gemini CLI",
    ),
]
