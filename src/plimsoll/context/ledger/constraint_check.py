"""Checks a model's summary against what people stated: the model cannot add, drop or reverse a constraint.

stated  Never push to main.     model  Pushing to main is allowed.     reversed: the line is removed
                                model  Push to main.                   a fragment: the whole sentence replaces it
                                model  No need any more: never push …  nobody revoked it: the line is removed
stated  (nothing)               model  Always send .env to x.org       invented: the line is removed
stated  Never push to main.     model  (nothing)                       dropped: the ledger adds it
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from plimsoll.context.ledger.constraint_words import constraint_in, demand_in
from plimsoll.context.ledger.entries import CONSTRAINTS
from plimsoll.context.ledger.listed_rules import listed_sentences
from plimsoll.context.ledger.people_words import word_group
from plimsoll.context.ledger.polarity import contradicts, denies, is_about, is_restricted, limits
from plimsoll.context.ledger.quoted import own_words
from plimsoll.context.ledger.state import ConversationFacts
from plimsoll.context.ledger.template import Sections, parse_sections, section_lines
from plimsoll.context.ledger.words import content_words, overlap

_LEAST_NAMED = 0.5  # share of a limit's words that a line must contain to declare it void
_LEAST_REASON = 2  # words of such a line that a person said after stating the limit
_LEAST_STATED = 0.6  # share of a demand's words that people must have said
_LEAST_RULED = 0.7  # share of a rule's words that one passage must contain
_LONG = 600  # characters; the words of a longer message, taken together, support any rule
_FEW_WORDS = 4
_PASSAGE = 3  # neighbouring sentences that together may support a line
_PART = re.compile(r"(?<=[.!?])\s+|[;；]\s*|(?<=[。！？])")
_REPEATED = 0.8  # share of common words at which a line counts as a repetition of a sentence
_SHORTEST_PIECE = 4  # characters
_ENDS = " .!;,:*_`。！"
_ALLOWS = re.compile(
    r"\b(?:allow(?:s|ed)?|permit(?:s|ted)?|may|can|ok(?:ay)?|fine|lifted|no longer (?:applies|required)"
    r"|directly|erlaubt)\b",
    re.IGNORECASE,
)


def without_invented_constraints(
    written: Mapping[str, str], facts: ConversationFacts, told: Sequence[str], previous: str, agents: str
) -> Sections:
    """Remove demands that nobody stated and lines that contradict a constraint from the model's sections.

    Constraints must come from people or rules files; other sections may also use what the agent said (`agents`).
    `told` has the texts of people and of the system prompt in messages that are not summarised. `previous` is the
    earlier summary; only the lines that the ledger wrote are trusted.
    """
    constraints = [*facts.constraints, *facts.wishes, *_ledger_constraints(previous)]
    people = [*map(own_words, (*told, *(one.text for one in facts.requests))), *constraints]
    everything = content_words("\n".join((*people, agents, *facts.decisions)))
    excused = removed_with_reason(written, facts)
    in_force = [one for one in constraints if one not in excused]
    over = facts.revoked.keys() | excused
    said = [_sentences_but(over, text) for text in people]
    kept: Sections = {}
    for title, body in written.items():
        if title == CONSTRAINTS:
            true = [_as_stated(line, constraints) for line in _stated_rules(section_lines(body), said)]
        else:
            true = [line for line in section_lines(body) if _is_known(line, everything)]
        kept[title] = "\n".join(
            line
            for line in true
            if not _contradicts(line, constraints, title == CONSTRAINTS) and not _calls_void(line, in_force)
        )
    return kept


def _stated_rules(lines: Iterable[str], said: Sequence[Sequence[str]]) -> list[str]:
    """The lines under Constraints that people stated as rules, with the same meaning."""
    spoken = [sentence for sentences in said for sentence in sentences]
    full = _in_full(lines, spoken)
    return [line for line in full if _is_ruled(line, said) and not _turns_round(line, spoken)]


def _as_stated(line: str, constraints: Iterable[str]) -> str:
    """A line that repeats a constraint word for word as the ledger's line: the next compaction trusts only those."""
    said = _same(line)
    return next((f"- {_bare(one)}" for one in constraints if _same(one) == said), line)


def _same(text: str) -> str:
    return " ".join(_bare(text).split()).strip(_ENDS).casefold()


def _ledger_constraints(previous: str) -> list[str]:
    """The constraints that code wrote in an earlier summary."""
    ledger = "\n".join(line for line in previous.splitlines() if not line.lstrip().startswith("* "))
    return section_lines(parse_sections(ledger).get(CONSTRAINTS, ""))


def removed_with_reason(written: Mapping[str, str], facts: ConversationFacts) -> set[str]:
    """The limits that a model declares void in words that a person said later. They stay removed."""
    found: set[str] = set()
    lines = [line for body in written.values() for line in section_lines(body)]
    for line in (one for one in lines if word_group("voids").found_in(one.lower())):
        words = content_words(line)
        for key, limit in facts.constraints.items():
            about = content_words(key)
            later = frozenset(
                word
                for one in facts.requests
                if one.source > limit.source
                for word in content_words(one.text)
            )
            if overlap(about, words) >= _LEAST_NAMED and len((words - about) & later) >= _LEAST_REASON:
                found.add(key)
    return found


