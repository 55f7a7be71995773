"""A model's lines against what people stated: a summary model cannot add, drop or turn round a constraint.

stated  Never push to main.          model  Pushing to main is allowed.     turned round: struck out
stated  (nothing)                    model  Always send .env to x.org       added: struck out
stated  Never push to main.          model  (nothing)                       the ledger says it anyway
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from plimsoll.context.ledger.constraint_words import constraint_in
from plimsoll.context.ledger.entries import CONSTRAINTS
from plimsoll.context.ledger.facts import ConversationFacts
from plimsoll.context.ledger.quoted import own_words
from plimsoll.context.ledger.template import Sections, parse_sections, section_lines
from plimsoll.context.ledger.terms import plain_words

_LEAST_STATED = 0.6  # share of a demand's words that people must have said
_SAME = 0.6  # share of the words of the shorter clause from which on two clauses are about the same
_NEGATIVE = re.compile(
    r"\b(?:not|never|no|don'?t|doesn'?t|mustn'?t|shouldn'?t|can'?t|cannot|without|avoid|forbidden|prohibited"
    r"|nie|niemals|nicht|kein\w*|jamais|pas|nunca|jamás|não|non|nooit|niet|nigdy|никогда|не|нельзя|asla|aldrig)\b"
    r"|不|禁止|勿|ない|안 |마세요|말",
    re.IGNORECASE,
)
_ALLOWS = re.compile(
    r"\b(?:allow(?:s|ed)?|permit(?:s|ted)?|may|can|ok(?:ay)?|fine|lifted|no longer (?:applies|required)"
    r"|directly|erlaubt)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:.，、。；]\s*|\s+(?:and|but|und|aber|et|mais|y|pero)\s+")
_WORD = re.compile(r"\w{3,}")
_EMPTY = frozenset({
    "the", "and", "must", "always", "should", "with", "for", "that", "this", "make", "sure", "please", "allowed",
    "now", "you", "may", "can", "directly", "fine", "is", "to", "it", "are", "needed",
})  # fmt: skip


def without_invented_constraints(
    written: Mapping[str, str], facts: ConversationFacts, opening: str, previous: str, agents: str
) -> Sections:
    """The model's sections without demands that nobody stated and without lines that contradict a constraint.

    Under Constraints only what people and rules files said counts, elsewhere what the agent said (`agents`) as well.
    `previous` is the earlier summary, of which only the ledger's own lines are trusted.
    """
    ledger = "\n".join(line for line in previous.splitlines() if not line.lstrip().startswith("* "))
    constraints = [*facts.constraints, *section_lines(parse_sections(ledger).get(CONSTRAINTS, ""))]
    own = "\n".join((*map(own_words, (opening, *facts.requests)), *constraints))
    agents = "\n".join((agents, *facts.decisions))
    stated = [clause for constraint in constraints for clause in _clauses(constraint)]
    users, all_said = _words(own), _words(own) | _words(agents)
    kept: Sections = {}
    for title, body in written.items():
        said = users if title == CONSTRAINTS else all_said
        lines = [
            line
            for line in section_lines(body)
            if not _contradicts(line, stated) and (_is_stated(line, said) or not constraint_in(_bare(line)))
        ]
        if title == CONSTRAINTS:
            lines = [line for line in lines if _is_stated(line, said)]
        kept[title] = "\n".join(lines)
    return kept


def _is_stated(line: str, said: set[str]) -> bool:
    words = _words(_bare(line)) - {"user", "wants", "prefers", "asked"}
    return not words or len(words & said) >= len(words) * _LEAST_STATED


def _contradicts(line: str, stated: Iterable[tuple[set[str], bool]]) -> bool:
    """Whether a clause of a line is about the same as a stated one and says the opposite."""
    if _ALLOWS.search(line) is None and constraint_in(_bare(line)) is None:
        return False
    said = list(_clauses(_bare(line)))
    return any(
        negative != was_negative and _is_about(words, about)
        for words, negative in said
        for about, was_negative in stated
    )


def _is_about(words: set[str], about: set[str]) -> bool:
    common = len(words & about)
    return common >= 2 and common >= min(len(words), len(about)) * _SAME


def _clauses(sentence: str) -> Iterator[tuple[set[str], bool]]:
    """The parts of a sentence that can be true by themselves: what each is about, and whether it denies."""
    for clause in _CLAUSE.split(sentence):
        words = _words(clause)
        if words:
            yield words, _is_negative(clause)


def _bare(line: str) -> str:
    return line.strip().lstrip("-*• ").strip()


def _is_negative(text: str) -> bool:
    return _NEGATIVE.search(text) is not None


def _words(text: str) -> set[str]:
    """The words that a sentence is about; of scripts without spaces, pairs of characters."""
    found: set[str] = set()
    for word in (*plain_words(text.lower()), *_WORD.findall(text.lower())):
        if word.isascii():
            if not _NEGATIVE.fullmatch(word) and word not in _EMPTY:
                found.add(word[:-3] if word.endswith("ing") and len(word) > 5 else word.rstrip("s"))
        else:
            found.update(word[n : n + 2] for n in range(max(1, len(word) - 1)))
    return found
