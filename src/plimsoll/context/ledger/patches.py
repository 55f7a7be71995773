"""Splits patches and diffs into new and removed text.

    *** Update File: src/app.py          new:      src/app.py
    @@ def load():                                 def load():
    -    return read(path)                             return parse(path)
    +    return parse(path)              removed:      return read(path)

A removed line is no longer true, and the prefixes of the other lines are not part of the file.
"""

import re
from dataclasses import dataclass

from plimsoll.context.ledger.words import content_words

_SIGNS = ("*** Begin Patch", "\n@@ ", "\n@@\n", "diff --git ")
_FILE = re.compile(r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b/)?)(.+)$")
_FRAME = re.compile(r"^(?:\*\*\* |@@|diff --git |index [0-9a-f]+\.\.|--- |new file mode|deleted file mode)")
_SECTION = re.compile(r"^@@(?: -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)? ?(.*)$")

_DEFINED = re.compile(
    r"^[ \t]*(?:(?:pub(?:\([^)\n]*\))?|export|default|async|static|public|private|protected|abstract|override) +)*"
    r"(?:(?:def|fn|func(?: *\([^)\n]*\))?|function|class|struct|enum|trait|interface|type|impl) +|(?<!\s)const +)"
    r"([A-Za-z_]\w{2,})",
    re.MULTILINE,
)
_PARTS = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{3,}")
_STEM = 5  # leading characters that identify a word in all its forms
# Words of a note that only say that a file is touched.
_FILE_ACTIONS = frozenset({
    "write", "writ", "create", "creat", "add", "update", "updat", "edit", "change", "chang", "modify", "save", "sav",
    "file", "new", "read", "here",
})  # fmt: skip
_ABOUT = 2  # words that a reason must share with its change


@dataclass(frozen=True, slots=True)
class PatchText:
    """The two sides of a patch."""

    new: str
    removed: str


def is_patch(text: str) -> bool:
    """Whether a text is a patch or a diff, by its header lines."""
    return any(sign in text for sign in _SIGNS) and ("\n+" in text or "\n-" in text)


def patch_text(text: str) -> PatchText:
    """The two sides of a patch; surrounding text counts as new."""
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


def text_for(path: str, text: str) -> str:
    """The part of a patch for one file; the whole text if it is not a patch of several files."""
    parts: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        file = _FILE.match(line)
        if file:
            current = parts.setdefault(file[1].strip(), [])
        if current is not None:
            current.append(line)
    return "\n".join(parts[path]) if path in parts else text


def changed_names(new: str) -> list[str]:
    """The functions and types that a change defines or is inside, in order."""
    return list(dict.fromkeys(_DEFINED.findall(new)))


def says_more(note: str, path: str) -> bool:
    """Whether a note says more than that the file is written: "I write the parser" above `parser.py` does not."""
    named = {part[:_STEM].lower() for part in _PARTS.findall(path)}
    return any(word[:_STEM] not in named for word in content_words(note) - _FILE_ACTIONS)


def is_about(note: str, text: str) -> bool:
    """Whether two texts share words; names count by their parts, words by their beginning."""
    parts = {part[:_STEM].lower() for part in _PARTS.findall(text)} if note else set()
    return len({word[:_STEM] for word in content_words(note)} & parts) >= _ABOUT
