"""The recipes of docs/recipes.md: the tests set what a reader is told to set.

## Codex CLI                       the heading is the name of the recipe
```toml ~/.codex/config.toml       a file in HOME
```bash                            `export` lines are the environment, the others are commands
```py, ```js                       code
"""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peer_list import ROOT

PAGE = ROOT / "docs" / "recipes.md"
GATEWAY = "http://127.0.0.1:8787"  # where the page says that the gateway listens
LITELLM_PORT = 4000  # and LiteLLM
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Recipe:
    """What one section of the page tells its reader to do."""

    files: dict[str, str] = field(default_factory=dict)  # by path
    environment: dict[str, str] = field(default_factory=dict)
    commands: list[list[str]] = field(default_factory=list)
    code: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """What a driver gets; files and environment are there before it starts."""
        return {"commands": self.commands, "code": self.code}


def read_recipes(
    url: str = GATEWAY, litellm_port: int = LITELLM_PORT, page: Path = PAGE
) -> dict[str, Recipe]:
    """Every recipe of a page by its heading, for a gateway at this address and a LiteLLM at this port."""
    text = page.read_text("utf-8").replace(GATEWAY, url).replace(str(LITELLM_PORT), str(litellm_port))
    _, *sections = _SECTION.split(text)
    return {name.strip(): _recipe(text) for name, text in zip(sections[::2], sections[1::2], strict=True)}


def _recipe(section: str) -> Recipe:
    recipe = Recipe()
    for language, path, text in _BLOCK.findall(section):
        if path:
            recipe.files[path] = text
        elif language == "bash":
            _read_shell(text, recipe)
        else:
            recipe.code.append(text)
    return recipe


def _read_shell(text: str, recipe: Recipe) -> None:
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["export"]:
            recipe.environment.update(word.split("=", 1) for word in words[1:])
        elif words:
            recipe.commands.append(words)
