"""How much JSON stands for, told from its bytes before anything is built from them.

    {"a":[1,"x, [y]",{}]}   ──► strings taken out ──►   {:[1,,{}]}   5 elements: lists, objects and commas

Two bytes of `[]` become an object of 56 bytes, so a body within its limit on bytes can still exhaust memory. All of
it runs in C. A small body needs no count, an ordinary one three counts of a byte; only one that has more brackets
and commas than the limit, texts included, is read again without its texts.
"""

import re

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def has_more_elements(raw: bytes, most: int) -> bool:
    """Whether the JSON has more lists, objects and commas than this; exact where it is valid."""
    if 2 * len(raw) <= 3 * most:
        return False  # valid JSON has at most two elements in three bytes: [],[],… Counting is slower than parsing.
    return _counted(raw) > most and _counted(_STRING.sub(b"", raw)) > most


def _counted(raw: bytes) -> int:
    return raw.count(b"[") + raw.count(b"{") + raw.count(b",")


def is_deeper(body: object, raw: bytes, most: int) -> bool:
    """Whether a value, which `raw` was read as, has more lists and objects inside of each other than this."""
    if raw.count(b"[") + raw.count(b"{") <= most:
        return False
    level = [body] if isinstance(body, dict | list) else []
    for _ in range(most):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return bool(level)
