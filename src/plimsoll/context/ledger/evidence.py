"""The quotable lines of a conversation, by source, and how often each term was used.

    assistant text   ──►  lines that were said          a term typed by the agent counts most:
    tool calls       ──►  lines of commands and edits   it will probably type it again
    tool results     ──►  lines of files and outputs
    user messages    ──►  lines that were asked

Reading is incremental: a new message costs only that message. A line is a candidate for
the summary; it is quoted verbatim, under its file or command.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from plimsoll.context.ledger.terms import amounts_in, says_something, terms_in
from plimsoll.secrets import redact

SAID, ASKED, TOLD = "said", "asked", "told"  # sources other than files and commands; told: by a program
JOINT = " / "  # between two adjacent lines that only make sense together
_TELLING_NAME = re.compile(r"pass|pwd|secret|token|key|auth|cred|cookie|session", re.IGNORECASE)
_SPOKEN = ("said", "asked")
_LONGEST = 150
_SHORTEST = 6
# Only the beginning and end of a huge result are read, where tools report what matters.
_READ_FIRST, _READ_LAST = 60_000, 20_000
_MAX_PIECES = 60
_REACH = 120  # characters between a line and the one that explains it
_NUMBERED = re.compile(r"^\s*\d+[→|:\t]\s?")
# A numbered line after a header: `12: def load()`, but not `12:30 start`.
_AFTER_HEADER = re.compile(r"^\s*(\d{1,7})(?:[→|\t]|:(?= |$))")
_HEADER = 800  # characters in which the first two numbered lines stand
_LISTED = re.compile(r"^\d+[→\t]\s?")  # a numbered line among others
# Progress lines: `Compiling serde v1.0.2`, `Downloaded 12 files`; also after the name of a step or layer:
# `cargo-check – Checking serde v1.0.2`, `4f4fb700ef54: Pull complete`.
_PROGRESS = re.compile(
    r"(?:(?!\w*(?:error|fail|warn|fatal|panic))"
    r"(?:[\w./:@-]+ +[–—|│»] +|[\w.-]{2,40}: +|\[[^\]]{1,40}\] *|#\d+ (?:\d[\d.]* )?))?"
    r"(?:[A-Z][a-z]{2,}(?:ing|ed):? [\w@][^\s;{}()=\"'`]*(?: \(?v?\d\S*| files?| packages?)*\.{0,3}"
    r"|Pulling fs layer|Pull complete|Download complete|Verifying Checksum|Already exists|Waiting"
    r"|(?:Downloading|Extracting) +\[.*)",
)
_PROGRESS_SIGNS = ("ing", "ed", "omplete", "exists")  # every such line contains one of them
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+(?=[A-Z`*\"'(\W])|\n+")
_NATURAL_CUT = re.compile(r"[,;)}\]。，、]\s*|\s")


@dataclass(slots=True)
class TermUse:
    """How often a term was typed in calls, said, asked for and shown, in how many sources, and where last."""

    typed: int = 0
    said: int = 0
    asked: int = 0
    shown: int = 0
    sources: int = 0  # changes of the source; exact while no source alternates with another
    source: str = ""  # the newest one
    last: int = -1


class EvidenceLine(NamedTuple):  # created in tens of thousands; a frozen dataclass takes four times as long
    """One line of the conversation, its terms, and whether plain words explain them."""

    position: int
    number: int  # among all lines, to keep adjacent lines together
    source: str
    text: str
    terms: tuple[str, ...]
    says: bool
    origin: int = -1  # the index of the text that it comes from
    context: str = ""  # a line near it that explains its terms, if it does not


@dataclass(slots=True)
class Evidence:
    """All lines with terms, each once, and the use of every term."""

    uses: dict[str, TermUse] = field(default_factory=dict)
    lines: dict[str, EvidenceLine] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    kept: int = 0  # number of lines ever kept

    def copy(self) -> "Evidence":
        """A copy to continue reading from."""
        uses = {
            term: TermUse(use.typed, use.said, use.asked, use.shown, use.sources, use.source, use.last)
            for term, use in self.uses.items()
        }  # `copy` takes five times as long, and there are thousands
        return Evidence(uses, dict(self.lines), list(self.texts), self.kept)

    def telling_secrets(self, lines: Iterable[EvidenceLine]) -> set[EvidenceLine]:
        """The lines with a secret that is only recognisable in its whole text, such as half a key.

        Each text is redacted once, however many of its lines are asked about: it may have megabytes.
        """
        safe: dict[int, str] = {}
        found: set[EvidenceLine] = set()
        for line in lines:
            if line.origin < 0:
                continue
            if line.origin not in safe:
                text = self.texts[line.origin]
                redacted = redact(text)
                safe[line.origin] = "" if redacted == text else redacted
            known = safe[line.origin]
            # A piece of a long line has a marker at its cut ends.
            if known and not all(part.strip("…") in known for part in line.text.split(JOINT)):
                found.add(line)
        return found

    def add(self, text: str, kind: str, source: str, position: int) -> None:
        """Read one text; `kind` is typed, said, asked or shown."""
        self.texts.append(text)
        counted: set[str] = set()
        near = _Nearby()
        for line in lines_of(text, kind in _SPOKEN):
            known = self.lines.get(line)
            terms = known.terms if known else self._terms(line, kind)
            counted.update(terms)
            says = known.says if known and known.terms else says_something(line)
            near.pass_line(line)
            if says:
                for bare in near.waiting:
                    self._explain(bare, line, source, position)
                near.explain(line)
            if terms and (known is None or not known.terms):
                context = "" if says else self._kept_context(near.context, source, position)
                self._keep(line, terms, says, source, position, context)
                if context and source in (SAID, TOLD):  # without an item, neighbours are not quoted together
                    self._keep(f"{context}{JOINT}{line}", terms, True, source, position)
                if not says and not context:
                    near.waiting.append(line)
        self._count(counted, kind, source, position)

    def _explain(self, bare: str, context: str, source: str, position: int) -> None:
        """Note the line that explains an earlier one."""
        line = self.lines.get(bare)
        if line is not None and not line.context:
            self.lines[bare] = line._replace(context=self._kept_context(context, source, position))

    def _kept_context(self, text: str, source: str, position: int) -> str:
        """A line to quote with its neighbours, kept if it has no terms; empty if it stands elsewhere."""
        known = self.lines.get(text) if text else None
        if text and known is None:
            self._keep(text, tuple(terms_in(text)), True, source, position)
        return text if known is None or known.source == source else ""

    @staticmethod
    def _terms(line: str, kind: str) -> tuple[str, ...]:
        # An amount counts only in messages; files and outputs contain too many.
        amounts = amounts_in(line) if kind in _SPOKEN else ()
        terms = tuple(dict.fromkeys((*terms_in(line), *amounts)))
        return () if terms and kind == "shown" and _is_progress(line) else terms

    def _keep(
        self, text: str, terms: tuple[str, ...], says: bool, source: str, position: int, context: str = ""
    ) -> None:
        origin = len(self.texts) - 1  # the current text is the newest
        self.lines[text] = EvidenceLine(position, self.kept, source, text, terms, says, origin, context)
        self.kept += 1

    def supersede(self, text: str, source: str, position: int) -> None:
        """Record replaced text: its terms were typed, but its lines are no longer true."""
        counted: set[str] = set()
        for line in lines_of(text):
            known = self.lines.pop(line, None)
            counted.update(known.terms if known else terms_in(line))
        self._count(counted, "typed", source, position)

    def _count(self, terms: Iterable[str], kind: str, source: str, position: int) -> None:
        for term in terms:
            use = self.uses.get(term)
            if use is None:
                use = self.uses[term] = TermUse()
            setattr(use, kind, getattr(use, kind) + 1)
            use.last = position
            if use.source != source:
                use.sources += 1
                use.source = source


@dataclass(slots=True)
class _Nearby:
    """The line that explains those after it, and those before it that no line explains yet."""

    context: str = ""
    waiting: list[str] = field(default_factory=list)
    _distance: int = 0  # characters since the context
    _unexplained: int = 0  # characters since the first waiting line

    def pass_line(self, line: str) -> None:
        """Move on by a line."""
        self._distance += len(line)
        if self._distance > _REACH:
            self.context = ""
        if self.waiting:
            self._unexplained += len(line)
            if self._unexplained > _REACH:
                self.waiting.clear()
        else:
            self._unexplained = 0

    def explain(self, line: str) -> None:
        """Take a line as the context of those after it."""
        self.context, self._distance = line, 0
        self.waiting.clear()


def _is_progress(line: str) -> bool:
    return any(map(line.__contains__, _PROGRESS_SIGNS)) and _PROGRESS.fullmatch(line) is not None


def lines_of(text: str, spoken: bool = False) -> Iterator[str]:
    """The quotable lines of a text, each once: sentences, lines of code, pieces of very long lines."""
    if len(text) > _READ_FIRST + _READ_LAST:
        text = f"{text[:_READ_FIRST]}\n{text[-_READ_LAST:]}"
    numbered = _NUMBERED.match(text) is not None or _has_line_numbers(text[:_HEADER])
    unescaped = _unescaped(text)
    for line in dict.fromkeys(_SENTENCE.split(unescaped) if spoken else unescaped.splitlines()):
        bare = (_NUMBERED.sub("", line) if numbered else line).strip()
        if not numbered and bare[:1].isdigit():
            bare = _LISTED.sub("", bare).strip()
        if len(bare) <= _LONGEST:
            if len(bare) >= _SHORTEST:
                yield bare
        else:
            yield from _pieces(bare)


def _has_line_numbers(text: str) -> bool:
    """Whether two adjacent lines carry consecutive line numbers, as tools show files after a header."""
    before = -1
    for line in text.splitlines():
        found = _AFTER_HEADER.match(line)
        if found and int(found[1]) == before + 1 and before >= 0:
            return True
        before = int(found[1]) if found else -1
    return False


def _unescaped(text: str) -> str:
    """Text with escaped line ends from JSON unescaped, because a single line could not be quoted."""
    if text.count("\\n") <= text.count("\n"):
        return text
    return text.replace("\\n", "\n").replace("\\t", " ").replace('\\"', '"')


def argument_texts(arguments: Any) -> Iterator[str]:
    """Every text in the arguments of a call, without argument names."""
    if isinstance(arguments, str):
        yield arguments
    elif isinstance(arguments, dict):
        for name, value in arguments.items():
            if not (isinstance(value, str) and _is_secret(str(name), value)):
                yield from argument_texts(value)
    elif isinstance(arguments, list):
        for value in arguments:
            yield from argument_texts(value)


def _is_secret(name: str, value: str) -> bool:
    """Whether the name of an argument marks its value as a secret; the name is not quoted with it."""
    if not _TELLING_NAME.search(name):
        return False
    text = f'"{name}": "{value[:_LONGEST]}"'
    return redact(text) != text


def _pieces(line: str) -> Iterator[str]:
    """A long line cut at suitable places, with a marker at cut ends."""
    start = 0
    for _ in range(_MAX_PIECES):
        if start >= len(line):
            return
        stop = min(len(line), start + _LONGEST)
        if stop < len(line):
            cuts = [cut.end() for cut in _NATURAL_CUT.finditer(line, start + _LONGEST // 2, stop)]
            stop = cuts[-1] if cuts else stop
        piece = line[start:stop].strip()
        if len(piece) >= _SHORTEST:
            yield f"{'…' if start else ''}{piece}{'…' if stop < len(line) else ''}"
        start = stop