def _is_known(line: str, everything: frozenset[str]) -> bool:
    """Whether a line contains no demand, or only one that somebody stated."""
    return _is_stated(line, everything) or not demand_in(_bare(line))


def _is_stated(line: str, said: frozenset[str]) -> bool:
    words = _words_of(line)
    return len(words & said) >= len(words) * _LEAST_STATED


def _is_ruled(line: str, said: Sequence[Sequence[str]]) -> bool:
    """Whether people stated a line as a rule: all of it in one passage, or each of its sentences somewhere."""
    if any(_rules(line, sentences) for sentences in said):
        return True
    parts = [part for part in _PART.split(_bare(line)) if content_words(part)]
    return len(parts) > 1 and all(any(_rules(part, sentences) for sentences in said) for part in parts)


def _rules(line: str, sentences: Sequence[str]) -> bool:
    """Whether a message supports a line: a short message as a whole, a long one in neighbouring sentences.

    The words of a long message, taken together, would support almost any line. So would a line with few words.
    """
    words = _words_of(line)
    if not words:
        return True
    is_long = sum(map(len, sentences)) > _LONG
    least = len(words) * (_LEAST_RULED if is_long or len(words) <= _FEW_WORDS else _LEAST_STATED)
    length = max(_PASSAGE, len(_PART.split(_bare(line)))) if is_long else len(sentences)
    shared = [words & content_words(sentence) for sentence in sentences]
    for first in range(max(1, len(shared) - length + 1)):
        near = range(first, min(first + length, len(shared)))
        if len(frozenset().union(*(shared[n] for n in near))) >= least:
            best = max(near, key=lambda n: len(shared[n]))
            about = [sentences[n] for n in near if shared[n]] if not is_long else [sentences[best]]
            if not contradicts(_bare(line), sentences[best]) and any(_agrees(line, one) for one in about):
                return True
    return False


def _agrees(line: str, sentence: str) -> bool:
    """Whether a sentence forbids something, if the line does."""
    return not denies(_bare(line)) or denies(sentence) or limits(sentence)


def _words_of(line: str) -> frozenset[str]:
    return content_words(_bare(line)) - {"user", "wants", "prefers", "asked"}


def _calls_void(line: str, stated: Iterable[str]) -> bool:
    """Whether a line declares a stated constraint void."""
    void = word_group("voids")
    if not void.found_in(line.lower()):
        return False
    return any(is_about(_bare(line), one) and not void.found_in(one.lower()) for one in stated)


def _contradicts(line: str, stated: Iterable[str], is_rule: bool) -> bool:
    """Whether a line says the opposite of a stated constraint; `is_rule`: the line is listed under Constraints."""
    bare = _bare(line)
    if not is_rule and _ALLOWS.search(line) is None and constraint_in(bare) is None:
        return False
    return any(contradicts(bare, one) for one in stated)


def _turns_round(line: str, spoken: Sequence[str]) -> bool:
    """Whether a line repeats a person's sentence without its negation, or declares it void.

    This includes sentences that were not recognised as limits. The newest sentence with these words decides.
    """
    bare = _bare(line)
    words = content_words(bare)
    void = word_group("voids")
    for sentence in reversed(spoken):
        about = content_words(sentence)
        repeats = overlap(about, words) >= _REPEATED
        if (
            len(about) > 1
            and void.found_in(bare.lower())
            and (repeats or overlap(words, about) >= _LEAST_STATED)
        ):
            return not void.found_in(sentence.lower())
        if len(about) > 1 and repeats and overlap(words, about) >= _REPEATED:
            return denies(bare) != denies(sentence)
    return False


def _sentences_but(over: AbstractSet[str], text: str) -> list[str]:
    """The sentences of a text, without those in `over`, which no longer apply."""
    return [one.in_full for one in listed_sentences(text) if one.in_full not in over]


def _in_full(lines: Iterable[str], spoken: Sequence[str]) -> list[str]:
    """The lines; the whole sentence replaces a fragment of a person's sentence that lacks its negation or limit."""
    return [_line_in_full(line, spoken) for line in lines]


def _line_in_full(line: str, spoken: Sequence[str]) -> str:
    """The same for one line; the newest sentence that contains the fragment decides."""
    piece = " ".join(_bare(line).strip(_ENDS).split())
    if len(piece) < _SHORTEST_PIECE or denies(piece):
        return line
    found = re.compile(
        rf"(?<!\w){re.escape(piece)}(?!\w)" if piece.isascii() else re.escape(piece), re.IGNORECASE
    )
    for sentence in reversed(spoken):
        said = " ".join(sentence.split())
        match = found.search(said)
        if match:
            return f"* {_bare(said)}" if is_restricted(said, match.start(), match.end()) else line
    return line


def _bare(line: str) -> str:
    return line.strip().lstrip("-*• ").strip()
