"""Applies one edit to a text: finds the old string, replaces it, and reports the difference.

    apply("a = 1\\n", Edit("a = 1", "a = 2"))   ->   "a = 2\\n"

Pure. An edit that does not match raises `EditMismatch` with the most similar text, because models often misremember
white space or a word.
"""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches, unified_diff

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MAX_LINES = 20_000  # of a text that is searched for similar text
_LONGEST_EXCERPT = 1_200  # characters
_LONGEST_DIFF = 6_000  # characters
_MAX_COMPARED = 2_000  # lines on each side; the comparison is quadratic


class EditMismatch(ValueError):
    """An edit cannot be applied; the text says why and shows similar text."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `old` by `new`: the only occurrence, or all."""

    old: str
    new: str
    replace_all: bool = False


def apply(text: str, edit: Edit) -> str:
    """The text with the edit applied."""
    if not edit.old:
        raise EditMismatch("old_string is empty; to write a whole file use write_file")
    if edit.old == edit.new:
        raise EditMismatch("old_string and new_string are the same")
    places = _places(text, edit.old)
    if not places:
        raise EditMismatch(_not_found(text, edit.old))
    if len(places) > 1 and not edit.replace_all:
        lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in places[:8])
        more = f" and {len(places) - 8} more" if len(places) > 8 else ""
        raise EditMismatch(
            f"old_string occurs {len(places)} times (lines {lines}{more}); "
            "add lines around it to make it unique, or set replace_all"
        )
    return text.replace(edit.old, edit.new)


def difference(name: str, before: str, after: str, longest: int | None = _LONGEST_DIFF) -> str:
    """A small unified diff; if it has more than `longest` characters, only its beginning and end."""
    old, new = _LINE.findall(before), _LINE.findall(after)
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    around = 2
    low = max(0, start - around)
    old_part = old[low : len(old) - max(0, end - around)]
    new_part = new[low : len(new) - max(0, end - around)]
    if max(len(old_part), len(new_part)) > _MAX_COMPARED:
        return f"{name}: {len(old):,} lines became {len(new):,}"
    lines = list(unified_diff(old_part, new_part, n=around))[2:]
    body = "".join(line if line.endswith("\n") else f"{line}\n" for line in _moved(lines, low))
    text = f"--- {name}\n+++ {name}\n{body}".rstrip("\n")
    if longest is None or len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out …]\n{text[-half:]}"


def _moved(lines: list[str], by: int) -> list[str]:
    """The hunk headers with the line numbers of the whole text."""
    moved = []
    for line in lines:
        if line.startswith("@@"):
            _, old, new, _ = line.split(" ", 3)
            line = f"@@ {_shifted(old, by)} {_shifted(new, by)} @@\n"
        moved.append(line)
    return moved


def _shifted(span: str, by: int) -> str:
    number, comma, count = span[1:].partition(",")
    return f"{span[0]}{int(number) + by}{comma}{count}"


def _common(lines: list[str], other: list[str]) -> int:
    """How many lines two lists have in common at their start."""
    for number, (left, right) in enumerate(zip(lines, other, strict=False)):
        if left != right:
            return number
    return min(len(lines), len(other))


def _places(text: str, old: str) -> list[int]:
    """Where the string occurs, including overlapping occurrences: "aa" in "aaa" is not unique."""
    places = []
    place = text.find(old)
    while place >= 0:
        places.append(place)
        place = text.find(old, place + 1)
    return places


def _not_found(text: str, old: str) -> str:
    lines = text.split("\n")[:_MAX_LINES]
    wanted = old.strip("\n").split("\n")
    at = _ignoring_space(lines, wanted)
    if at is not None:
        return (
            f"old_string was not found, but lines {at + 1}-{at + len(wanted)} differ from it only in white space. "
            f"There it is:\n{_excerpt(lines[at : at + len(wanted)])}"
        )
    at = _most_similar(lines, wanted)
    if at is None:
        return "old_string was not found, nor anything like it; read the file again"
    return (
        f"old_string was not found. The nearest place is at line {at + 1}:\n"
        f"{_excerpt(lines[at : at + len(wanted)])}"
    )


def _ignoring_space(lines: list[str], wanted: list[str]) -> int | None:
    plain = [" ".join(line.split()) for line in lines]
    target = [" ".join(line.split()) for line in wanted]
    if not any(target):
        return None
    for at in range(len(plain) - len(target) + 1):
        if plain[at] == target[0] and plain[at : at + len(target)] == target:
            return at
    return None


def _most_similar(lines: list[str], wanted: list[str]) -> int | None:
    """The line at which the most similar text starts, found by its longest line."""
    key = max(range(len(wanted)), key=lambda index: len(wanted[index].strip()))
    key_line = wanted[key].strip()[:300]
    stripped = {line.strip()[:300] for line in lines if line.strip()}
    near = (
        get_close_matches(key_line, sorted(stripped), 1, 0.6) if key_line and len(stripped) <= 5_000 else []
    )
    if not near:
        return None
    spots = [number for number, line in enumerate(lines) if line.strip()[:300] == near[0]][:20]
    whole = "\n".join(wanted)[:2_000]

    def likeness(spot: int) -> float:
        start = max(0, spot - key)
        candidate = "\n".join(lines[start : start + len(wanted)])[:2_000]
        return SequenceMatcher(None, candidate, whole, autojunk=False).quick_ratio()

    return max(0, max(spots, key=likeness) - key)


def _excerpt(lines: list[str]) -> str:
    text = "\n".join(lines)
    return text if len(text) <= _LONGEST_EXCERPT else text[:_LONGEST_EXCERPT] + "\n…"
