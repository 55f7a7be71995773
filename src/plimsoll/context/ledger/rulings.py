"""The limits and wishes that people stated, and which of them they revoked.

    "Never use tabs."              in force
    "tabs are fine now"            the first is revoked, by this message
    "don't change anything"        ends when the person asks for a change
    "Diese Funktion gibt nie null zurück"   a description: not a rule

A sentence with words that set a limit is a rule; one that only says how to do the current work is a wish.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from plimsoll.context.ledger.constraint_words import constraint_in, without_narration, without_states
from plimsoll.context.ledger.listed_rules import listed_sentences
from plimsoll.context.ledger.people_words import is_reply, word_group
from plimsoll.context.ledger.polarity import asks_for_excluded, contradicts, denies
from plimsoll.context.ledger.requests import asks_to_know
from plimsoll.context.ledger.sentences import sentences_of
from plimsoll.context.ledger.state import StatedConstraint
from plimsoll.context.ledger.statements import beginning_of, bounded_sentence
from plimsoll.context.ledger.values import supersedes
from plimsoll.context.ledger.wishes import (
    is_description,
    is_order,
    is_wish,
    without_quotes,
    without_statements,
)
from plimsoll.context.ledger.words import content_words
from plimsoll.secrets import redact

_READ = 4_000  # characters of a message that are searched
_LONGEST_ORDERS = 1_500  # characters; orders in a longer message are items of a plan
_MAX_WISHES = 60  # wishes to keep; the oldest are dropped
_SOME = 0.5  # share of a limit's words that a permission must name
_SIGNS = " ,;:.!?-–—()"
_STEM = 6  # leading letters that identify words with the same root
_NUMBERED = re.compile(r"^\s*\(?\d{1,2}[.):]\s+(\S.*)$", re.MULTILINE)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
# A name is a word with a capital letter inside a sentence.
_EXCLUDED = re.compile(
    r"\b(?:no|not|without|drop|forget|instead of|rather than|kein|keine|nicht|statt|sin|sem|pas de|en vez de)"
    r" (?P<name>[A-Z][\w.+-]*\w)"
)
_NAME = re.compile(r"(?<=[\w,] )[A-Z][\w.+-]*\w")
_CLAUSE = re.compile(r"[,;:，、。；]\s*")
_JOINED = re.compile(r"(?=[,;，；]\s|\s(?:and|und|y|e|et)\s)")
_JOINT = re.compile(r"^[,;，；]?\s*(?:(?:and|und|y|e|et)\s+)?")
_SET_TO = re.compile(r"\b(?:push|raise|lower|increase|set|make|go|change|bump|reduce)\b[^.\d]{0,16}\d")
_LIMITED_TO = re.compile(r"\b(?:limit|max|at most|up to|cap)\w*\b[^.\d]{0,24}\d")


def rulings_in(text: str, source: int) -> Iterator[StatedConstraint]:
    """The person's sentences that state a limit or a wish, verbatim."""
    yield from _numbered_answers(text, source)
    is_plan = len(text) > _LONGEST_ORDERS
    for said in listed_sentences(redact(beginning_of(text, _READ))):
        if is_description(said.text):
            continue
        own = without_statements(without_quotes(said.text))
        if not own.strip(_SIGNS):
            continue
        own = without_narration(own)
        if is_plan:  # it also describes how things are: "the data is never stored"
            own = without_states(own)
        found = constraint_in(said.text) if constraint_in(own) else None
        # The items of a plan are work to do, whatever introduces them.
        is_rule = found is not None or (said.is_rule and not is_plan)
        is_wished = is_rule or (said.is_limited and not is_plan) or is_wish(own, orders=not is_plan)
        if is_wished and (bounded := said.bounded(found.start() if found else 0)):
            yield StatedConstraint(bounded, source, is_rule=is_rule)


def _numbered_answers(text: str, source: int) -> Iterator[StatedConstraint]:
    """The answers to numbered questions: if some are only yes or no, the others are wishes."""
    items = [" ".join(found[1].split()) for found in _NUMBERED.finditer(text[:_READ])]
    if len(items) > 1 and any(map(is_reply, items)):
        for item in items:
            if not is_reply(item) and not asks_to_know(item) and len(content_words(item)) > 1:
                yield StatedConstraint(bounded_sentence(item, 0), source, is_rule=False)


