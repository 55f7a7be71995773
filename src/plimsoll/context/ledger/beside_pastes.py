"""Removes a text that a person pasted beside an own line about it.

    Am I allowed a power bank?                       the person's line
    Passengers must not carry batteries above …      pasted: no rule of the person

    Implement this:                                  an order: what follows specifies it
    - Never write to stdout.                         a rule

`pasted.py` recognises long texts by their form alone. Here the person's line decides: it asks something, asks to
read, or points at a text. What stands beside such a line is not the person's, unless it is in the person's voice:
it continues the conversation, orders work, or speaks of the person. The words are data (`pasted.toml`).
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from plimsoll.context.ledger.constraint_words import constraint_in
from plimsoll.context.ledger.people_words import word_group

_LONGEST_LINE = 240  # characters of the person's own line
_SHORT_REMARK = 60  # "the site shows only this"
_RUNNING = 150  # characters of a line of running text: people describe their situation so, and ask about it
_LONGEST_TEXT = 6_000  # characters; a longer message is read by its form alone
_BLANK = re.compile(r"\n[ \t]*\n")
_ENDS = ("?", "？", "؟")
_ANNOUNCES = (":", "：")
_SALUTATION = re.compile(r"\S+(?: \S+){0,4}[,，]")
_MAX_TITLE = 60
_FURNITURE = " \t*-•"


@dataclass(frozen=True, slots=True)
class _BesideWords:
    reading: re.Pattern[str]
    pointing: re.Pattern[str]
    opening: re.Pattern[str]
    order: re.Pattern[str]
    about_work: re.Pattern[str]
    ruling: re.Pattern[str]
    own: re.Pattern[str]
    asking: re.Pattern[str]
    foreign: re.Pattern[str]
    code: re.Pattern[str]
    imperative: re.Pattern[str]


def without_text_beside(text: str) -> str:
    """The text without what a person pasted beside an own line; the same text if there is none."""
    if len(text) > _LONGEST_TEXT:
        return text
    if "\n" not in text.strip():
        return _without_text_after(text)
    blocks = _blocks(text)
    own = [at for at, block in enumerate(blocks) if _is_own(block, at in {0, len(blocks) - 1})]
    body = [block for at, block in enumerate(blocks) if at not in own]
    if not own or not body:
        return text
    lines = [blocks[at] for at in own]
    about = _about_a_paste(lines, body)
    if not about:
        return text
    return "\n\n".join(line for line in lines if line not in about or _sets_a_limit(line))


def _sets_a_limit(line: str) -> bool:
    """Whether a line about a paste also says what the agent must not do; "sort this" is only a task."""
    return _words().opening.match(line.strip().lower()) is None and constraint_in(line) is not None


def _without_text_after(line: str) -> str:
    """A line without the text that it asks to read: "Explain this sentence: …" """
    head, colon, text = line.partition(": ")
    lowered = head.lower()
    words = _words()
    if (
        not text
        or len(head) > _SHORT_REMARK
        or not words.reading.search(lowered)
        or not words.pointing.search(lowered)
        or _orders(lowered)
    ):
        return line
    return head + colon


def _blocks(text: str) -> list[str]:
    """The paragraphs; a first or last line that can be the person's own is one by itself."""
    blocks = [block.strip("\n") for block in _BLANK.split(text.strip()) if block.strip()]
    first, _, rest = blocks[0].partition("\n")
    if rest and _is_own(first, True) and (_leads_to_text(first) or _is_foreign(rest.splitlines())):
        blocks[:1] = [first, rest]
    rest, _, last = blocks[-1].rpartition("\n")
    if rest and last.rstrip().endswith(_ENDS) and _is_own(last, True):
        blocks[-1:] = [rest, last]
    return blocks


def _is_own(block: str, is_outer: bool) -> bool:
    """Whether a paragraph is one line in the person's voice: a question, a request or a remark.

    A paragraph between others is the person's only if it continues the conversation.
    """
    line = block.strip()
    if "\n" in line or len(line) > _LONGEST_LINE:
        return False
    if _words().own.match(line.lower()):
        return is_outer
    if (
        not is_outer
        or line.startswith("#")
        or (_has_foreign_form(line) and not line.endswith((*_ENDS, *_ANNOUNCES)))
    ):
        return False
    return _asks(line) or (len(line) <= _SHORT_REMARK and constraint_in(line) is None)


def _leads_to_text(line: str) -> bool:
    """Whether a line is about what follows it directly: a question, an announcement, or "summarise this"."""
    points = _words().pointing.search(line.lower()) is not None
    return line.rstrip().endswith((*_ENDS, *_ANNOUNCES)) or (points and _asks(line))


