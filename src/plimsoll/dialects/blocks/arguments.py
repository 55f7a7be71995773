"""Tool arguments: a JSON text on OpenAI's wire, an object on Anthropic's.

    '{"path": "a.py"}'  ⇄  {"path": "a.py"}
    '{"path": '         ⇄  {"_unparsed_arguments": '{"path": '}

What a model wrote is never lost: a text that is not one JSON object travels
inside an object under a key of its own and comes back word for word.
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
    # An object that looks like our own envelope is put into one, so that opening it is never ambiguous.
    if not isinstance(parsed, dict) or parsed.keys() == {UNPARSED}:
        return {UNPARSED: arguments}
    return parsed


def arguments_from(value: Any) -> str:
    """The JSON text for the canonical call."""
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
