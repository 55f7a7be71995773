"""What code adds to a model's summary: only a few certain facts that the model omitted.

    limits in force that the model dropped         restored in the person's words
    the newest request, open items                 added if no line of the model states them
    a failing check that the model reports done    one line that says so

All other facts are in the evidence after the headings.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from plimsoll.context.ledger.entries import ABOUT, CONSTRAINTS, MUST, LedgerEntry
from plimsoll.context.ledger.evidence import JOINT, EvidenceLine
from plimsoll.context.ledger.open_work import CONTINUE, REPLIED
from plimsoll.context.ledger.polarity import contradicts
from plimsoll.context.ledger.reported_checks import CONTRADICTS
from plimsoll.context.ledger.template import parse_sections, section_lines
from plimsoll.context.ledger.terms import plain_words, terms_in
from plimsoll.context.ledger.words import content_words, overlap

MAX_ADDED = 10  # lines under the headings
ADDED_SHARE = 0.13  # of the tokens that the model wrote, estimated; at most 0.15 by a vocabulary
MIN_ADDED = 240  # tokens; a very short model summary must not lose people's rules
# Tokens that the rules of a short summary may have, the model's and the restored ones together: ten lines of the
# usual length.
MIN_RESTORED = 600
_ADDED_TO = ("Goal", CONSTRAINTS, "In Progress", "Blocked", "Next Steps")
_SAME = 0.6  # minimum share of a line's words for the model to have stated it
_OPEN_WORK = ("In Progress", "Blocked", "Next Steps")
_SAME_WORK = 0.75  # the same for open work: what is left out of an item would be left undone
_NEAR = 100  # characters on each side of a term in which the words that explain it stand
_EXPLAINING_WORDS = 2
_WORK = "In Progress"
_LAST_SAID = "- Last said: "
_REPEATS = ("- Later: ", "- User: ")  # before the newest request under Goal and Critical Context
_SAME_START = 100  # characters
_LONGEST_JOINED = 400  # characters of a line with several sentences of one message
_BESIDES = 2  # lines for the goal and the newest request


class SaidLine(NamedTuple):
    """A line of a model's text, with its heading and its words."""

    section: str
    text: str
    words: frozenset[str]


SaidLines = list[SaidLine]


def said_lines(model_text: str) -> SaidLines:
    """The model's lines."""
    return [
        SaidLine(title, line, content_words(line))
        for title, body in parse_sections(model_text).items()
        for line in section_lines(body)
    ]


def is_said(entry: LedgerEntry, lines: SaidLines) -> bool:
    """Whether a line of the model states an entry; open work is stated only under the headings for it."""
    if not lines or entry.parent:
        return False
    if entry.section == "Relevant Files" and entry.key.startswith("file:"):
        return False  # the model may name a file; only code counts what happened to it
    if entry.section == CONSTRAINTS:
        # A model's line is not enough: without its own line, the next compaction would not know the constraint.
        return any(
            entry.text.removeprefix("- ") in line.text and line.text.startswith("- ") for line in lines
        )
    request_text = entry.text.partition(ABOUT)[0]
    own = request_text if len(content_words(request_text)) > 1 else entry.text
    if entry.section in _OPEN_WORK:
        min_share = _SAME_WORK
        lines = [line for line in lines if line.section in _OPEN_WORK]
    else:
        min_share = _SAME
    words = content_words(own)
    return any(
        own.removeprefix("- ") in line.text or _says(words, entry.text, line, min_share) for line in lines
    )


def _says(words: frozenset[str], text: str, line: SaidLine, min_share: float = _SAME) -> bool:
    return len(words) > 1 and overlap(words, line.words) >= min_share and not contradicts(line.text, text)


