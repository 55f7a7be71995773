"""The candidate lines of a summary as entries: value, section and source messages.

    - `src/app.py` — edited 3×, read 1×            an item: a fact
      · def load_config(path: Path) -> Config:     a quote under it: evidence, an original line

Items are written from the state of the work (headings.py), quotes from original lines (evidence.py). Lines of an
earlier summary that nothing newer replaces are kept (earlier.py).
"""

import re
from dataclasses import dataclass

from plimsoll.context.ledger.evidence import ASKED, SAID, TOLD, EvidenceLine
from plimsoll.context.ledger.outcome import one_line
from plimsoll.context.ledger.state import Sources
from plimsoll.context.ledger.template import EVIDENCE
from plimsoll.context.ledger.terms import says_something, terms_in
from plimsoll.context.ledger.weights import weights

QUOTE = "  · "
FROM_TOOL = "Tool output: "  # before an error line, and before a quote without a call
FROM_PROGRAM = "Told by a program: "  # before a quote of text that a harness inserted
MORE_ON = "- More on "  # before a heading's name: lines that did not fit under the heading
ABOUT = ' — on: "'  # before the request that a newer one refers to
# Entries that must survive every compaction have at least this value.
MUST = 3.0
CONSTRAINTS = "Constraints & Preferences"
_STATED = ("Goal", CONSTRAINTS, "In Progress")
_LABEL = 110
_BULLETS = re.compile(r"^- (?:[-*•+>]\s+)+")  # bullets of a quoted list, after the summary's own


# Compared by identity, because choosing looks up each entry a hundred times.
@dataclass(frozen=True, slots=True, eq=False)
class LedgerEntry:
    """One line of a summary; the `parent` of a quote is its item."""

    section: str
    text: str
    order: int
    value: float
    terms: tuple[str, ...]
    says: bool
    key: str = ""
    parent: str = ""
    line: EvidenceLine | None = None  # the quoted line
    sources: Sources = ()  # its source messages

    @property
    def label(self) -> str:
        """A short form of an item: the line above its quotes."""
        about = self.text.partition(" — ")[0].partition(" → ")[0]
        return about if len(about) <= _LABEL else about[: _LABEL - 1] + "…"


class LedgerEntries:
    """Collects entries: items by key, so that quotes find theirs, without repeated lines."""

    def __init__(self, longest: int) -> None:
        self.all: list[LedgerEntry] = []
        self.items: dict[str, LedgerEntry] = {}
        self._longest = longest
        self._seen: dict[
            str, dict[str, LedgerEntry]
        ] = {}  # text -> the sections that have it, each with its item

    def add(
        self,
        section: str,
        text: str,
        order: int,
        value: float | None = None,
        key: str = "",
        line: EvidenceLine | None = None,
        sources: Sources = (),
        says: bool | None = None,
    ) -> None:
        """Add an item, unless another section already has it; `says`: whether plain words explain its terms.

        A constraint and the first request are always added. A constraint is never shortened, because half of one may
        mean the opposite.
        """
        text = _BULLETS.sub("- ", text)
        if len(text) > self._longest and section != CONSTRAINTS:
            text = text[: self._longest - 1] + "…"
        worth = weights().sections.get(section, 0.0) if value is None else value
        seen = self._seen.setdefault(text, {})
        if key in self.items or section in seen or (seen and not (section in _STATED and worth >= MUST)):
            return
        key = key or f"item:{len(self.all)}"
        terms = tuple(dict.fromkeys(terms_in(text)))
        says = says_something(text) if says is None else says
        entry = LedgerEntry(section, text, order, worth, terms, says, key, line=line, sources=sources)
        self.items[key] = seen[section] = entry
        self.all.append(entry)

    def _label_of(self, parent: str, line: EvidenceLine) -> LedgerEntry | None:
        """An item for a file, command or call that only has lines in the state."""
        kind, _, name = parent.partition(":")
        if kind not in ("run", "file", "call") or not name:
            return None
        shown = one_line(name, _LABEL)
        text = f"- {shown}" if kind == "call" else f"- `{shown}`"
        self.add(EVIDENCE, text, line.position, value=0.0, key=parent, sources=_source_of(line))
        if parent in self.items:
            return self.items[parent]
        # Long calls may have the same short form and share one label; a person's words have none.
        same = (value for title, value in self._seen.get(text, {}).items() if title not in _STATED)
        return next(same, None)

    def quote(self, line: EvidenceLine, parent: str) -> None:
        """Add a quote under its item, or by itself if it has none."""
        item = self.items.get(parent) or self._label_of(parent, line)
        sources = _source_of(line)
        if item is None:
            self.add(
                EVIDENCE,
                f"- {_mark_of(line.source)}{line.text}",
                line.position,
                value=0.0,
                line=line,
                sources=sources,
            )
        elif line.text not in item.text:
            self.all.append(
                LedgerEntry(
                    item.section,
                    QUOTE + line.text,
                    line.number,
                    0.0,
                    line.terms,
                    line.says,
                    parent=item.key,
                    line=line,
                    sources=sources,
                )
            )


def _source_of(line: EvidenceLine) -> Sources:
    """The message with the line; lines of an earlier summary have none."""
    return (line.position,) if line.position >= 0 else ()


def _mark_of(source: str) -> str:
    """The prefix of a quote without an item, so that a program's text never looks like a person's."""
    if source == TOLD:
        return FROM_PROGRAM
    return "" if source in ("", SAID) or source.startswith(f"{ASKED}:") else FROM_TOOL
