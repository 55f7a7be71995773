"""Keeps the lines of an earlier summary that nothing newer replaces."""

import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from plimsoll.context.ledger.entries import CONSTRAINTS, MORE_ON, MUST, QUOTE, LedgerEntries, LedgerEntry
from plimsoll.context.ledger.evidence import SAID, EvidenceLine
from plimsoll.context.ledger.state import ConversationFacts, FileFact
from plimsoll.context.ledger.template import EVIDENCE, SECTIONS, section_lines
from plimsoll.context.ledger.terms import says_something, terms_in

EarlierItems = dict[str, list[tuple[str, list[str]]]]
_OF_THE_MOMENT = ("- Asked:", "- Last said:", "- Continue:", "- Waiting for", "- Fix ")
_FILE_LINE = re.compile(
    r"^- `(?P<path>[^`]+)`(?: — (?P<actions>\w+ \d+×(?:, \w+ \d+×)*))?(?:: (?P<note>.+))?$"
)
_RUN_LINE = re.compile(
    r"^- (?:[^`]*: )?(?P<shown>`.+?`|\S.*?) → (?P<status>ok|ran|running|exit -?\d+|error|interrupted)\b"
)
_COUNTED = re.compile(r"(\w+) (\d+)×")
_BEFORE_ALL = -1_000_000


def earlier_items(previous: Mapping[str, str]) -> EarlierItems:
    """The items of an earlier summary by section, each with its quotes from the evidence."""
    found = {title: list(_blocks(section_lines(previous.get(title, "")))) for title in SECTIONS}
    found[EVIDENCE] = []
    labels = {_label(line): quotes for blocks in found.values() for line, quotes in blocks}
    for line, quotes in _blocks(section_lines(previous.get(EVIDENCE, ""))):
        title = line.removeprefix(MORE_ON)
        if line.startswith(MORE_ON) and title in found:
            found[title] += ((f"- {text}", []) for text in quotes)
        elif _label(line) in labels:
            labels[_label(line)] += quotes
        else:
            found["Relevant Files" if _FILE_LINE.match(line) else EVIDENCE].append((line, quotes))
    return found


def merged_files(
    files: Mapping[str, FileFact], earlier: EarlierItems
) -> tuple[dict[str, FileFact], list[str], list[tuple[str, EvidenceLine]]]:
    """The files with the counts of an earlier summary added; its other lines; its quotes."""
    merged = {path: fact.copy() for path, fact in files.items()}
    quotes: list[tuple[str, EvidenceLine]] = []
    others: list[str] = []
    for line, quoted in earlier["Relevant Files"]:
        match = _FILE_LINE.match(line)
        if not match:
            others.append(line)
            continue
        fact = merged.setdefault(match["path"], FileFact(last=-1))
        for action, count in _COUNTED.findall(match["actions"] or ""):
            fact.actions[action] = fact.actions.get(action, 0) + int(count)
        fact.note = fact.note or match["note"] or ""
        quotes += (
            (f"file:{match['path']}", _line(text, number)) for number, text in enumerate(quoted, -len(quoted))
        )
    return merged, others, quotes


def add_earlier(entries: LedgerEntries, facts: ConversationFacts, earlier: EarlierItems) -> None:
    """Add the lines of an earlier summary, unless something newer replaces them."""
    for number, (line, _) in enumerate(earlier["Goal"]):
        # The first request stays the first line of the goal for the whole conversation.
        entries.add("Goal", line, number + _BEFORE_ALL, MUST if number == 0 else None)
    known_items = {f"- {item}" for item in facts.todos.items}
    newer = {*(f"`{line}`" for line in facts.commands), *facts.actions}
    for title in (*SECTIONS, EVIDENCE):
        if title in ("Goal", "Relevant Files"):
            continue
        for number, (line, quoted) in enumerate(earlier[title]):
            run = _RUN_LINE.match(line)
            if (run and run["shown"] in newer) or _is_over(title, line, facts, known_items):
                continue
            key = f"earlier:{title}:{number}"
            entries.add(title, line, number + _BEFORE_ALL, key=key)
            for place, text in enumerate(quoted, -len(quoted)):
                entries.quote(_line(text, place), key)


def _is_over(title: str, line: str, facts: ConversationFacts, known_items: AbstractSet[str]) -> bool:
    """Whether a line is outdated: it was temporary, or the state contains something newer."""
    if line.startswith(_OF_THE_MOMENT) or (_RUN_LINE.match(line) and _overcome(line, facts)):
        return True
    if title in ("In Progress", "Next Steps") and line in known_items:
        return True
    return title == CONSTRAINTS and line.removeprefix("- ") in facts.revoked


def _label(line: str) -> str:
    return LedgerEntry("", line, 0, 0.0, (), False).label


def _blocks(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """The items of an earlier section with the quotes under each."""
    item: str | None = None
    quotes: list[str] = []
    for line in lines:
        if line.startswith(QUOTE) and item is not None:
            quotes.append(line.removeprefix(QUOTE))
            continue
        if item is not None:
            yield item, quotes
        item, quotes = line, []
    if item is not None:
        yield item, quotes


def _overcome(line: str, facts: ConversationFacts) -> bool:
    """Whether the file of an earlier failure has been changed since."""
    return "→ error" in line and any(path in line for path in facts.files)


def _line(text: str, number: int) -> EvidenceLine:
    return EvidenceLine(-1, number, SAID, text, tuple(dict.fromkeys(terms_in(text))), says_something(text))
