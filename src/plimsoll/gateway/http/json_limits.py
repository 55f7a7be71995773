"""Counts the elements of JSON from its bytes, before parsing it.

    {"a":[1,"x, [y]",{}]}   ──► strings removed ──►   {:[1,,{}]}   5 elements: lists, objects and commas

Two bytes of `[]` become an object of 56 bytes, so a body within its byte limit can still exhaust memory. All of this
runs in C. A small body is not counted, an ordinary one needs three counts of a byte; only a body with more brackets
and commas than the limit, strings included, is counted again without its strings.
"""

import re

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_PIECE = re.compile(rb'(?:[^"]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"|"){1,4096}+', re.DOTALL)  # whole strings


def has_more_elements(raw: bytes, limit: int) -> bool:
    """Whether the JSON has more than `limit` lists, objects and commas; exact if it is valid."""
    if 2 * len(raw) <= 3 * limit:
        return False  # valid JSON has at most two elements in three bytes: [],[],… Counting is slower than parsing.
    return _counted(raw) > limit and _has_more_outside_strings(raw, limit)


def _has_more_outside_strings(raw: bytes, limit: int) -> bool:
    """Count piece by piece: other threads run in between, and the count ends at the limit."""
    count = place = 0
    while place < len(raw) and count <= limit:
        piece = _PIECE.match(raw, place)
        assert piece is not None, "a piece has at least one byte"
        count += _counted(_STRING.sub(b"", piece[0]))
        place = piece.end()
    return count > limit


def _counted(raw: bytes) -> int:
    return raw.count(b"[") + raw.count(b"{") + raw.count(b",")


def is_deeper(body: object, raw: bytes, limit: int) -> bool:
    """Whether a value, parsed from `raw`, nests lists and objects deeper than `limit`."""
    if raw.count(b"[") + raw.count(b"{") <= limit:
        return False
    level = [body] if isinstance(body, dict | list) else []
    for _ in range(limit):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return bool(level)
