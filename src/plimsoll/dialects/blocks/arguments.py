"""Tool arguments: a JSON string on OpenAI's wire, an object on Anthropic's.

    '{"path": "a.py"}'  ⇄  {"path": "a.py"}
    '{"path": '         ⇄  {"_unparsed_arguments": '{"path": '}

The model's text is never lost: a string that is not a JSON object is wrapped in an
object under a special key and restored unchanged.
"""

import json
from math import isinf, isnan
from typing import Any

UNPARSED = "_unparsed_arguments"


def input_of(arguments: str) -> dict[str, Any]:
    """The object for Anthropic's wire."""
    if not arguments.strip():
        return {}
    try:
        parsed = json.loads(arguments, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return {UNPARSED: arguments}
    # Wrap an object that looks like our wrapper, so that unwrapping is never ambiguous.
    if not isinstance(parsed, dict) or parsed.keys() == {UNPARSED}:
        return {UNPARSED: arguments}
    return parsed


def arguments_from(value: Any) -> str:
    """The JSON string for the canonical call."""
    if isinstance(value, dict) and value.keys() == {UNPARSED}:
        unparsed = value[UNPARSED]
        if isinstance(unparsed, str):
            return unparsed
    return json.dumps({} if value is None else value, ensure_ascii=False, default=str)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if isinf(number) or isnan(number):
        raise ValueError(f"{digits} does not fit a number")
    return number
