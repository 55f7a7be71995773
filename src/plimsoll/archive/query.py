"""Search queries, and the index terms derived from them.

    words       parse_config "exact phrase" conf*     all of them, anywhere in a message
    substring   rse_conf                              the exact characters, ignoring case
    regex       parse_\\w+\\(                           narrowed by the literals that every match must contain

Pure: turns a query into an index expression and a matcher. The matcher checks every candidate
against the message, so the index may return too much but never too little.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from plimsoll.archive.encoding import UNSPACED, spaced, storable
from plimsoll.errors import UserError
from plimsoll.messages import Message

# Decides about a message, given the preceding assistant message if it is a tool result.
MessagePredicate: TypeAlias = Callable[[Message, Message | None], bool]
Mode = Literal["words", "substring", "regex"]
Order = Literal["newest", "oldest", "relevance"]

GRAM = 3  # characters per entry of the substring index
LONGEST = 1_000  # characters of a query
# Alternatives, free spacing, numbered or named escapes, fuzzy counts: no literals are derived from these.
_OPAQUE = re.compile(r"\||\(\?[a-zA-Z]*x|\\[0-9xuUNpPgkKLQRX]|\{(?![0-9,])")
_TERM = re.compile(r'"([^"]+)"|(\S+)')
_TOKEN = re.compile(f"[{UNSPACED}]|[^\\W_{UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A search. `first` and `last` limit it to a range of one session's messages, `accepts` filters them."""

    text: str
    mode: Mode = "words"
    session: str | None = None
    first: int | None = None
    last: int | None = None
    role: str | None = None
    since: float | None = None
    before: float | None = None
    order: Order = "newest"
    limit: int = 20
    cursor: int | None = None  # `next` of the previous page
    deadline: float = 5.0  # seconds after which an incomplete page is returned
    accepts: MessagePredicate | None = None

    def __post_init__(self) -> None:
        if not (self.text if self.mode == "regex" else self.text.strip()):
            raise UserError("The search text is empty.")
        if len(self.text) > LONGEST:
            raise UserError(
                f"A search text may have at most {LONGEST:,} characters; this one has {len(self.text):,}."
            )
        if self.limit < 1:
            raise UserError(f"limit must be at least 1, not {self.limit}.")
        if self.session is None and (self.first is not None or self.last is not None):
            raise UserError("A range of messages needs a session.")
        if self.order == "relevance" and self.mode != "words":
            raise UserError(
                "Only word searches can be ordered by relevance; use newest for substrings and patterns."
            )


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A matching message: its position, and an excerpt with the matched ranges."""

    session: str
    sequence: int
    role: str
    time: float
    snippet: str
    marks: tuple[tuple[int, int], ...]  # start and end within the snippet


@dataclass(frozen=True, slots=True)
class SearchPage:
    """Hits in order. `next` continues after the last one; None if there are no more.

    If `complete` is false, the search reached its deadline; `next` continues from there.
    """

    hits: tuple[SearchHit, ...]
    next: int | None = None
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Term:
    """One word or phrase that a message must contain."""

    text: str
    prefix: bool = False

    @property
    def tokens(self) -> list[str]:
        """Its words as the word index has them."""
        return _TOKEN.findall(self.text)


def terms_of(text: str) -> list[Term]:
    """The words and quoted phrases of a query."""
    terms = []
    for phrase, word in _TERM.findall(text):
        bare = word.rstrip("*") if not phrase else ""
        terms.append(Term(phrase or bare or word, bool(bare) and word.endswith("*")))
    return terms


def has_words(text: str) -> bool:
    """Whether every term contains a word; the word index does not cover signs such as `=>`."""
    terms = terms_of(text)
    return bool(terms) and all(term.tokens for term in terms)


def word_expression(text: str) -> str:
    """The query for an FTS5 index of words."""
    return " AND ".join(
        f"{_quoted(spaced(storable(term.text)))}{' *' if term.prefix else ''}" for term in terms_of(text)
    )


def gram_expression(literals: list[str]) -> str | None:
    """The query for an FTS5 trigram index; None if no literal is long enough."""
    grams: dict[str, None] = {}
    for literal in literals:
        folded = storable(literal).lower()
        grams.update(dict.fromkeys(folded[at : at + GRAM] for at in range(len(folded) - GRAM + 1)))
    return " AND ".join(map(_quoted, grams)) or None


def word_pattern(text: str) -> str:
    """A pattern that finds each word of the query in a text, to mark it."""
    pieces = []
    for term in terms_of(text):
        tokens = [re.escape(token) for token in term.tokens]
        unspaced = re.match(f"[{UNSPACED}]", term.text) is not None
        ends = "" if term.prefix or unspaced else r"(?![^\W_])"
        starts = "" if unspaced else r"(?<![^\W_])"
        pieces.append(f"{starts}{'[^0-9A-Za-z]*?'.join(tokens)}{ends}")
    return "|".join(pieces)


def literals_of(pattern: str) -> list[str]:
    """Literals that every match of a regular expression must contain; empty if unsure."""
    if _OPAQUE.search(pattern):
        return []
    return [run for run in _runs(pattern) if len(run) >= GRAM]


def _runs(pattern: str) -> Iterator[str]:
    """Runs of plain characters outside groups and classes, all of which every match must contain."""
    run, at = "", 0
    while at < len(pattern):
        character, width = _literal(pattern, at)
        at += width
        minimum, quantifier = _quantifier(pattern, at)
        at += quantifier
        if character is not None and quantifier == 0:
            run += character
            continue
        if character is not None and minimum > 0:
            run += character
        yield run
        run = ""
    yield run


def _literal(pattern: str, at: int) -> tuple[str | None, int]:
    """The plain character at a position (None for anything else), and its width in the pattern."""
    sign = pattern[at]
    if sign == "\\":
        following = pattern[at + 1 : at + 2]
        return (following, 2) if following and not following.isalnum() else (None, 2)
    if sign == "[":
        return None, _class_width(pattern, at)
    if sign == "(":
        return None, _group_width(pattern, at)
    return (None, 1) if sign in ".^$*+?{}" else (sign, 1)


def _quantifier(pattern: str, at: int) -> tuple[int, int]:
    """How often the piece before must occur, and the width of the quantifier; (1, 0) without one."""
    found = re.compile(r"([*?]|\+|\{(\d*)(?:,\d*)?\})[?+]?").match(pattern, at)
    if found is None:
        return 1, 0
    sign = found[1]
    return (1 if sign == "+" else int(found[2] or 0) if sign[0] == "{" else 0), len(found[0])


def _class_width(pattern: str, at: int) -> int:
    end = at + 1
    if pattern[end : end + 1] == "^":
        end += 1
    end += 1  # a bracket in the first position is a member
    while end < len(pattern) and pattern[end] != "]":
        end += 2 if pattern[end] == "\\" else 1
    return end + 1 - at


def _group_width(pattern: str, at: int) -> int:
    depth, end = 0, at
    while end < len(pattern):
        sign = pattern[end]
        if sign == "\\":
            end += 2
            continue
        if sign == "[":
            end += _class_width(pattern, end)
            continue
        depth += {"(": 1, ")": -1}.get(sign, 0)
        end += 1
        if depth == 0:
            break
    return end - at


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
