"""Patches and diffs as text: what they add or leave, and what they take out.

    *** Update File: src/app.py          new:      src/app.py
    @@ def load():                                 def load():
    -    return read(path)                             return parse(path)
    +    return parse(path)              removed:      return read(path)

A removed line is no longer true, and the signs at the beginning of the others are not part of the file.
"""

import re
from dataclasses import dataclass

_SIGNS = ("*** Begin Patch", "\n@@ ", "\n@@\n", "diff --git ")
_FILE = re.compile(r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b/)?)(.+)$")
_FRAME = re.compile(r"^(?:\*\*\* |@@|diff --git |index [0-9a-f]+\.\.|--- |new file mode|deleted file mode)")
_SECTION = re.compile(r"^@@(?: -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)? ?(.*)$")


@dataclass(frozen=True, slots=True)
class PatchText:
    """The two sides of a patch."""

    new: str
    removed: str


def is_patch(text: str) -> bool:
    """Whether a text is a patch or a diff, by its frame."""
    return any(sign in text for sign in _SIGNS) and ("\n+" in text or "\n-" in text)


def patch_text(text: str) -> PatchText:
    """The sides of a patch; what stands around it counts as new."""
    new: list[str] = []
    removed: list[str] = []
    inside = False
    for line in text.splitlines():
        file, section = _FILE.match(line), _SECTION.match(line)
        if file:
            new.append(file[1])
            inside = True
        elif section:
            new.append(section[1])
            inside = True
        elif inside and line.startswith("-") and not line.startswith("--- "):
            removed.append(line[1:])
        elif inside and line[:1] in ("+", " "):
            new.append(line[1:])
        elif not _FRAME.match(line):
            new.append(line)
    return PatchText("\n".join(new), "\n".join(removed))
