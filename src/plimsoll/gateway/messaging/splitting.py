"""Splits a long answer into messages at natural boundaries.

    paragraph ¶ paragraph ¶ paragraph      ─►   [paragraph ¶ paragraph] [paragraph]

Splits between paragraphs, else between lines, else between words, else anywhere. Only the white space at a cut is
dropped. Pure.
"""

from collections.abc import Callable

_CUTS = ("\n\n", "\n", " ")
_MIN_SHARE = 0.4  # of a message: a cut that leaves less is used only if no other kind of cut leaves more


def split(text: str, max_size: int, size: Callable[[str], int] = len) -> list[str]:
    """The pieces, each at most `max_size` in size, none empty."""
    pieces = []
    rest = text.strip()
    while size(rest) > max_size:
        end = _cut(rest, _room(rest, max_size, size))
        pieces.append(rest[:end].rstrip())
        rest = rest[end:].strip()
    return [piece for piece in (*pieces, rest) if piece]


def _room(text: str, max_size: int, size: Callable[[str], int]) -> int:
    """How many characters fit; at least one."""
    low, high = 1, min(len(text), max_size)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(text[:middle]) <= max_size else (low, middle - 1)
    return low


def _cut(text: str, room: int) -> int:
    for mark in _CUTS:
        # A separator right after what fits may be the cut too: it is dropped.
        found = text.rfind(mark, 1, room + len(mark))
        if found >= room * _MIN_SHARE:
            return found
    return room
