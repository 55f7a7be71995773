"""Where each term was said: the lines of a conversation, by source, and how often a term was used by whom.

    assistant text   ──►  lines that were said          a term typed by the agent counts most:
    tool calls       ──►  lines of commands and edits   what it typed before, it will type again
    tool results     ──►  lines of files and outputs
    user messages    ──►  lines that were asked

Reading is incremental: one more message costs that message. A line is a candidate for
the summary; it is quoted as it stands, under the file or the command that it came from.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from plimsoll.context.ledger.terms import amounts_in, says_something, terms_in
from plimsoll.secrets import redact

SAID, ASKED, TOLD = "said", "asked", "told"  # sources that are no file and no command; told: by a program
JOINT = " / "  # between two neighbouring lines that only together say something
_TELLING_NAME = re.compile(r"pass|pwd|secret|token|key|auth|cred|cookie|session", re.IGNORECASE)
_SPOKEN = ("said", "asked")
_LONGEST = 150
_SHORTEST = 6
# Of a giant result its beginning and end are read; both are where tools say what matters.
_READ_FIRST, _READ_LAST = 60_000, 20_000
_MOST_PIECES = 60
_NUMBERED = re.compile(r"^\s*\d+[→|:\t]\s?")
_LISTED = re.compile(r"^\d+[→\t]\s?")  # a numbered line among others
# What a program does at the moment, one thing a line: `Compiling serde v1.0.2`, `Downloaded 12 files`; also behind
# the name of the step or layer that does it: `cargo-check – Checking serde v1.0.2`, `4f4fb700ef54: Pull complete`.
_PROGRESS = re.compile(
    r"(?:(?!\w*(?:error|fail|warn|fatal|panic))"
    r"(?:[\w./:@-]+ +[–—|│»] +|[\w.-]{2,40}: +|\[[^\]]{1,40}\] *|#\d+ (?:\d[\d.]* )?))?"
    r"(?:[A-Z][a-z]{2,}(?:ing|ed):? [\w@][^\s;{}()=\"'`]*(?: \(?v?\d\S*| files?| packages?)*\.{0,3}"
    r"|Pulling fs layer|Pull complete|Download complete|Verifying Checksum|Already exists|Waiting"
    r"|(?:Downloading|Extracting) +\[.*)",
)
_PROGRESS_SIGNS = ("ing", "ed", "omplete", "exists")  # one of them stands in every such line
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+(?=[A-Z`*\"'(\W])|\n+")
_NATURAL_CUT = re.compile(r"[,;)}\]。，、]\s*|\s")


@dataclass(slots=True)
class TermUse:
    """How often a term was typed in calls, said, asked for and shown, and the newest place of it."""

    typed: int = 0
    said: int = 0
    asked: int = 0
    shown: int = 0
    last: int = -1


class EvidenceLine(NamedTuple):  # made by the ten thousand, and a frozen dataclass takes four times as long
    """One line as it stood in the conversation, its terms, and whether plain words say what they are about."""

    position: int
    number: int  # among all lines, so that neighbours stay neighbours
    source: str
    text: str
    terms: tuple[str, ...]
    says: bool
    origin: int = -1  # the text that it was cut from, among those of the evidence


@dataclass(slots=True)
class Evidence:
    """All lines with terms, each once, and the use of every term."""

    uses: dict[str, TermUse] = field(default_factory=dict)
    lines: dict[str, EvidenceLine] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    kept: int = 0  # lines that were ever kept

    def copy(self) -> "Evidence":
        """The same lines and uses, to read on from."""
        uses = {
            term: TermUse(use.typed, use.said, use.asked, use.shown, use.last)
            for term, use in self.uses.items()
        }
        return Evidence(uses, dict(self.lines), list(self.texts), self.kept)

    def tells_secret(self, line: EvidenceLine) -> bool:
        """Whether a line holds what would have been taken out of its text: half a key does not look like one."""
        if line.origin < 0:
            return False
        text = self.texts[line.origin]
        safe = redact(text)
        # A piece of a long line has a mark at its cut ends.
        return safe != text and not all(part.strip("…") in safe for part in line.text.split(JOINT))

    def add(self, text: str, kind: str, source: str, position: int) -> None:
        """Read one text: `kind` is the way it counts (typed, said, asked, shown)."""
        self.texts.append(text)
        counted: set[str] = set()
        before = ""
        alone: EvidenceLine | None = None  # the line before, where its terms stand without plain words
        for line in lines_of(text, kind in _SPOKEN):
            known = self.lines.get(line)
            terms = known.terms if known else self._terms(line, kind)
            if not terms and alone is None:
                before = line
                continue
            counted.update(terms)
            says = known.says if known else says_something(line)
            if alone is not None and says:
                self._keep(f"{alone.text}{JOINT}{line}", (*alone.terms, *terms), True, source, position)
            alone = None
            if known is None and terms:
                found = self._keep(line, terms, says, source, position)
                if not says and says_something(before):
                    self._keep(f"{before}{JOINT}{line}", terms, True, source, position)
                elif not says:
                    alone = found
            before = line
        self._count(counted, kind, position)

    @staticmethod
    def _terms(line: str, kind: str) -> tuple[str, ...]:
        # An amount counts where somebody speaks of it; in files and outputs there are too many.
        amounts = amounts_in(line) if kind in _SPOKEN else ()
        terms = tuple(dict.fromkeys((*terms_in(line), *amounts)))
        return () if terms and kind == "shown" and _is_progress(line) else terms

    def _keep(
        self, text: str, terms: tuple[str, ...], says: bool, source: str, position: int
    ) -> EvidenceLine:
        origin = len(self.texts) - 1  # the text that is being read: the newest
        line = EvidenceLine(position, self.kept, source, text, terms, says, origin)
        self.lines[text] = line
        self.kept += 1
        return line

    def supersede(self, text: str, position: int) -> None:
        """Text that was replaced: its terms were typed, but its lines are no longer true."""
        counted: set[str] = set()
        for line in lines_of(text):
            known = self.lines.pop(line, None)
            counted.update(known.terms if known else terms_in(line))
        self._count(counted, "typed", position)

    def _count(self, terms: Iterable[str], kind: str, position: int) -> None:
        for term in terms:
            use = self.uses.get(term)
            if use is None:
                use = self.uses[term] = TermUse()
            setattr(use, kind, getattr(use, kind) + 1)
            use.last = position


def _is_progress(line: str) -> bool:
    return any(map(line.__contains__, _PROGRESS_SIGNS)) and _PROGRESS.fullmatch(line) is not None


def lines_of(text: str, spoken: bool = False) -> Iterator[str]:
    """The text in lines that can be quoted, each once: sentences, lines of code, pieces of very long ones."""
    if len(text) > _READ_FIRST + _READ_LAST:
        text = f"{text[:_READ_FIRST]}\n{text[-_READ_LAST:]}"
    numbered = _NUMBERED.match(text) is not None
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


def _unescaped(text: str) -> str:
    """Text inside of JSON has its line ends written out; as one line it could not be quoted."""
    if text.count("\\n") <= text.count("\n"):
        return text
    return text.replace("\\n", "\n").replace("\\t", " ").replace('\\"', '"')


def argument_texts(arguments: Any) -> Iterator[str]:
    """Every text in the arguments of a call, names left out."""
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
    """Whether a value is a secret by the name of its argument, which is not quoted with it."""
    if not _TELLING_NAME.search(name):
        return False
    text = f'"{name}": "{value[:_LONGEST]}"'
    return redact(text) != text


def _pieces(line: str) -> Iterator[str]:
    """A long line cut where it can be cut, with a mark where something stands before or behind."""
    start = 0
    for _ in range(_MOST_PIECES):
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
