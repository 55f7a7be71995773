"""Reads and writes JSON much faster than the standard library, with the same results.

    read            keeps numbers of any length; falls back to the standard library for what only that accepts
    read_request    the same without NaN, Infinity and numbers beyond a float, which would be written as null
    write           compact UTF-8; half a surrogate pair, which UTF-8 cannot encode, as its escape

Writing 300 KB takes half a millisecond instead of five, during which the event loop would be blocked.
"""

import json
import math
from typing import Any, Never

import msgspec

_FOREIGN = (msgspec.MsgspecError, UnicodeError)
_LONGEST_NUMBER = 40  # characters of a number in an error message


def read(raw: bytes) -> Any:
    """The value; raises `ValueError` or `RecursionError` if it is not valid JSON."""
    try:
        return msgspec.json.decode(raw)
    except _FOREIGN:
        return json.loads(raw)  # accepts half a surrogate pair, and has better error messages


def read_request(raw: bytes) -> Any:
    """The value; raises `ValueError` or `RecursionError` if it is not valid JSON or a number is not finite.

    Only the standard library reads NaN and Infinity. Written again they become null, which a provider may accept
    with another meaning.
    """
    try:
        return msgspec.json.decode(raw)
    except _FOREIGN:
        return json.loads(raw, parse_constant=_refuse_constant, parse_float=_finite)


def write(value: Any) -> bytes:
    """The value as compact JSON with its keys in order; a pydantic model as an object."""
    try:
        return msgspec.json.encode(value, enc_hook=dict)
    except _FOREIGN:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=dict)
        return text.encode("utf-8", "backslashreplace")


def write_sorted(value: Any) -> bytes:
    """JSON with sorted keys: the same bytes for equal values."""
    try:
        return msgspec.json.encode(value, order="sorted")
    except _FOREIGN:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return text.encode("utf-8", "surrogatepass")


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:_LONGEST_NUMBER]} is too large for a number")
    return value
