"""Limits that calls pass: large numbers such as time limits and sizes of output, which an agent types again.

{"command": "make test", "timeout": 300000}                          timeout 300000
tools.exec_command({cmd: "make test", max_output_tokens: 16000})     max_output_tokens 16000
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from plimsoll.context.ledger.outcomes import without_literals

_LARGE = 10_000
_MAX_VALUES = 6  # of one name
_OPTION = re.compile(r"""\b(\w+)["']?\s*:\s*(\d{5,9})\b""")


def limits_in(arguments: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """The large numbers that a call passes, such as time limits, with their names; ids are not among them."""
    for name, value in arguments.items():
        if isinstance(value, int) and value >= _LARGE and not name.lower().endswith("id"):
            yield name, value
        elif name == "input" and isinstance(value, str) and "tools." in value:
            options = _OPTION.findall(without_literals(value))
            yield from ((key, int(digits)) for key, digits in options if not key.lower().endswith("id"))


def shown_limits(limits: Mapping[tuple[str, int], int]) -> str:
    """The limits that several calls passed, by name, the most used ones."""
    found: dict[str, list[int]] = {}
    for (name, value), uses in sorted(limits.items(), key=lambda limit: -limit[1]):
        if uses > 1 and len(found.setdefault(name, [])) < _MAX_VALUES:
            found[name].append(value)
    return "; ".join(f"`{name}` {', '.join(map(str, sorted(values)))}" for name, values in found.items())
