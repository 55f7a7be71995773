"""The names and texts of the agent's tools. The wording is in `wording.toml`."""

import tomllib
from importlib.resources import files
from typing import Any

_WORDING: dict[str, Any] = tomllib.loads(
    files(__package__).joinpath("wording.toml").read_text(encoding="utf-8")
)
COMPACT, RECALL = "compact_context", "recall"
SUMMARY_LINE: str = _WORDING["summary_line"]
COMPACTED: str = _WORDING["compacted"]


def definition_of(name: str) -> dict[str, Any]:
    """A tool in OpenAI's function format."""
    wording = _WORDING[name]
    parameters = {"type": "object", "properties": wording["parameters"], "additionalProperties": False}
    function = {"name": name, "description": wording["description"], "parameters": parameters}
    return {"type": "function", "function": function}
