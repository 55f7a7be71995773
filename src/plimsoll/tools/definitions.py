"""The built-in tools as the model sees them, read from `definitions.toml` once."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from plimsoll.tools.tool import Definition


@cache
def definition_of(name: str) -> Definition:
    """The definition of a built-in tool."""
    found = _file()[name]
    return Definition(name, _flat(found["description"]), _schema(found["parameters"]))


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(files("plimsoll.tools").joinpath("definitions.toml").read_text("utf-8"))


def _schema(parameters: dict[str, Any]) -> dict[str, Any]:
    properties = {}
    for name, parameter in parameters.items():
        kept = {key: value for key, value in parameter.items() if key not in ("required", "parameters")}
        if "description" in kept:
            kept["description"] = _flat(kept["description"])
        if "parameters" in parameter:  # a list of objects
            kept["items"] = _schema(parameter["parameters"])
        properties[name] = kept
    required = [name for name, parameter in parameters.items() if parameter.get("required")]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _flat(text: str) -> str:
    return " ".join(text.split())
