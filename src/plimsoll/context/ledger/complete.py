"""Checks a model's summary against the conversation, and completes it by code.

    a line with a path or id that never occurred     removed; with too many of them, the summary is rejected
    words that are not in the conversation           rejected: another language, or another conversation
    a line that gives orders to the reader           removed
    facts that the model omitted                     added under their headings, never guessed

A model's lines begin with `*`, the ledger's with `-`: at the next compaction, the model
may rewrite only its own.
"""

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from plimsoll.context.ledger.entries import CONSTRAINTS, QUOTE
from plimsoll.context.ledger.speakers import is_about_speaker
from plimsoll.context.ledger.state import ConversationFacts
from plimsoll.context.ledger.template import (
    BY_PRIORITY,
    EVIDENCE,
    NONE,
    Sections,
    parse_sections,
    render_sections,
    section_lines,
    titles_of,
)
from plimsoll.context.ledger.terms import plain_words, terms_in
from plimsoll.errors import SummaryFailed
from plimsoll.models import estimate_tokens

MODEL_MARK = "* "
_BULLET = re.compile(r"^(\s*)(?:[-*•+]|\d{1,3}[.)])\s+")
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|all)\b.{0,40}"
    r"\b(?:instructions?|rules?|prompts?|messages?)\b|\byou are now\b|\bnew system prompt\b",
    re.IGNORECASE,
)
_MAX_INVENTED = 0.34  # share of the lines with terms
_MIN_OWN_WORDS = 0.20
_ENOUGH_WORDS = 24
_UNSPACED = re.compile(r"[\u0e00-\u0fff\u2e80-\uffff]")  # scripts without spaces between words


def checked_lines(
    written: Mapping[str, str], known: AbstractSet[str], words: AbstractSet[str], text: str
) -> Sections:
    """The model's sections without invented lines. Raises `SummaryFailed` if most lines are invented.

    `known` are the terms and `words` the plain words of everything that the model saw; `text` is the whole text.
    """
    _refuse_foreign(written, words)
    kept: Sections = {}
    with_terms = invented = 0
    for title in titles_of(written):
        lines: list[str] = []
        for line in section_lines(written.get(title, "")):
            strange = [
                term for term in terms_in(line) if _is_name(term) and term not in known and term not in text
            ]
            with_terms += bool(strange) or bool(terms_in(line))
            invented += bool(strange)
            if not strange and not (_ORDERS.search(line) and line.strip() not in text):
                lines.append(_marked(line))
        kept[title] = "\n".join(lines)
    if invented > max(2, with_terms * _MAX_INVENTED):
        raise SummaryFailed(f"{invented} of its {with_terms} lines name things that never occurred")
    return kept


def without_forgotten(written: Mapping[str, str], now: ConversationFacts) -> Sections:
    """The model's sections without what the person asked to forget; rules are revoked, not forgotten."""
    if not now.personal.forgotten:
        return dict(written)
    return {
        title: "\n".join(
            line
            for line in section_lines(body)
            if not now.personal.holds_forgotten(
                line,
                is_chat=now.is_chat,
                is_rule=title == CONSTRAINTS and not is_about_speaker(line.strip().removeprefix(MODEL_MARK)),
            )
        )
        for title, body in written.items()
    }


def completed(written: Mapping[str, str], ledger: Mapping[str, str]) -> Sections:
    """Each section: the model's text, then the ledger's additions; the evidence is the ledger's."""
    sections = {
        title: "\n".join(part for part in (_said(written, title), _said(ledger, title)) if part) or NONE
        for title in titles_of(written, ledger)
    }
    return {**sections, EVIDENCE: ledger.get(EVIDENCE, "")}