@dataclass(slots=True)
class Rulings:
    """Limits in force, wishes about the current work, and revoked ones."""

    constraints: dict[str, StatedConstraint]
    wishes: dict[str, StatedConstraint]
    revoked: dict[str, StatedConstraint]

    def read(self, text: str, source: int, before: int = -1) -> None:
        """Read a message: revoke what it revokes, and add its limits and wishes; `before` is the last message."""
        rulings = list(rulings_in(text, source))
        has_revoked = self.revoke(text, source, before, rulings)
        for ruling in rulings:
            if not _only_revokes(ruling.text, has_revoked):
                kind = self.constraints if ruling.is_rule else self.wishes
                for known in (self.revoked, self.constraints, self.wishes):
                    known.pop(ruling.text, None)
                for said_before in _repeated(ruling.text, self.wishes):
                    del self.wishes[said_before]
                kind[ruling.text] = ruling
        for key in list(self.wishes)[: max(0, len(self.wishes) - _MAX_WISHES)]:
            del self.wishes[key]

    def revoke(
        self, text: str, source: int, before: int = -1, rulings: Sequence[StatedConstraint] = ()
    ) -> bool:
        """Remove what a message revokes; return whether it revokes anything."""
        held = {**self.wishes, **self.constraints}
        found = dict.fromkeys(_taken_back(held, text, rulings, source, before))
        for key in found:
            kind = self.constraints if key in self.constraints else self.wishes
            one = kind.pop(key, None)
            if one is not None:
                self.revoked.pop(key, None)
                self.revoked[key] = replace(one, revoked_by=source)
                for clause in _clauses_left(key, text):
                    kind[clause] = replace(one, text=clause)
        return bool(found)


def _repeated(sentence: str, wishes: dict[str, StatedConstraint]) -> list[str]:
    """The wishes that a sentence says again, with each of their words."""
    words = content_words(sentence)
    return [one for one in wishes if denies(one) == denies(sentence) and content_words(one) <= words]


def _clauses_left(limit: str, text: str) -> list[str]:
    """The remaining limits of a sentence after a message revokes some of them."""
    clauses = _clauses(limit)
    sentences = sentences_of(text)
    words = content_words(" ".join(filter(_takes_back, sentences)) or text)
    left = [one for one in clauses if not _shared(content_words(one), words)]
    return left if len(left) < len(clauses) else []


def _takes_back(sentence: str) -> bool:
    lowered = sentence.lower().replace("’", "'")
    return any(word_group(name).found_in(lowered) for name in ("voids", "permits", "changes"))


def _clauses(limit: str) -> list[str]:
    """The limits in one sentence, each with its context; a single one if it cannot be divided."""
    found: list[str] = []
    before = ""
    for piece in _JOINED.split(limit):
        if constraint_in(piece) is not None and _JOINT.sub("", before).strip(" ,;:，；"):
            found.append(before)
            before = ""
        before += piece
    found = [*found, before]
    if not all(constraint_in(one) is not None for one in found):
        return [limit]
    return [_JOINT.sub("", one).strip(" ,;，；") for one in found]


def _only_revokes(sentence: str, has_revoked: bool) -> bool:
    """Whether a sentence only says that something is void or allowed.

    If it revoked something, words that set a limit may just repeat that limit: "the rule never to use tabs is void".
    A new limit must be in a separate clause.
    """
    lowered = sentence.lower().replace("’", "'")
    is_void = word_group("voids").found_in(lowered)
    if not has_revoked:
        return is_void and constraint_in(sentence) is None
    if not is_void and not word_group("permits").found_in(lowered):
        return False
    return not any(
        constraint_in(clause) and not word_group("voids").found_in(clause)
        for clause in _CLAUSE.split(lowered)
    )


