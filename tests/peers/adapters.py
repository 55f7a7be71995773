"""Which adapter runs in which host, and how its code in docs/integrations.md is changed for a test."""

from dataclasses import dataclass

from cases import DRIVERS, PEERS
from peer_list import ROOT, Peer
from recipes import read_recipes

PAGE = ROOT / "docs" / "integrations.md"
SHOWN_WINDOW = "window=128_000"  # what the page says; the tests choose their own
KEPT = 4  # messages of `protect_last_n`: turns are short here


@dataclass(frozen=True, slots=True)
class AdapterCase:
    """One host with its adapter."""

    name: str  # the peer is adapter-<name>
    heading: str  # of its section in docs/integrations.md
    window: int = 6_000
    model: str = "gpt-4.1"
    turns: int = 64
    # Why its views differ from those of the gateway; empty: they must be the same.
    differs: str = ""
    keeps_all: bool = True  # the host's own state has every message at the end
    rewrites: bool = False  # the host itself changes older messages whenever a run begins
    tools: tuple[str, ...] = ()  # of ours that its agents can call
    own_tools: str = ""  # how the page's code adds them to the agent's; empty: `recall=True` is enough
    loop_window: int = 10_000
    recovers: bool = False  # the host lets the adapter send a request again that was too long

    @property
    def peer(self) -> Peer:
        """The pinned host."""
        return PEERS[f"adapter-{self.name}"]

    @property
    def command(self) -> list[str]:
        """Its driver, in the host's environment."""
        return [str(self.peer.python), str(DRIVERS / f"adapter_{self.name.replace('-', '_')}.py")]

    def code(self, url: str, window: int, more: str = "") -> list[str]:
        """The code of the page for this server and window, with more options."""
        blocks = read_recipes(url, page=PAGE)[self.heading].code
        assert any(SHOWN_WINDOW in block for block in blocks), f"{self.heading} shows no {SHOWN_WINDOW}"
        chosen = f"window={window}, protect_last_n={KEPT}{more}"
        return [block.replace(SHOWN_WINDOW, chosen) for block in blocks]

    def code_with_tools(self, url: str, window: int) -> list[str]:
        """The same for an agent that has our tools."""
        blocks = self.code(url, window, ", recall=True")
        if self.own_tools:
            shown = "tools=[lookup], "  # of the agent, not of the memory, where it is the last argument
            assert any(shown in block for block in blocks), f"{self.heading} shows no {shown!r}"
            blocks = [block.replace(shown, f"tools=[lookup, {self.own_tools}], ") for block in blocks]
        return blocks


_BOTH = ("recall", "compact_context")
ADAPTERS = [
    AdapterCase("langchain", "LangChain", tools=_BOTH, recovers=True),
    AdapterCase("google-adk", "Google ADK", model="gemini-2.5-pro", tools=_BOTH),
    AdapterCase("strands", "Strands Agents", tools=_BOTH, recovers=True),
    AdapterCase("pydantic-ai", "Pydantic AI", tools=_BOTH, recovers=True),
    AdapterCase("openai-agents", "OpenAI Agents SDK", tools=_BOTH, own_tools="*compaction.tools"),
    AdapterCase("smolagents", "smolagents", tools=_BOTH, own_tools="*model.tools", recovers=True),
    AdapterCase(
        "llama-index",
        "LlamaIndex",
        tools=_BOTH,
        own_tools="*memory.tools",
        differs="the agent adds the calls of the running turn after its memory: a compaction waits for the next",
    ),
    AdapterCase("litellm", "LiteLLM"),
]
# In long tool loops, compared with the core for the same canonical messages: drivers that write down what they ask.
LOOPS = [
    *ADAPTERS[1:3],
    AdapterCase(
        "agent-framework",
        "Microsoft Agent Framework",
        differs="it adds the agent's name to older replies, and tells a strategy no usage",
        rewrites=True,
        tools=_BOTH,
    ),
    AdapterCase("openhands", "OpenHands", differs="it joins neighbouring user messages", loop_window=20_000),
    AdapterCase(
        "inspect-ai", "Inspect", differs="it decides when to compact, by its own count", tools=("recall",)
    ),
]
