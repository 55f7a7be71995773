"""The tree of all settings, composed from their sections, with a description of each key.

    Settings ─┬─ model           settings/model.py
              ├─ context         settings/context.py
              ├─ compression     settings/context.py
              ├─ auxiliary       settings/context.py
              ├─ prompt_caching  settings/caching.py
              ├─ archive         settings/archive.py
              ├─ agent           settings/agent.py
              ├─ plugins         settings/context.py
              ├─ tools           settings/tools.py
              ├─ gateway         settings/gateway.py
              ├─ models          settings/context.py, config/per_model.py
              └─ mcp_servers     settings/tools.py

Error messages, completion and the documentation are generated from `all_keys()`, so a new
setting appears everywhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import annotated_types
from pydantic import Field
from pydantic.fields import FieldInfo

from plimsoll.config.per_model import GENERAL, overrides_for, replaced
from plimsoll.config.values import KeyPath
from plimsoll.messages.untyped import object_of
from plimsoll.settings.agent import AgentSettings
from plimsoll.settings.archive import ArchiveSettings
from plimsoll.settings.caching import PromptCachingSettings
from plimsoll.settings.context import (
    AuxiliarySettings,
    CompressionSettings,
    ContextSettings,
    ModelOverrides,
    PluginSettings,
)
from plimsoll.settings.gateway import GatewaySection
from plimsoll.settings.model import ModelSettings
from plimsoll.settings.section import Section
from plimsoll.settings.tools import McpServerSettings, ToolSettings

PREFIX = "PLIMSOLL_"


class Settings(Section):
    """Everything that can be configured."""

    model: ModelSettings = Field(default_factory=ModelSettings)
    context: ContextSettings = Field(default_factory=ContextSettings)
    compression: CompressionSettings = Field(default_factory=CompressionSettings)
    auxiliary: AuxiliarySettings = Field(default_factory=AuxiliarySettings)
    prompt_caching: PromptCachingSettings = Field(default_factory=PromptCachingSettings)
    archive: ArchiveSettings = Field(default_factory=ArchiveSettings)
    agent: AgentSettings = Field(default_factory=AgentSettings)
    plugins: PluginSettings = Field(default_factory=PluginSettings)
    tools: ToolSettings = Field(default_factory=ToolSettings)
    gateway: GatewaySection = Field(default_factory=GatewaySection)
    models: Mapping[str, ModelOverrides] = Field(
        default_factory=dict,
        description="Settings for some models only, by name or pattern such as gpt-*.",
        json_schema_extra={"names": "pattern"},
    )
    mcp_servers: Mapping[str, McpServerSettings] = Field(
        default_factory=dict,
        description="MCP servers, by a name of your choice.",
        json_schema_extra={"names": "server"},
    )

    def for_model(self, name: str | None) -> "Settings":
        """The settings for a model: those of the most specific patterns, then the general ones."""
        found: Settings = self
        for field, value in overrides_for(self.models, name or "").items():
            found = replaced(found, GENERAL[field], value)
        return found


@dataclass(frozen=True, slots=True)
class Setting:
    """One key with its range, default and description."""

    path: KeyPath
    allowed: str
    default: Any
    description: str
    choices: tuple[str, ...]
    is_text: bool
    is_many: bool  # a list or a map
    is_private: bool  # a map whose values are never shown
    nullable: bool
    example: Any

    @property
    def key(self) -> str:
        return ".".join(self.path)

    @property
    def variable(self) -> str | None:
        """The environment variable; None if the key contains a user-chosen name."""
        return None if any(map(is_any_name, self.path)) else PREFIX + "__".join(self.path).upper()


def is_any_name(name: str) -> bool:
    """Whether a part of a path, such as `<model>`, is a placeholder for a name that the user chooses."""
    return name.startswith("<")


@cache
def all_keys() -> tuple[Setting, ...]:
    """Every setting in the order of the documentation."""
    return tuple(_walk(Settings, ()))


@cache
def sections() -> Mapping[KeyPath, type[Section]]:
    """Every section by its path, without the root."""
    return dict(_groups(Settings, ()))


def setting_at(path: KeyPath) -> Setting | None:
    """The setting at a path; `<model>` matches any name."""
    return next((setting for setting in all_keys() if fits(path, setting.path)), None)


def is_section(path: KeyPath) -> bool:
    """Whether the path is a section."""
    return any(
        len(path) < len(setting.path) and fits(path, setting.path[: len(path)]) for setting in all_keys()
    )


def path_of(key: str) -> KeyPath:
    """A dotted key as a path. User-chosen names may contain dots; the known parts around them delimit them."""
    for setting in all_keys():
        place = next((n for n, name in enumerate(setting.path) if is_any_name(name)), None)
        if place is None:
            continue
        before, after = ".".join(setting.path[:place]) + ".", "." + ".".join(setting.path[place + 1 :])
        name = key[len(before) : -len(after)]
        if name and key.startswith(before) and key.endswith(after):
            return (*setting.path[:place], name, *setting.path[place + 1 :])
    return tuple(key.split("."))


def fits(path: KeyPath, pattern: KeyPath) -> bool:
    """Whether a path matches a pattern in which `<model>` matches any name."""
    return len(path) == len(pattern) and all(
        want == have or is_any_name(want) for have, want in zip(path, pattern, strict=True)
    )


def _below(field: FieldInfo, path: KeyPath) -> tuple[type[Section], KeyPath] | None:
    """The section of a field and its path; None for a field with a value."""
    kind = field.annotation
    if get_origin(kind) is Mapping:
        return get_args(kind)[1], (*path, f"<{_extra(field)['names']}>")
    if isinstance(kind, type) and issubclass(kind, Section):
        return kind, path
    return None


def _extra(field: FieldInfo) -> Mapping[str, Any]:
    """The field's `json_schema_extra`."""
    return object_of(field.json_schema_extra)