def joined_by_message(entries: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """The entries; if a line for each limit and wish would be too many, those of one message share a line."""
    ruled = [item for item in entries if item.section == CONSTRAINTS]
    if len(ruled) <= MAX_ADDED - _BESIDES:
        return list(entries)
    joined: list[LedgerEntry] = []
    for entry in sorted(ruled, key=lambda item: (item.sources, is_ruled(item), item.order)):
        before = joined[-1] if joined else None
        if before is not None and _share_a_line(before, entry):
            joined[-1] = replace(before, text=f"{before.text}{JOINT}{entry.text.removeprefix('- ')}")
        else:
            joined.append(entry)
    return [*(item for item in entries if item.section != CONSTRAINTS), *joined]


def _share_a_line(before: LedgerEntry, entry: LedgerEntry) -> bool:
    is_same = bool(entry.sources) and before.sources == entry.sources and is_ruled(before) == is_ruled(entry)
    return is_same and len(before.text) + len(entry.text) <= _LONGEST_JOINED


def explained_terms(model_text: str, lines: Iterable[EvidenceLine]) -> dict[str, bool]:
    """The terms of a model's text, and whether it explains each.

    It does if words near the term also stand with it in one of the conversation's `lines`. A bare list of names does
    not, nor do words that only tell what to do with them.
    """
    near: dict[str, set[str]] = {}
    for line in model_text.splitlines():
        for term in dict.fromkeys(terms_in(line)):
            place = line.find(term)
            around = line[max(0, place - _NEAR) : place + len(term) + _NEAR]
            near.setdefault(term, set()).update(plain_words(around))
    found = dict.fromkeys(near, False)
    for quoted in lines if near else ():
        for term in quoted.terms:
            if found.get(term) is False:
                shared = near[term] & plain_words(f"{quoted.context} {quoted.text}")
                found[term] = len(shared) >= _EXPLAINING_WORDS
    return found


def not_replaced_by_model(entries: Sequence[LedgerEntry], model_text: str) -> list[LedgerEntry]:
    """The entries without what a model's headings replace, so that facts that the model omitted have the room.

    The newest request stands under In Progress only, and also under Next Steps if the model left these empty. If the
    model wrote about the current work, the agent's last words are left out.
    """
    written = parse_sections(model_text)
    has_work, has_steps = (bool(section_lines(written.get(title, ""))) for title in (_WORK, "Next Steps"))
    current = [entry.text.removeprefix("- ")[:_SAME_START] for entry in entries if entry.section == _WORK]
    repeats = (*_REPEATS, CONTINUE, REPLIED) if has_steps else _REPEATS
    repeated = tuple(mark + text for mark in repeats for text in current)
    return [
        entry
        for entry in entries
        if not entry.text.startswith(repeated) and not (has_work and entry.text.startswith(_LAST_SAID))
    ]


def may_be_added(entry: LedgerEntry) -> bool:
    """Whether an entry may be added under a model's heading."""
    return entry.section == CONSTRAINTS or (entry.section in _ADDED_TO and entry.value >= MUST)


def rank(entry: LedgerEntry) -> tuple[float, int, str]:
    """The sort key of an entry: its value; for wishes, the newest first."""
    is_wish = entry.section == CONSTRAINTS and entry.value < MUST
    return -entry.value, -entry.order if is_wish else entry.order, entry.text


def is_ruled(entry: LedgerEntry) -> bool:
    """Whether an entry is a limit in force, which takes precedence over all other lines."""
    return entry.section == CONSTRAINTS and entry.value >= MUST


def added_rank(entry: LedgerEntry, lines: SaidLines, stays_from: int) -> tuple[int, bool, float, int, str]:
    """The sort key for adding entries to a model's text; messages from number `stays_from` on stay in the context.

    Contradictions come first, then limits in force, then the goal and the newest request, then wishes, then open
    items, then limits and wishes that the reader sees in a message that stays. Among limits and among wishes, those
    that no line of the model paraphrases come first.
    """
    if entry.section == CONSTRAINTS and entry.sources and min(entry.sources) >= stays_from:
        return 4, False, *rank(entry)
    if entry.section == CONSTRAINTS:
        words = content_words(entry.text)
        is_paraphrased = any(_says(words, entry.text, line) for line in lines)
        return 0 if is_ruled(entry) else 2, is_paraphrased, *rank(entry)
    if entry.text.startswith(CONTRADICTS):
        return -1, False, *rank(entry)
    return 1 if entry.value > MUST else 3, False, *rank(entry)
