"""Everything that a summary may say, as entries: what each is worth, where it belongs, what it was read from.

    - `src/app.py` — edited 3×, read 1×            an item: a fact by itself
      · def load_config(path: Path) -> Config:     a quote under it: evidence, a line as it stood

Items are written from the state of the work (headings.py), quotes from the lines behind it (evidence.py), and what an
earlier summary said that nothing newer replaced is taken over (earlier.py).
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
FROM_TOOL = "Tool output: "  # before an error line, and before a quote that stands under no call
FROM_PROGRAM = "Told by a program: "  # before a quote of what a harness put into the conversation
MORE_ON = "- More on "  # before a heading's name: what that heading had no room for
# What must survive every compaction has at least this value.
MUST = 3.0
CONSTRAINTS = "Constraints & Preferences"
_STATED = ("Goal", CONSTRAINTS, "In Progress")
_LABEL = 110
_BULLETS = re.compile(r"^- (?:[-*•+>]\s+)+")  # of a list that was quoted, behind the summary's own


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
    sources: Sources = ()  # the messages that it was read from

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
    ) -> None:
        """An item; one that was said already is not said again.

        A constraint is never left out because another section says the same, nor is what the conversation began
        with. A constraint is not cut either: half of one may mean the opposite.
        """
        text = _BULLETS.sub("- ", text)
        if len(text) > self._longest and section != CONSTRAINTS:
            text = text[: self._longest - 1] + "…"
        worth = weights().sections.get(section, 0.0) if value is None else value
        said = self._seen.setdefault(text, {})
        if key in self.items or section in said or (said and not (section in _STATED and worth >= MUST)):
            return
        key = key or f"item:{len(self.all)}"
        terms = tuple(dict.fromkeys(terms_in(text)))
        says = says_something(text)
        entry = LedgerEntry(section, text, order, worth, terms, says, key, line=line, sources=sources)
        self.items[key] = said[section] = entry
        self.all.append(entry)

    def _label_of(self, parent: str, line: EvidenceLine) -> LedgerEntry | None:
        """An item for a file, command or call of which the state keeps nothing but its lines."""
        kind, _, name = parent.partition(":")
        if kind not in ("run", "file", "call") or not name:
            return None
        shown = one_line(name, _LABEL)
        text = f"- {shown}" if kind == "call" else f"- `{shown}`"
        self.add(EVIDENCE, text, line.position, value=0.0, key=parent)
        if parent in self.items:
            return self.items[parent]
        # Long calls may look the same in short and share one label; none stands under a person's words.
        same = (one for title, one in self._seen.get(text, {}).items() if title not in _STATED)
        return next(same, None)

    def quote(self, line: EvidenceLine, parent: str) -> None:
        """A line under its item, or by itself where it has none."""
        item = self.items.get(parent) or self._label_of(parent, line)
        sources = (line.position,) if line.position >= 0 else ()
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


def _mark_of(source: str) -> str:
    """What a quote by itself begins with, so that a program's words never look like a person's."""
    if source == TOLD:
        return FROM_PROGRAM
    return "" if source in ("", SAID) or source.startswith(f"{ASKED}:") else FROM_TOOL