def within(sections: Mapping[str, str], limit: int) -> Sections:
    """The sections with headings of at most `limit` tokens.

    Constraints that code restored have priority, then the model's lines, then everything else.
    """
    if estimate_tokens(render_sections(sections)) <= limit:
        return dict(sections)
    lines = [
        (title, place, line)
        for title in _by_priority(sections)
        for place, line in enumerate(section_lines(sections.get(title, "")))
    ]
    kept: dict[str, list[tuple[int, str]]] = {title: [] for title in titles_of(sections)}
    left = limit - estimate_tokens(render_sections(dict.fromkeys(kept, "")))
    for title, place, line in sorted(lines, key=lambda item: _rank(item[0], item[2])):
        cost = estimate_tokens(line) + 1
        if cost <= left:
            left -= cost
            kept[title].append((place, line))
    cut = {title: "\n".join(line for _, line in sorted(found)) for title, found in kept.items()}
    return {**cut, EVIDENCE: sections.get(EVIDENCE, "")}


def _by_priority(sections: Mapping[str, str]) -> tuple[str, ...]:
    return (*BY_PRIORITY, *titles_of(sections)[len(BY_PRIORITY) :])


def _rank(title: str, line: str) -> int:
    if is_model_line(line):
        return 1
    return 0 if title == "Constraints & Preferences" else 2


def for_model(summary: str, limit: int) -> str:
    """A summary for a model to update: the model's lines, and as many ledger items as fit `limit`.

    The model need not read and repeat facts that code keeps.
    """
    sections = parse_sections(summary)
    lines = [
        (title, line) for title in _by_priority(sections) for line in section_lines(sections.get(title, ""))
    ]
    kept: dict[str, list[str]] = {title: [] for title in titles_of(sections)}
    left = limit - estimate_tokens(render_sections(dict.fromkeys(kept, "")))
    for by_model in (True, False):
        for title, line in lines:
            if is_model_line(line) == by_model and not line.startswith(QUOTE):
                left -= estimate_tokens(line) + 1
                if left >= 0:
                    kept[title].append(line)
    return render_sections({title: "\n".join(found) for title, found in kept.items()}) if lines else ""


def without_model_lines(summary: str) -> str:
    """A summary with only the ledger's lines."""
    return "\n".join(line for line in summary.splitlines() if not is_model_line(line))


def model_lines(summary: str) -> str:
    """A summary with only the model's lines."""
    lines = summary.splitlines()
    return "\n".join(line for line in lines if line.startswith("#") or is_model_line(line))


def is_model_line(line: str) -> bool:
    """Whether a model wrote a line of a summary."""
    return line.lstrip().startswith(MODEL_MARK)


def _is_name(term: str) -> bool:
    """Whether a term names one thing: not a word in capitals, not a position in a file."""
    return ":" not in term and (not term.isalpha() or not term.isupper())


def _said(sections: Mapping[str, str], title: str) -> str:
    return "\n".join(section_lines(sections.get(title, "")))


def _marked(line: str) -> str:
    """A model's line with the mark that distinguishes it from the ledger's."""
    match = _BULLET.match(line)
    return f"{match[1]}{MODEL_MARK}{line[match.end() :]}" if match else f"{MODEL_MARK}{line.strip()}"


def _refuse_foreign(written: Mapping[str, str], words: AbstractSet[str]) -> None:
    weights = {word: _weight(word) for word in plain_words("\n".join(written.values()))}
    total = sum(weights.values())
    own = sum(weight for word, weight in weights.items() if _is_own(word, words))
    if total >= _ENOUGH_WORDS and own < total * _MIN_OWN_WORDS:
        raise SummaryFailed(f"only {own} of its {total} words occur in the conversation")


def _weight(word: str) -> int:
    """The number of words in a token; in scripts without spaces, about one per character."""
    return max(1, len(_UNSPACED.findall(word)))


def _is_own(word: str, words: AbstractSet[str]) -> bool:
    # In scripts without spaces, tokens are whole phrases, so compare pairs of characters.
    return word in words if word.isascii() else any(word[n : n + 2] in words for n in range(len(word) - 1))


def pairs_of(words: Iterable[str]) -> set[str]:
    """The pairs of characters of words in scripts without spaces, and the other words themselves."""
    found: set[str] = set()
    for word in words:
        if word.isascii():
            found.add(word)
        else:
            found.update(word[n : n + 2] for n in range(len(word) - 1))
    return found
