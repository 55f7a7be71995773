"""Plugin folders for tests, and what an engine is made from."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

from plimsoll.plugins import EngineContext, PluginLocations
from plimsoll.settings.context import CompressionSettings
from preloaded import run_plimsoll

ENGINE = """
from plimsoll import ContextEngine

class Engine(ContextEngine):
    name = "{name}"
    word = "{word}"

    def update_from_response(self, usage):
        self.last_prompt_tokens = usage["prompt_tokens"]

    def should_compress(self, prompt_tokens=None):
        return (prompt_tokens or self.last_prompt_tokens) >= self.threshold_tokens

    def compress(self, messages, current_tokens=None, focus_topic=None):
        return messages[:1] + messages[-2:]

def register(ctx):
    ctx.register_context_engine(Engine())
"""


@dataclass(frozen=True)
class EngineSettings:
    compression: CompressionSettings = field(default_factory=CompressionSettings)


@dataclass(frozen=True)
class Place:
    """A home and a project, both empty at first."""

    home: Path
    project: Path

    def engine(self, name="mine", word="", *, project=False, before="", code=None, manifest=""):
        """An engine in plugins/context_engine/; `before` is at the top of its code."""
        folder = self.project / ".plimsoll" if project else self.home
        text = ENGINE.format(name=name, word=word) if code is None else dedent(code)
        return write(folder / "plugins" / "context_engine" / name, before + text, manifest)

    def general(self, name, code, *, project=False, manifest=""):
        """A general plugin in plugins/."""
        folder = self.project / ".plimsoll" if project else self.home
        return write(folder / "plugins" / name, dedent(code), manifest)

    def locations(self, *enabled, **environ):
        return PluginLocations(self.home, self.project, environ, enabled)

    def context(self, window=8_000, summarizer=None):
        return EngineContext(EngineSettings(), window, self.home, "gpt-5", summarizer, None, "s1")

    def run(self, *arguments, said="", **variables):
        """`plimsoll …` in the project with this home."""
        kept = {
            n: v for n, v in os.environ.items() if not n.endswith(("_API_KEY", "_TOKEN", "COLUMNS", "LINES"))
        }
        environment = {**kept, "PLIMSOLL_HOME": str(self.home), "OLLAMA_HOST": "127.0.0.1:1", **variables}
        return run_plimsoll(*arguments, said=said, cwd=self.project, env=environment)

    def config(self, text):
        (self.home / "config.yaml").write_text(text, "utf-8")


def write(folder, code, manifest=""):
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(code, "utf-8")
    if manifest:
        (folder / "plugin.yaml").write_text(dedent(manifest), "utf-8")
    return folder


def leaves_a_trace(path):
    """Code that writes a file when it is imported."""
    return f"import pathlib\npathlib.Path({str(path)!r}).write_text('I ran')\n"