def _asks(line: str) -> bool:
    line = line.strip()
    return line.endswith((*_ENDS, *_ANNOUNCES)) or bool(_words().reading.search(line.lower()))


def _about_a_paste(own: list[str], body: list[str]) -> set[str]:
    """The person's lines that ask about the other paragraphs; empty if the person wrote those too."""
    words = _words()
    lines = [line for block in body for line in block.splitlines() if line.strip()]
    if _is_code(lines):
        return set(own)
    if any(_orders(line.strip().lower()) or _introduces_rules(line) for line in own):
        return set()
    is_foreign = _is_foreign(lines)
    return {line for line in own if _is_about(line.strip().lower(), lines, is_foreign, words)}


def _introduces_rules(line: str) -> bool:
    """Whether a line states a limit and announces what it applies to: "Never do any of this:"."""
    return line.rstrip().endswith(_ANNOUNCES) and constraint_in(line) is not None


def _orders(line: str) -> bool:
    """Whether a line orders work, announces the person's rules, or asks the agent about its work."""
    words = _words()
    if words.about_work.search(line):
        return True
    is_question = line.endswith(_ENDS) and " you" not in line
    return not is_question and (words.order.search(line) or words.ruling.search(line)) is not None


def _is_about(line: str, lines: list[str], is_foreign: bool, words: "_BesideWords") -> bool:
    reads, points = words.reading.search(line) is not None, words.pointing.search(line) is not None
    if reads and points:
        return not words.order.match(lines[0].strip(_FURNITURE).lower())
    asks = reads or line.endswith(_ENDS)
    if not (asks or points or (line.endswith(_ANNOUNCES) and is_foreign)) or _is_in_own_voice(lines):
        return False
    if is_foreign or points:
        return True
    is_list = lines[0].lstrip().startswith(("-", "*", "•"))
    return asks and not is_list and max(map(len, lines)) < _RUNNING


def _is_in_own_voice(lines: list[str]) -> bool:
    """Whether lines continue the conversation, order work, announce rules, or ask the agent for something."""
    words = _words()
    lowered = [line.strip(_FURNITURE).lower() for line in lines]
    first = lowered[0]
    announces = words.ruling.search(first) is not None and first.endswith(_ANNOUNCES)
    if announces or words.own.match(first) or words.order.match(first):
        return True
    if any(map(words.asking.search, lowered)) and not any(map(_is_salutation, lines)):
        return True
    return len(lines) == 1 and (words.imperative.match(first) is not None or word_group("acts").opens(first))


def _is_code(lines: list[str]) -> bool:
    """Whether most lines are code or settings, which an order can be about as well."""
    coded = sum(_words().code.match(line.lower()) is not None for line in lines)
    return coded > 1 and 2 * coded > len(lines)


def _is_foreign(lines: list[str]) -> bool:
    """Whether the lines have a form in which people do not write to an agent: a title, a letter, a table, code."""
    lines = [line for line in lines if line.strip()]
    return any(map(_has_foreign_form, lines)) or (len(lines) > 1 and _is_head(lines[0].strip(" \t*#")))


def _has_foreign_form(line: str) -> bool:
    return _words().foreign.match(line.strip().lower()) is not None


def _is_head(line: str) -> bool:
    """Whether a line is a title or a salutation."""
    if _is_salutation(line):
        return True
    is_title = (
        0 < len(line) <= _MAX_TITLE and line[-1].isalnum() and not line[0].islower() and line[0].isalnum()
    )
    return is_title and constraint_in(line) is None and not _words().imperative.match(line.lower())


def _is_salutation(line: str) -> bool:
    return _SALUTATION.fullmatch(line.strip()) is not None


@cache
def _words() -> _BesideWords:
    data = tomllib.loads(files("plimsoll.context.ledger").joinpath("pasted.toml").read_text("utf-8"))
    beside = data["beside"]
    return _BesideWords(
        re.compile(beside["reading"]),
        re.compile(beside["pointing"]),
        re.compile(beside["opening"]),
        re.compile(beside["order"]),
        re.compile(beside["about_work"]),
        re.compile(beside["ruling"]),
        re.compile(beside["own"]),
        re.compile(beside["asking"]),
        re.compile("|".join(f"(?:{item})" for item in beside["foreign"])),
        re.compile("|".join(f"(?:{item})" for item in beside["code"])),
        re.compile(data["imperatives"]),
    )
