"""Removes a short text that a person pasted beside a line that asks to read it.

    Am I allowed a power bank?                       the person's line
    Passengers must not carry batteries above …      pasted: no rule of the person

    Implement this:                                  an order: what follows specifies it
    - Never write to stdout.                         a rule

Longer texts are recognised by their form alone (`pasted.py`). Here the person's own line decides: the first or the
last paragraph asks a question about a text, or asks to work on it. The words are data (`pasted.toml`).
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from plimsoll.context.ledger.constraint_words import constraint_in
from plimsoll.context.ledger.pasted import SHORTEST, letters

_LONGEST_LINE = 240  # characters of the person's own line
_SHORT_ORDER = 60  # "sort by name", "fix them"
_BLANK = re.compile(r"\n[ \t]*\n")
_ENDS = ("?", "？", "؟")
_ANNOUNCES = (":", "：")
_MIN_TITLE, _MAX_TITLE = 3, 60
_ADDRESS = re.compile(
    r"\b(?:please|i want|i need|i'd like|we need|we want|bitte|ich (?:will|möchte|brauche)|por favor|merci de)\b"
)


@dataclass(frozen=True, slots=True)
class _ShortWords:
    reading: re.Pattern[str]
    pointing: re.Pattern[str]
    doing: re.Pattern[str]
    ruling: re.Pattern[str]
    foreign: re.Pattern[str]


def without_short_paste(text: str) -> str:
    """The text without what a person pasted beside an own line; the same text if there is none."""
    if letters(text) >= SHORTEST or "\n" not in text.strip():
        return text
    blocks = _blocks(text)
    own = {at for at in (0, len(blocks) - 1) if _is_own(blocks[at])}
    body = [block for at, block in enumerate(blocks) if at not in own]
    if not own or not body:
        return text
    lines = [blocks[at] for at in sorted(own)]
    return "\n\n".join(lines) if any(_asks_to_read(line, body) for line in lines) else text


def _blocks(text: str) -> list[str]:
    """The paragraphs; a first or last line that can be the person's own is one by itself."""
    blocks = [block.strip("\n") for block in _BLANK.split(text.strip()) if block.strip()]
    first, _, rest = blocks[0].partition("\n")
    if rest and _is_own(first) and _asks(first):
        blocks[:1] = [first, rest]
    rest, _, last = blocks[-1].rpartition("\n")
    if rest and last.rstrip().endswith(_ENDS) and _is_own(last):
        blocks[-1:] = [rest, last]
    return blocks


def _is_own(block: str) -> bool:
    """Whether a paragraph of one line asks a question, asks to read, or is a short order without a limit."""
    line = block.strip()
    lowered = line.lower()
    if "\n" in line or len(line) > _LONGEST_LINE:
        return False
    if _words().foreign.match(lowered) and not line.endswith((*_ENDS, *_ANNOUNCES)):
        return False
    return _asks(line) or (len(line) <= _SHORT_ORDER and constraint_in(line) is None)


def _asks(line: str) -> bool:
    line = line.strip()
    return line.endswith((*_ENDS, *_ANNOUNCES)) or bool(_words().reading.search(line.lower()))


def _asks_to_read(line: str, body: list[str]) -> bool:
    lowered = line.strip().lower()
    words = _words()
    is_question = lowered.endswith(_ENDS) and " you" not in lowered
    is_order = words.ruling.search(lowered) or words.doing.search(lowered)
    if (is_order and not is_question) or words.doing.match(body[0].strip(" -*").lower()):
        return False
    reads = bool(words.reading.search(lowered)) or lowered.endswith(_ENDS)
    points = lowered.endswith(_ANNOUNCES) or bool(words.pointing.search(lowered))
    lines = [one for block in body for one in block.splitlines() if one.strip()]
    if _is_foreign(lines):
        return reads or (not lowered.endswith(_ANNOUNCES) and constraint_in(line) is None)
    if reads and lowered.endswith(_ANNOUNCES):
        return True
    addressed = any(_ADDRESS.search(one.lower()) for one in lines)
    return reads and points and not addressed and (len(lines) > 1 or bool(words.reading.search(lowered)))


def _is_foreign(lines: list[str]) -> bool:
    """Whether the lines have a form in which people do not write to an agent: a title, a letter, a table, code."""
    if any(_words().foreign.match(line.strip(" \t*#/-•").lower()) for line in lines):
        return True
    title = lines[0].strip(" \t*#")
    if not title:
        return False
    is_title = (
        _MIN_TITLE <= len(title) <= _MAX_TITLE
        and title[-1].isalnum()
        and title[0].isalnum()
        and not title[0].islower()
    )
    return is_title and len(lines) > 1 and constraint_in(title) is None


@cache
def _words() -> _ShortWords:
    data = tomllib.loads(files("plimsoll.context.ledger").joinpath("pasted.toml").read_text("utf-8"))["short"]
    return _ShortWords(
        re.compile(data["reading"]),
        re.compile(data["pointing"]),
        re.compile(data["doing"]),
        re.compile(data["ruling"]),
        re.compile("|".join(f"(?:{item})" for item in data["foreign"])),
    )
