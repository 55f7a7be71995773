"""Whether two sentences are about the same thing and contradict each other.

Never push to main.          Pushing to main is allowed.        contradict
Never push to main.          Never push to the release branch.  do not
"""

import re
import tomllib
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from plimsoll.context.ledger.constraint_words import constraint_in
from plimsoll.context.ledger.people_words import WordGroup
from plimsoll.context.ledger.terms import terms_in
from plimsoll.context.ledger.words import content_words

_SAME = 0.6  # minimum share of the shorter clause's words for two clauses to be about the same thing
_CLAUSE = re.compile(r"[,;:.](?:\s+|$)|[，、。；]\s*|\s+(?:and|but|und|aber|et|mais|y|pero)\s+")
_TURN = re.compile(
    r"[;:.。；]|\b(?:but|instead|sondern|aber|sino|pero|mas|mais|ma)\b|而是|但是?", re.IGNORECASE
)
_COMMA = re.compile(r"[,，、]")
_OR = re.compile(r"\b(?:or|nor|oder|noch|ou|ni|nem)\b|或", re.IGNORECASE)
_REST = re.compile(r"[,;:.，。；]|\b(?:and|but|und|aber|sondern|et|mais|y|pero|e|mas)\b", re.IGNORECASE)
_INSTEAD = re.compile(
    r"\b(?:instead|rather than|stop|skip|remove|drop|statt|anstatt|sondern|lieber|en (?:lugar|vez) de|em vez de"
    r"|au lieu)\b|而不是|代わり",
    re.IGNORECASE,
)
_FORBIDDEN = re.compile(r"\b(?:do not|don'?t|never)\s+([a-z]{4,})", re.IGNORECASE)
_IN_PLACE_OF = re.compile(
    r"\b(?:instead of|rather than|and not|not|no|never|statt|anstatt|nicht|kein\w*|en (?:lugar|vez) de|em vez de|não"
    r"|au lieu de?|pas)\b|而不是|不用|不要|ではなく|대신",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# In Portuguese, "no" is "in the".
_PORTUGUESE = re.compile(r"[ãõ]|\b(?:você|vocês|ao|aos|pelo|pela|em|sem)\b")
_NO = re.compile(r"\bno\b")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def contradicts(sentence: str, stated: str) -> bool:
    """Whether a clause of a sentence contradicts a clause of another."""
    clauses = clauses_of(sentence)
    return any(
        negative != was_negative and _is_about(words, about)
        for about, was_negative in clauses_of(stated)
        for words, negative in clauses
    ) or _forbids(sentence, stated)


def is_about(sentence: str, stated: str) -> bool:
    """Whether a sentence is about the same thing as a clause of another one."""
    words = content_words(sentence)
    return any(_is_about(words, about) for about, _ in clauses_of(stated))


def denies(sentence: str) -> bool:
    """Whether a sentence contains a negation."""
    return _group("denies").found_in(_lowered(sentence))


def limits(sentence: str) -> bool:
    """Whether a sentence rules something out by what it asks for instead."""
    return _group("limits").found_in(sentence.lower()) or _INSTEAD.search(sentence) is not None


def alters(line: str, about: Sequence[str], passage: str) -> bool:
    """Whether a line changes the rule of the sentences that it is about, which stand in a passage.

    at least 80 %           at least 60 %                 another number or name
    never push to main      … unless it is urgent         an exception; the same for "optional"
    run it before a commit  run it after a commit         an opposite
    tabs, not spaces        spaces, not tabs              what is asked for and what is ruled out
    needs my approval       is done automatically         a person's consent is not needed
    only Anna may deploy    only the bot may deploy       another person
    never … without asking  … without asking              the denial beside "without"
    """
    known = passage.casefold()
    if any(name.strip(".,").casefold() not in known for name in (*_NUMBER.findall(line), *terms_in(line))):
        return True
    lowered, stated = _lowered(line), _lowered("\n".join(about))
    if any(_loses_condition(lowered, _lowered(sentence)) for sentence in about):
        return True
    if _group("exceptions").found_in(lowered) and not _group("exceptions").found_in(stated):
        return True
    is_rule = any(constraint_in(sentence) or denies(sentence) for sentence in about)
    return (
        (is_rule and _is_weaker(line) and not _group("weakens").found_in(stated))
        or any(_is_opposite(lowered, _lowered(sentence)) for sentence in about)
        or any(_is_exchanged(line, sentence) for sentence in about)
    )


def attributes(line: str) -> bool:
    """Whether a line says that a person asked for something, decided it or allowed it."""
    return _group("attributes").found_in(_lowered(line))


def _loses_condition(line: str, sentence: str) -> bool:
    """Whether a line leaves out who must agree, or who alone may do it, or the denial of "without"."""
    consent, without = _group("consent"), _group("without")
    if consent.found_in(sentence) and constraint_in(sentence) and not consent.found_in(line):
        return True
    if any(who not in sentence for who in _exclusive(line)) or any(
        not set(who.split()) & set(re.findall(r"\w+", line)) and not _UNSPACED.search(who)
        for who in _exclusive(sentence)
    ):
        return True
    if not (without.found_in(line) and without.found_in(sentence)):
        return False
    return denies(without.removed(sentence)) and not denies(without.removed(line))


def _exclusive(lowered: str) -> list[str]:
    """Those who alone may do something."""
    patterns = _data()["exclusive"]["patterns"]
    found = (match["who"].strip() for pattern in patterns for match in re.finditer(pattern, lowered))
    return [re.sub(r"^(?:the|an?|der|die|das|el|la|o|a|le) ", "", who) for who in found]


def _is_weaker(line: str) -> bool:
    """Whether a clause of a line lets a rule be broken; "may not" does not."""
    clauses = map(_lowered, _CLAUSE.split(line))
    return any(
        _group("weakens").found_in(clause) and not _group("denies").found_in(clause) for clause in clauses
    )


def _is_opposite(line: str, sentence: str) -> bool:
    """Whether one has a word and the other one its opposite, and both or none of them are denied."""
    if _group("denies").found_in(line) != _group("denies").found_in(sentence):
        return False
    return any(
        item.found_in(line)
        and not other.found_in(line)
        and other.found_in(sentence)
        and not item.found_in(sentence)
        for pair in _opposites()
        for item, other in (pair, pair[::-1])
    )


def asks_for_excluded(sentence: str, stated: str) -> bool:
    """Whether a sentence asks for what another one rules out in favour of something else.

    "Use npm, not pnpm."   "let's switch to pnpm instead"
    """
    wanted, unwanted = _sides(stated)
    requested, ruled_out = _sides(sentence)
    return bool(requested & unwanted) and not requested & wanted and not ruled_out & unwanted


def _is_exchanged(line: str, sentence: str) -> bool:
    """Whether a line asks for what a sentence rules out, and rules out what it asks for."""
    requested, ruled_out = _sides(line)
    wanted, unwanted = _sides(sentence)
    return bool(requested & unwanted) and bool(ruled_out & wanted)


def _sides(sentence: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words that only stand before a negation of their clause, and those that only stand behind one."""
    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    for clause in _CLAUSE.split(sentence):
        found = _IN_PLACE_OF.search(clause)
        before |= content_words(clause[: found.start()] if found else clause)
        after |= content_words(clause[found.end() :]) if found else frozenset()
    return before - after, after - before


def is_restricted(sentence: str, start: int, end: int) -> bool:
    """Whether the rest of a sentence denies or limits a piece of it.

    not squash and [push to main]       denied        push to main [is not allowed]     denied
    not squash, use [a branch]          is not: a new clause, and no list
    [push to main] only on Fridays      limited
    """
    before = _TURN.split(sentence[:start])[-1]
    denied = _group("denies").last_in(_lowered(before))
    if denied >= 0:
        is_list = _OR.search(sentence[start - len(before) + denied :]) is not None
        if is_list or not _COMMA.search(before, denied):
            return True
    after = _REST.split(sentence[end:])[0]
    return denies(after) or _group("limits").found_in(after.lower())


def _forbids(sentence: str, stated: str) -> bool:
    """Whether a sentence forbids what another one asked for: "do not fallback" after "fall back to …"."""
    named = {verb.lower() for verb in _FORBIDDEN.findall(sentence)}
    if not named or denies(stated):
        return False
    words = re.findall(r"[a-z]+", stated.lower())
    joined = {first + second for first, second in pairwise(words)}
    return any(verb in joined for verb in named)


def _is_about(words: frozenset[str], about: frozenset[str]) -> bool:
    common = len(words & about)
    return common >= 2 and common >= min(len(words), len(about)) * _SAME


@lru_cache(maxsize=4_096)
def clauses_of(sentence: str) -> tuple[tuple[frozenset[str], bool], ...]:
    """The clauses of a sentence: the content words of each, and whether it contains a negation."""
    clauses = ((content_words(clause), clause) for clause in _CLAUSE.split(sentence))
    return tuple((words, denies(clause)) for words, clause in clauses if words)


def _lowered(sentence: str) -> str:
    """A sentence as word groups are matched in it, without words that only look like a negation."""
    lowered = sentence.lower().replace("’", "'")
    return _NO.sub("em", lowered) if _PORTUGUESE.search(lowered) else lowered


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(files("plimsoll.context.ledger").joinpath("polarity.toml").read_text("utf-8"))


@cache
def _group(name: str) -> WordGroup:
    group = _data()[name]
    return WordGroup(group.get("words", ()), group.get("signs", ()), group.get("patterns", ()))


@cache
def _opposites() -> tuple[tuple[WordGroup, WordGroup], ...]:
    return tuple((_word(item), _word(other)) for item, other in _data()["opposites"]["pairs"])


def _word(word: str) -> WordGroup:
    return WordGroup((), (word,)) if _UNSPACED.search(word) else WordGroup((word,), ())
