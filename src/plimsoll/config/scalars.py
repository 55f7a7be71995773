"""Converts one value from and to text: environment variables, YAML, display.

    "0.4" ──read_text──► 0.4 ──scalar_text──► 0.4        "sk-ant-..." ──shown──► (not shown)
    {TOKEN: abc} ──without_secrets──► {TOKEN: (not shown)}

What looks like a secret is never shown, because errors end up in logs and bug reports.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from plimsoll.config.schema import Setting
from plimsoll.secrets import is_secret_name, is_secret_value

_PLAIN = re.compile(r"[A-Za-z0-9_/.][A-Za-z0-9_/.@+-]*(?::[A-Za-z0-9_/.@+-]+)*")
_HIDDEN = "(not shown)"
_LONGEST_SHOWN = 60  # characters of a value in a message


def read_yaml_scalar(text: str) -> Any:
    """Text as a YAML 1.2 scalar; other text stays text."""
    value = _read_yaml(text)
    return value if value is None or isinstance(value, str | bool | int | float) else text


def _read_yaml(text: str) -> Any:
    try:
        return YAML(typ="safe", pure=True).load(text)
    except YAMLError:
        return text


def read_text(setting: Setting, text: str) -> Any:
    """The value that a variable or a command argument has for this setting."""
    if setting.is_many:
        return _read_yaml(text)
    if not setting.is_text:
        return read_yaml_scalar(text)
    # A model called 4 or # is a name, not a number or a comment; only `null` keeps its meaning.
    return None if setting.nullable and text == "null" else text


def scalar_text(value: Any, quote: str | None = None) -> str:
    """A value on one line of YAML that reads back as the same value."""
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{scalar_text(key)}: {scalar_text(item)}" for key, item in value.items()) + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(scalar_text, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        text = repr(value)
        return text if "." in text else text.replace("e", ".0e")  # YAML 1.2 requires the point
    return _text_scalar(value, quote) if isinstance(value, str) else str(value)


def _text_scalar(value: str, quote: str | None) -> str:
    if quote == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if quote is None and _PLAIN.fullmatch(value) and read_yaml_scalar(value) == value:
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    # JSON keeps some line separators unescaped; YAML would fold them.
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)


def without_secrets(setting: Setting, value: Any) -> Any:
    """A value for display: the names of a private map, anything else without secrets."""
    if setting.is_private:
        return dict.fromkeys(value, _HIDDEN) if isinstance(value, Mapping) else value and _HIDDEN
    if setting.is_many and isinstance(value, Sequence) and not isinstance(value, str):
        return list(_arguments_without_secrets(value))
    return _HIDDEN if isinstance(value, str) and is_secret_value(value) else value


def _arguments_without_secrets(arguments: Sequence[Any]) -> Iterator[Any]:
    """A program's arguments without secrets and without values of options that name one."""
    named = False
    for argument in arguments:
        if not isinstance(argument, str):
            yield argument
            continue
        name, equals, _ = argument.partition("=")
        if equals and is_secret_name(name.lstrip("-")):
            yield f"{name}={_HIDDEN}"
        else:
            yield _HIDDEN if named or is_secret_value(argument) else argument
        named = argument.startswith("-") and not equals and is_secret_name(name.lstrip("-"))


def error_value(setting: Setting, value: Any) -> str:
    """The value of this setting, or one inside it, for a message."""
    is_hidden = setting.is_private and not isinstance(value, dict | list | None)
    return _HIDDEN if is_hidden else display_value(value)


def display_value(value: Any) -> str:
    """A value for a message: short, and never a secret."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple | set):
        return "a list"
    if value is None or isinstance(value, bool | int | float):
        return scalar_text(value)
    text = str(value)
    if is_secret_value(text):
        return _HIDDEN
    if len(text) > _LONGEST_SHOWN:
        text = text[: _LONGEST_SHOWN - 1] + "…"
    return json.dumps(text, ensure_ascii=False)
