"""Which release of each peer is measured, and where its environment lives.

    name ──► pinned distribution ──► .local/peers/<name>/bin/python

One environment per peer: their dependencies contradict each other. Read by the installer, the workers
and the pool; imports nothing but the standard library.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
HOME = ROOT / ".local" / "peers"

PINS = {
    "hermes": "hermes-agent==0.19.0",
    "langchain": "langchain==1.4.7",
    "deepagents": "deepagents==0.7.32",
    "pydantic-ai": "pydantic-ai-harness==0.62.0",
    "adk": "google-adk==2.13.0",
    "strands": "strands-agents==1.62.0",
    "agent-framework": "agent-framework-core==1.23.0",
    "headroom": "headroom-ai==0.42.0",
    "litellm": "litellm==1.106.2",
}

# Peers that hand the middle to a model. The other two shorten by rules, so a bad summary cannot reach them.
SUMMARISERS = ("hermes", "langchain", "deepagents", "pydantic-ai", "adk", "strands", "agent-framework")


def python_of(name: str) -> Path:
    """The interpreter of one peer's environment."""
    return HOME / name / "bin" / "python"


def distribution_of(name: str) -> tuple[str, str]:
    """Name and version of the pinned distribution."""
    distribution, _, version = PINS[name].partition("==")
    return distribution, version
