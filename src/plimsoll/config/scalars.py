"""One value as text and back: how it is read from a variable, written to YAML, shown to a person.

    "0.4" ──read_text──► 0.4 ──scalar_text──► 0.4        "sk-ant-..." ──shown──► (not shown)

What looks like a secret is never shown, because errors end up in logs and bug reports.
"""

import json
import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from plimsoll.config.schema import Setting

_PLAIN = re.compile(r"[A-Za-z0-9_/.][A-Za-z0-9_/.@+-]*(?::[A-Za-z0-9_/.@+-]+)*")
_SECRET_VALUE = re.compile(
    r"(?:^|\W)(?:(?:sk|pk|rk|ghp|gho|hf|xox[abp])[-_]|AIza|AKIA)[-\w]{8,}|bearer\s", re.I
)
_SECRET_URL = re.compile(r"://[^/\s]*@|[?&](?:api[-_]?key|key|token|access_token|secret)=", re.I)
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:api_?keys?|keys?|(?:access_?|auth_?)?token|secrets?|passw(?:or)?d|passphrase|credentials?"
    r"|authorization|bearer)$"
)
_LONGEST_SHOWN = 60


def is_secret_name(name: str) -> bool:
    """Whether a key's name says that its value is a secret (`api_key`, `apiKey`, `auth-token`)."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()
    return _SECRET_NAME.search(snake) is not None


def read_yaml_scalar(text: str) -> Any:
    """Text as a YAML 1.2 scalar; text that is no scalar stays text."""
    try:
        value = YAML(typ="safe", pure=True).load(text)
    except YAMLError:
        return text
    return value if value is None or isinstance(value, str | bool | int | float) else text


def read_text(setting: Setting, text: str) -> Any:
    """What a variable or a command argument gives for this setting."""
    if not setting.is_text:
        return read_yaml_scalar(text)
    # A model called 4 or # is a name, not a number or a comment; only `null` keeps its meaning.
    return None if setting.nullable and text == "null" else text


def scalar_text(value: Any, quote: str | None = None) -> str:
    """A value as one YAML token that reads back as the same value."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        text = repr(value)
        return text if "." in text else text.replace("e", ".0e")  # YAML 1.2 wants the point
    if not isinstance(value, str):
        return str(value)
    if quote == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if quote is None and _PLAIN.fullmatch(value) and read_yaml_scalar(value) == value:
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    # JSON leaves some line separators as they are; YAML would fold them.
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)


def shown(value: Any) -> str:
    """A value in a message: short, and never a secret."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple | set):
        return "a list"
    if value is None or isinstance(value, bool | int | float):
        return scalar_text(value)
    text = str(value)
    if _SECRET_VALUE.search(text) or _SECRET_URL.search(text):
        return "(not shown)"
    if len(text) > _LONGEST_SHOWN:
        text = text[: _LONGEST_SHOWN - 1] + "…"
    return json.dumps(text, ensure_ascii=False)