def _taken_back(
    held: dict[str, StatedConstraint],
    text: str,
    rulings: Sequence[StatedConstraint],
    source: int,
    before: int,
) -> Iterator[str]:
    """The limits and wishes that a message revokes."""
    own = {key: one for key, one in held.items() if one.source != source and not one.origin}
    if rulings or any(map(is_order, sentences_of(text))):
        yield from _passed(text, own)
    if len(text) > _READ or not own:
        return
    if word_group("undoes").found_in(text.lower().replace("’", "'")):
        yield from (key for key, one in own.items() if one.source == before and not one.is_rule)
    for sentence in filter(str.strip, sentences_of(text)):
        if not asks_to_know(sentence):  # a question takes nothing back
            yield from _taken_back_by(sentence, own)


def _taken_back_by(sentence: str, own: dict[str, StatedConstraint]) -> Iterator[str]:
    yield from _revoked_by(sentence, own)
    yield from _set_anew(sentence, own)
    yield from (key for key in own if supersedes(sentence, key))


def _passed(text: str, own: dict[str, StatedConstraint]) -> Iterator[str]:
    """The limits for one request only, which end when the person asks for something without one."""
    passing = word_group("passing")
    if not passing.found_in(text.lower().replace("’", "'")):
        yield from (key for key, one in own.items() if passing.found_in(one.text.lower()))


def _set_anew(sentence: str, own: dict[str, StatedConstraint]) -> Iterator[str]:
    """The newest limit on a number, if a sentence sets another number: "limit it to 20", "push it to 100"."""
    if _SET_TO.search(sentence.lower()):
        yield from [key for key, one in own.items() if _LIMITED_TO.search(one.text.lower())][-1:]


def _revoked_by(sentence: str, own: dict[str, StatedConstraint]) -> Iterator[str]:
    """The limits that a sentence revokes: those it contradicts, and the closest one it calls void or allowed."""
    lowered = sentence.lower().replace("’", "'")
    is_void, is_permit = word_group("voids").found_in(lowered), word_group("permits").found_in(lowered)
    is_permit = is_permit and not word_group("in_order").begins(lowered)
    if constraint_in(sentence) is not None or is_permit:
        yield from (key for key in own if contradicts(sentence, key))
    if is_order(sentence) or word_group("changes").found_in(lowered):
        yield from (key for key in own if asks_for_excluded(sentence, key))
    yield from (key for key in excluded_by(sentence, own) if not denies(key))
    if is_void or is_permit:
        yield from _nearest(content_words(sentence), own, is_void)


def excluded_by(text: str, stated: Iterable[str]) -> list[str]:
    """The sentences that ask for something by its name that a message excludes: "Ops says no Redis in production"."""
    names = {found["name"].lower() for found in _EXCLUDED.finditer(text)}
    return (
        [one for one in stated if not names.isdisjoint(map(str.lower, _NAME.findall(one)))] if names else []
    )


def _nearest(words: frozenset[str], own: dict[str, StatedConstraint], is_void: bool) -> Iterator[str]:
    """The named limits that share the most words; a permission must name the object."""
    shares: dict[str, float] = {}
    for key in own:
        about = content_words(key)
        shared = len(_shared(about, words))
        is_named = shared > len(about) * _SOME or (shared > 0 and _names_object(key, words))
        if is_named or (is_void and shared):
            shares[key] = shared / max(1, len(about))
    most = max(shares.values(), default=0.0)
    yield from (key for key, share in shares.items() if share == most)


def _shared(about: frozenset[str], words: frozenset[str]) -> frozenset[str]:
    """The words of a limit that a sentence contains, in any form."""
    roots = {word[:_STEM] for word in words if len(word) >= _STEM}
    return frozenset(one for one in about if one in words or one[:_STEM] in roots)


def _names_object(constraint: str, words: frozenset[str]) -> bool:
    """Whether a sentence names the object of a limit: its last meaningful word.

    In scripts without spaces, the object is a name in Latin letters.
    """
    shared = _shared(content_words(constraint), words)
    if _UNSPACED.search(constraint) and any(map(str.isascii, shared)):
        return True
    told = [word for word in re.findall(r"[^\W_]{2,}", constraint.lower()) if content_words(word)]
    return bool(told) and bool(_shared(content_words(told[-1]), words))
