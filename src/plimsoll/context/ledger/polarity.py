"""Whether two sentences are about the same thing and contradict each other.

Never push to main.          Pushing to main is allowed.        contradict
Never push to main.          Never push to the release branch.  do not
"""

import re
from functools import lru_cache
from itertools import pairwise

from plimsoll.context.ledger.words import content_words

_SAME = 0.6  # minimum share of the shorter clause's words for two clauses to be about the same thing
_NEGATIVE = re.compile(
    r"\b(?:not|never|no|don'?t|doesn'?t|mustn'?t|shouldn'?t|can'?t|cannot|without|avoid|forbidden|prohibited"
    r"|nie|niemals|nicht|kein\w*|jamais|pas|nunca|jamás|não|non|nooit|niet|nigdy|никогда|не|нельзя|asla|aldrig)\b"
    r"|不|禁止|勿|ない|안 |마세요|말",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:.](?:\s+|$)|[，、。；]\s*|\s+(?:and|but|und|aber|et|mais|y|pero)\s+")
_TURN = re.compile(
    r"[;:.。；]|\b(?:but|instead|sondern|aber|sino|pero|mas|mais|ma)\b|而是|但是?", re.IGNORECASE
)
_COMMA = re.compile(r"[,，、]")
_OR = re.compile(r"\b(?:or|nor|oder|noch|ou|ni|nem)\b|或", re.IGNORECASE)
_REST = re.compile(r"[,;:.，。；]|\b(?:and|but|und|aber|sondern|et|mais|y|pero|e|mas)\b", re.IGNORECASE)
_LIMITS = re.compile(
    r"\b(?:only|unless|except|until|without|nur|außer|ohne|bis|erst|solo|sólo|salvo|excepto|sin|hasta|só|exceto|sem|até"
    r"|seulement|sauf|sans)\b|以外|才|までは",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    r"\b(?:instead|rather than|stop|skip|remove|drop|statt|anstatt|sondern|lieber|en (?:lugar|vez) de|em vez de"
    r"|au lieu)\b|而不是|代わり",
    re.IGNORECASE,
)
_FORBIDDEN = re.compile(r"\b(?:do not|don'?t|never)\s+([a-z]{4,})", re.IGNORECASE)


def contradicts(sentence: str, stated: str) -> bool:
    """Whether a clause of a sentence contradicts a clause of another."""
    said = _clauses(sentence)
    return any(
        negative != was_negative and _is_about(words, about)
        for about, was_negative in _clauses(stated)
        for words, negative in said
    ) or _forbids(sentence, stated)


def is_about(sentence: str, stated: str) -> bool:
    """Whether a sentence is about the same thing as a clause of another one."""
    words = content_words(sentence)
    return any(_is_about(words, about) for about, _ in _clauses(stated))


def denies(sentence: str) -> bool:
    """Whether a sentence contains a negation."""
    return _NEGATIVE.search(sentence) is not None


def limits(sentence: str) -> bool:
    """Whether a sentence rules something out by what it asks for instead."""
    return _LIMITS.search(sentence) is not None or _INSTEAD.search(sentence) is not None


def is_restricted(sentence: str, start: int, end: int) -> bool:
    """Whether the rest of a sentence denies or limits a piece of it.

    not squash and [push to main]       denied        push to main [is not allowed]     denied
    not squash, use [a branch]          is not: a new clause, and no list
    [push to main] only on Fridays      limited
    """
    before = _TURN.split(sentence[:start])[-1]
    negative = list(_NEGATIVE.finditer(before))
    if negative:
        is_list = _OR.search(sentence[negative[-1].end() :]) is not None
        if is_list or not _COMMA.search(before, negative[-1].end()):
            return True
    after = _REST.split(sentence[end:])[0]
    return _NEGATIVE.search(after) is not None or _LIMITS.search(after) is not None


def _forbids(sentence: str, stated: str) -> bool:
    """Whether a sentence forbids what another one asked for: "do not fallback" after "fall back to …"."""
    named = {verb.lower() for verb in _FORBIDDEN.findall(sentence)}
    if not named or _NEGATIVE.search(stated):
        return False
    words = re.findall(r"[a-z]+", stated.lower())
    joined = {first + second for first, second in pairwise(words)}
    return any(verb in joined for verb in named)


def _is_about(words: frozenset[str], about: frozenset[str]) -> bool:
    common = len(words & about)
    return common >= 2 and common >= min(len(words), len(about)) * _SAME


@lru_cache(maxsize=4_096)
def _clauses(sentence: str) -> tuple[tuple[frozenset[str], bool], ...]:
    """The clauses of a sentence: the content words of each, and whether it contains a negation."""
    clauses = ((content_words(clause), clause) for clause in _CLAUSE.split(sentence))
    return tuple((words, _NEGATIVE.search(clause) is not None) for words, clause in clauses if words)