def _walk(section: type[Section], path: KeyPath) -> Iterator[Setting]:
    for name, field in section.model_fields.items():
        below = _below(field, (*path, name))
        if below is None:
            yield _setting(field, (*path, name))
        else:
            yield from _walk(*below)


def _groups(section: type[Section], path: KeyPath) -> Iterator[tuple[KeyPath, type[Section]]]:
    for name, field in section.model_fields.items():
        below = _below(field, (*path, name))
        if below is not None:
            yield below[1], below[0]
            yield from _groups(*below)


def _setting(field: FieldInfo, path: KeyPath) -> Setting:
    kinds = [kind for kind in get_args(field.annotation) if kind is not NoneType]
    nullable = NoneType in get_args(field.annotation)
    kind = kinds[0] if nullable else field.annotation
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    extra = _extra(field)
    is_many = get_origin(kind) in (dict, Sequence)
    return Setting(
        path=path,
        allowed=str(extra.get("allowed") or _allowed(kind, choices, field.metadata, nullable)),
        default=field.get_default(),
        description=field.description or "",
        choices=choices,
        is_text=kind not in (bool, int, float) and not is_many,
        is_many=is_many,
        is_private=bool(extra.get("private")),
        nullable=nullable,
        example=extra.get("example", field.get_default()),
    )


def _allowed(kind: Any, choices: tuple[str, ...], limits: list[Any], nullable: bool) -> str:
    """The range of a setting in words."""
    if choices:
        text = f"one of {', '.join(choices)}"
    else:
        text = {bool: "true or false", int: "a whole number", float: "a number"}.get(kind, "text, not empty")
        text += _range({type(limit): limit for limit in limits})
    return f"{text}, or null" if nullable else text


def _range(limits: dict[type, Any]) -> str:
    low, above = limits.get(annotated_types.Ge), limits.get(annotated_types.Gt)
    high = limits.get(annotated_types.Le)
    if low and high:
        return f" from {low.ge} to {high.le}"
    bounds = [
        *([f"at least {low.ge}"] if low else []),
        *([f"above {above.gt}"] if above else []),
        *([f"at most {high.le}"] if high else []),
    ]
    return f" {' and '.join(bounds)}" if bounds else ""
