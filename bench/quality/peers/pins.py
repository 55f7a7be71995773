"""Which release of each peer is measured, and where its environment lives.

    name ──► pinned distribution ──► .local/peers/<name>/bin/python

One environment per peer: their dependencies contradict each other. The list is that of tests/peers.
Workers read it in the peers' environments, so it imports nothing but the standard library.
"""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
HOME = ROOT / ".local" / "peers"
LIST = ROOT / "tests" / "peers" / "peers.toml"
INSTALL = "python tests/peers/install.py --for bench/quality"

PINS: dict[str, str] = {
    name: entry["packages"][0]
    for name, entry in tomllib.loads(LIST.read_text("utf-8")).items()
    if entry.get("used_by") == "bench/quality"
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
