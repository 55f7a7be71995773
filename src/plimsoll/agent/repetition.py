"""Detects a reply that repeats itself, as small models do when they do not stop. Pure.

    "The sea is wide. The sea is wide. The sea is wide. The sea is wide."   ─►   "The sea is wide."

Two kinds: the same characters again and again at the end, and the same lines with other numbers in them.
"""

import re
from itertools import pairwise

LONGEST_UNIT = 400  # characters of a passage that is repeated
MIN_TIMES = 4  # repetitions of a passage
MIN_LENGTH = 80  # characters that the repetitions take together
LINES = 12  # at the end of the reply that are compared
SAME_LINES = 4  # lines in a row that differ only in numbers
SHORTEST_LINE = 20  # characters; shorter lines, such as brackets, repeat in good text too
_NUMBERS = re.compile(r"[\d\W_]+")


def repetition_start(text: str) -> int | None:
    """Where the first repetition at the end of a text begins, so that `text[:start]` has everything once."""
    return _same_characters(text) or _same_lines(text)


def _same_characters(text: str) -> int | None:
    tail = text[-LONGEST_UNIT * MIN_TIMES :]
    for length in range(1, len(tail) // MIN_TIMES + 1):
        if tail[-length:] != tail[-2 * length : -length]:
            continue
        unit, times = tail[-length:], 1
        while text.endswith(unit * (times + 1)):
            times += 1
        if times >= MIN_TIMES and times * length >= MIN_LENGTH and unit.strip(" \n-=_*#.|"):
            return _end_of_first(text, length)
    return None


def _end_of_first(text: str, length: int) -> int:
    """Where the first of the equal passages ends; at the end of a sentence if there is one."""
    start = len(text) - length
    while start > 0 and text[start - 1] == text[start - 1 + length]:
        start -= 1
    end = start + length
    return next((place for place in range(end, end + length) if text[place - 1] in ".!?\n"), end)


def _same_lines(text: str) -> int | None:
    """Lines that differ only in numbers and signs; only complete lines count."""
    ends = [0, *(found.end() for found in re.finditer(r"\n", text))][-LINES - 1 :]
    lines = [(start, text[start:end]) for start, end in pairwise(ends)]
    places: dict[str, list[int]] = {}
    for start, line in lines:
        if len(line.strip()) >= SHORTEST_LINE:
            places.setdefault(_NUMBERS.sub(" ", line).strip(), []).append(start)
    found = max(places.values(), key=len, default=[])
    return found[1] if len(found) >= SAME_LINES else None
