"""`ctx`: the object that a plugin's `register(ctx)` receives, and what it registered.

    def register(ctx):
        ctx.register_context_engine(MyEngine)             an engine for `context.engine`
        ctx.register_tool(my_tool)                        a tool for the model
        ctx.register_hook("pre_compact", before)          called before or after a compaction
        ctx.register_command("notes", "show notes", f)    /notes in the chat

Registering activates nothing; the host decides what to use. Hermes Agent's signatures work too;
unsupported registrations are noted and ignored.
"""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plimsoll.errors import PluginError
from plimsoll.messages.untyped import string_of
from plimsoll.plugins.manifest import Manifest
from plimsoll.tools import Arguments, Definition, FunctionTool, Tool, ToolContext, ToolResult

HOOKS = ("pre_compact", "post_compact")


@dataclass(frozen=True, slots=True)
class RegisteredEngine:
    """An engine as registered: an object, a class or a factory function."""

    name: str
    description: str
    engine: Any


@dataclass(frozen=True, slots=True)
class PluginCommand:
    """A slash command of a plugin: a function from the text after its name to the output."""

    name: str
    description: str
    run: Callable[[str], str]


@dataclass(slots=True)
class Registrations:
    """Everything that one plugin has registered."""

    engines: list[RegisteredEngine] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)
    hooks: list[tuple[str, Callable[..., Any]]] = field(default_factory=list)
    commands: list[PluginCommand] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


class PluginContext:
    """What a plugin can register."""

    def __init__(self, name: str, manifest: Manifest, home: Path) -> None:
        self.name = name
        self.manifest = manifest
        self.home = home
        self.registered = Registrations()

    def register_context_engine(self, engine: Any, name: str | None = None, description: str = "") -> None:
        """Register an engine: an object, or a class or function called with an `EngineContext` or nothing."""
        called = name or _name_of(engine) or self.name
        self.registered.engines.append(
            RegisteredEngine(called, description or self.manifest.description, engine)
        )

    def register_tool(self, tool: Tool | str | None = None, **given: Any) -> None:
        """Register a `Tool`, or a name, a schema and a handler that is called with the arguments."""
        if isinstance(tool, Tool):
            self.registered.tools.append(tool)
            return
        name, handler = tool or given.get("name"), given.get("handler")
        schema = given.get("schema")
        if not isinstance(name, str) or not callable(handler) or not isinstance(schema, Mapping):
            raise PluginError(
                f"plugin {self.name!r}: register_tool needs a Tool, or name, schema and handler."
            )
        self.registered.tools.append(_tool(name, schema, handler, str(given.get("description") or "")))

    def register_hook(self, name: str, function: Callable[..., Any]) -> None:
        """Register a function for compactions: `pre_compact` or `post_compact`."""
        if name in HOOKS:
            self.registered.hooks.append((name, function))
        else:
            self.registered.ignored.append(f"hook {name}")

    def register_command(self, name: str, *given: Any, description: str = "", **named: Any) -> None:
        """Register a slash command: its name, a description, and a function from the text after it to the output."""
        function = next((value for value in (*given, *named.values()) if callable(value)), None)
        sentence = description or next((value for value in given if isinstance(value, str)), "")
        if function is None:
            raise PluginError(f"plugin {self.name!r}: /{name} has no function. Give one that takes the text.")
        self.registered.commands.append(PluginCommand(name.lstrip("/").lower(), sentence, function))

    def __getattr__(self, name: str) -> Any:
        # A plugin for another host may register things that Plimsoll does not support; the rest still works.
        if not name.startswith("register_"):
            raise AttributeError(f"a plugin's context has no {name!r}")
        kind = name.removeprefix("register_").replace("_", " ")
        return lambda *_arguments, **_options: self.registered.ignored.append(kind)


def _name_of(engine: Any) -> str:
    # On a class, `name` is a property without a value.
    return string_of(getattr(engine, "name", None))


def _tool(name: str, schema: Mapping[str, Any], handler: Callable[..., Any], about: str) -> Tool:
    inner = schema.get("function", schema)
    parameters = inner.get("parameters") or {"type": "object", "properties": {}}

    async def run(arguments: Arguments, _context: ToolContext) -> ToolResult | str:
        if inspect.iscoroutinefunction(handler):
            result = await handler(arguments)
        else:
            result = await asyncio.to_thread(handler, arguments)
        return result if isinstance(result, ToolResult) else str(result)

    return FunctionTool(Definition(name, str(inner.get("description") or about), parameters), run)
