"""Everything that a summary may say, as entries: what each is worth, where it belongs, what it stands under.

    - `src/app.py` — edited 3×, read 1×            an item: a fact by itself
      · def load_config(path: Path) -> Config:     a quote under it: evidence, a line as it stood

Entries come from the facts, from the quoted lines behind them, and from what an earlier
summary said that nothing newer replaced.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from plimsoll.context.ledger.evidence import ASKED, SAID, TOLD, EvidenceLine
from plimsoll.context.ledger.facts import ConversationFacts, Event, FileFact
from plimsoll.context.ledger.outcome import one_line
from plimsoll.context.ledger.template import EVIDENCE, SECTIONS, section_lines
from plimsoll.context.ledger.terms import plain_words, terms_in
from plimsoll.context.ledger.todos import FINISHED, OPEN
from plimsoll.secrets import redact

QUOTE = "  · "
FROM_TOOL = "Tool output: "  # before a quote that stands under no file or command
MORE_ON = "- More on "  # before a heading's name: what that heading had no room for
# What must survive every compaction has at least this value.
MUST = 3.0
CONSTRAINTS = "Constraints & Preferences"
_STATED = ("Goal", CONSTRAINTS)
_OF_THE_MOMENT = ("- Asked:", "- Last said:", "- Go on with:")
_FILE_LINE = re.compile(
    r"^- `(?P<path>[^`]+)`(?: — (?P<actions>\w+ \d+×(?:, \w+ \d+×)*))?(?:: (?P<note>.+))?$"
)
_RUN_LINE = re.compile(
    r"^- (?:[^`]*: )?(?P<shown>`.+?`|\S.*?) → (?P<status>ok|ran|running|exit -?\d+|error|interrupted)\b"
)
_SHOWN = {True: 160, False: 110}  # characters of a call that failed, and of one that did not
_SHORT_RESULT = 60
_LABEL = 110
_FIRST_ASKED, _LAST_ASKED = 20, 120  # requests that are considered; no summary could hold more
# Commands that can be run again at any time; all others may have changed something, which must not be done twice.
_CHECKS = re.compile(
    r"\b(?:tests?|pytest|jest|lint|eslint|ruff|mypy|tsc|fmt|gofmt|format|prettier|vet|check|build|compile)\b"
)
_SIDE_EFFECT = 1.0
_COUNTED = re.compile(r"(\w+) (\d+)×")
# What an entry is worth beside the terms in it, in the unit of a term that is certainly needed.
_VALUES = {
    "Goal": 1.0,
    CONSTRAINTS: 4.0,
    "Done": 0.6,
    "In Progress": 3.0,
    "Blocked": 0.8,
    "Key Decisions": 0.6,
    "Relevant Files": 0.4,
    "Next Steps": 3.0,
    "Critical Context": 0.8,
}


# Told apart by identity: choosing looks each up a hundred times.
@dataclass(frozen=True, slots=True, eq=False)
class LedgerEntry:
    """One line of a summary; a quote names the item that it stands under as `parent`."""

    section: str
    text: str
    order: int
    value: float
    terms: tuple[str, ...]
    says: bool
    key: str = ""
    parent: str = ""
    line: EvidenceLine | None = None  # the line that is quoted

    @property
    def label(self) -> str:
        """What an item is about, in few words: the line over its quotes."""
        about = self.text.partition(" — ")[0].partition(" → ")[0]
        return about if len(about) <= _LABEL else about[: _LABEL - 1] + "…"


class LedgerEntries:
    """The entries in the making: items by key, so that quotes find theirs, and no line twice."""

    def __init__(self, longest: int) -> None:
        self.all: list[LedgerEntry] = []
        self.items: dict[str, LedgerEntry] = {}
        self._longest = longest
        self._seen: dict[str, set[str]] = {}  # text -> the sections that have it

    def add(
        self,
        section: str,
        text: str,
        order: int,
        value: float | None = None,
        key: str = "",
        line: EvidenceLine | None = None,
    ) -> None:
        """An item; one that was said already is not said again.

        A constraint is never left out because another section says the same, nor is what the conversation began
        with. A constraint is not cut either: half of one may mean the opposite.
        """
        if len(text) > self._longest and section != CONSTRAINTS:
            text = text[: self._longest - 1] + "…"
        worth = _VALUES[section] if value is None else value
        said = self._seen.setdefault(text, set())
        if key in self.items or section in said or (said and not (section in _STATED and worth >= MUST)):
            return
        said.add(section)
        key = key or f"item:{len(self.all)}"
        terms = tuple(dict.fromkeys(terms_in(text)))
        entry = LedgerEntry(section, text, order, worth, terms, len(plain_words(text)) >= 2, key, line=line)
        self.items[key] = entry
        self.all.append(entry)

    def quote(self, line: EvidenceLine, parent: str) -> None:
        """A line under its item, or by itself where it has none."""
        item = self.items.get(parent)
        if item is None:
            mark = "" if line.source.startswith((SAID, ASKED)) or not line.source else FROM_TOOL
            self.add("Critical Context", f"- {mark}{line.text}", line.position, value=0.0, line=line)
        elif line.text not in item.text:
            text = QUOTE + line.text
            self.all.append(
                LedgerEntry(
                    item.section, text, line.number, 0.0, line.terms, line.says, parent=item.key, line=line
                )
            )


def entries_of(facts: ConversationFacts, previous: Mapping[str, str], longest: int) -> list[LedgerEntry]:
    """Every entry that the facts and an earlier summary give."""
    entries = LedgerEntries(longest)
    earlier = _earlier(previous)
    for constraint, source in facts.constraints.items():
        entries.add(CONSTRAINTS, f"- {constraint}{f' (from {source})' if source else ''}", 0)
    _add_requests(entries, facts, earlier["Goal"])
    _add_progress(entries, facts)
    _add_files(entries, facts.files, earlier["Relevant Files"])
    _add_earlier(entries, facts, earlier)
    for line in facts.evidence.lines.values():
        entries.quote(line, line.source if line.source not in (SAID, TOLD) else "")
    return entries.all


def _earlier(previous: Mapping[str, str]) -> dict[str, list[tuple[str, list[str]]]]:
    """The items of an earlier summary by section, each with the quotes that its evidence had under it."""
    found = {title: list(_blocks(section_lines(previous.get(title, "")))) for title in SECTIONS}
    labels = {_label(line): quotes for blocks in found.values() for line, quotes in blocks}
    for line, quotes in _blocks(section_lines(previous.get(EVIDENCE, ""))):
        title = line.removeprefix(MORE_ON)
        if line.startswith(MORE_ON) and title in found:
            found[title] += ((f"- {text}", []) for text in quotes)
        elif _label(line) in labels:
            labels[_label(line)] += quotes
        else:
            found["Relevant Files" if _FILE_LINE.match(line) else "Critical Context"].append((line, quotes))
    return found


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


def _add_requests(
    entries: LedgerEntries, facts: ConversationFacts, earlier: list[tuple[str, list[str]]]
) -> None:
    for number, (line, _) in enumerate(earlier):
        # What the conversation began with leads the goal for as long as it lasts.
        entries.add("Goal", line, number - len(earlier), MUST if number == 0 else None)
    asked = [text for text in (facts.opening, *facts.requests) if text]
    for number, text in enumerate(asked):
        if _FIRST_ASKED <= number < len(asked) - _LAST_ASKED:
            continue
        first = number == 0 and not earlier
        newest = number == len(asked) - 1
        limit = 600 if first or newest else 240
        value = MUST if first else 2.0 if newest else None
        entries.add("Goal", f"- {one_line(redact(text), limit)}", number, value, key=f"{ASKED}:{number}")


def _add_progress(entries: LedgerEntries, facts: ConversationFacts) -> None:
    for item, status in facts.todos.items.items():
        if status == "in_progress":
            entries.add("In Progress", f"- {item}", 0)
        elif status in FINISHED:
            entries.add("Done", f"- {item}", 0, 0.8)
        elif status in OPEN:
            entries.add("Next Steps", f"- {item}", 0)
    if facts.last_said:
        entries.add("In Progress", f"- Last said: {one_line(redact(facts.last_said), 400)}", 1, 1.0)
    asked = redact(facts.requests[-1] if facts.requests else facts.opening)
    if asked:
        entries.add("In Progress", f"- Asked: {one_line(asked, 300)}", 2, 2.0)
        if not any(status in OPEN for status in facts.todos.items.values()):
            entries.add("Next Steps", f"- Go on with: {one_line(asked, 240)}", 0, 0.2)
    newest_tests = _newest_tests(facts)
    for key, event in (*_keyed(facts.commands, "run:"), *_keyed(facts.actions, "call:")):
        line = _event_line(event, key.startswith("run:"))
        value = 2.0 if event is newest_tests else _worth_of_run(event) if key.startswith("run:") else None
        entries.add("Blocked" if event.outcome.failed else "Done", line, event.position, value, key)
        for error in event.errors:
            if one_line(error, 200) != event.outcome.line:
                entries.add("Critical Context", f"- {FROM_TOOL}{one_line(error, 300)}", event.position)
    for commit in facts.commits:
        entries.add("Done", f"- commit {commit}", 0, 1.5)
    for number, decision in enumerate(facts.decisions):
        entries.add("Key Decisions", f"- {one_line(decision, 300)}", number)


def _keyed(events: Mapping[str, Event], prefix: str) -> Iterator[tuple[str, Event]]:
    return ((prefix + line, event) for line, event in events.items())


def _worth_of_run(event: Event) -> float | None:
    """What it is worth to know that a command ran: most where it may have changed something."""
    if event.outcome.failed:
        return None
    if event.looks:
        return 0.03
    return None if _CHECKS.search(event.line) else _SIDE_EFFECT


def _newest_tests(facts: ConversationFacts) -> Event | None:
    """The last run that counted tests; it says where the work stands."""
    ran = [event for event in facts.commands.values() if event.outcome.check == "test"]
    return max(ran, key=lambda event: event.position, default=None)


def _event_line(event: Event, is_command: bool) -> str:
    """What was run and how it ended; of a success that counted nothing, only a short line tells more than noise."""
    outcome = event.outcome
    telling = outcome.failed or outcome.check or len(outcome.line) <= _SHORT_RESULT
    shown = one_line(event.line, _SHOWN[outcome.failed])
    said = f": {one_line(outcome.line, _SHOWN[outcome.failed])}" if outcome.line and telling else ""
    called = f"{event.note}: " if event.note else ""
    return f"- {called}{f'`{shown}`' if is_command else shown} → {outcome.status}{said}"


def _add_files(
    entries: LedgerEntries, files: Mapping[str, FileFact], earlier: list[tuple[str, list[str]]]
) -> None:
    """One line per file; earlier counts are added."""
    merged = {path: FileFact(dict(fact.actions), fact.last, fact.note) for path, fact in files.items()}
    quotes: list[tuple[str, EvidenceLine]] = []
    for line, quoted in earlier:
        match = _FILE_LINE.match(line)
        if not match:
            entries.add("Relevant Files", line, -1)
            continue
        fact = merged.setdefault(match["path"], FileFact(last=-1))
        for action, count in _COUNTED.findall(match["actions"] or ""):
            fact.actions[action] = fact.actions.get(action, 0) + int(count)
        fact.note = fact.note or match["note"] or ""
        quotes += (
            (f"file:{match['path']}", _earlier_line(text, number))
            for number, text in enumerate(quoted, -len(quoted))
        )
    for path, fact in merged.items():
        changed = bool(fact.actions.keys() - {"read"})
        actions = ", ".join(f"{action} {count}×" for action, count in fact.actions.items())
        text = f"- `{path}`" + (f" — {actions}" if actions else "") + (f": {fact.note}" if fact.note else "")
        entries.add("Relevant Files", text, fact.last, MUST if changed else None, f"file:{path}")
    for parent, quoted_line in quotes:
        entries.quote(quoted_line, parent)


def _add_earlier(
    entries: LedgerEntries, facts: ConversationFacts, earlier: Mapping[str, list[tuple[str, list[str]]]]
) -> None:
    """What an earlier summary said, unless something newer is known of the same thing."""
    open_items = {f"- {item}" for item in facts.todos.items}
    newer = {*(f"`{line}`" for line in facts.commands), *facts.actions}
    for title in SECTIONS:
        if title in ("Goal", "Relevant Files"):
            continue
        for number, (line, quoted) in enumerate(earlier[title]):
            run = _RUN_LINE.match(line)
            if run and (run["shown"] in newer or _overcome(line, facts)):
                continue
            if line.startswith(_OF_THE_MOMENT) or (
                title in ("In Progress", "Next Steps") and line in open_items
            ):
                continue
            key = f"earlier:{title}:{number}"
            entries.add(title, line, number - 1_000_000, key=key)
            for place, text in enumerate(quoted, -len(quoted)):
                entries.quote(_earlier_line(text, place), key)


def _overcome(line: str, facts: ConversationFacts) -> bool:
    """Whether an earlier failure was on a file that has been worked on since."""
    return "→ error" in line and any(path in line for path in facts.files)


def _earlier_line(text: str, number: int) -> EvidenceLine:
    return EvidenceLine(
        -1, number, SAID, text, tuple(dict.fromkeys(terms_in(text))), len(plain_words(text)) >= 2
    )
