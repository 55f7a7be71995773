"""The summary's headings (`sections.toml`): the request to a model, parsing its text, and rendering.

## Goal · ## Constraints & Preferences · ## Progress (### Done, ### In Progress, ### Blocked)
## Key Decisions · ## Relevant Files · ## Next Steps · ## Critical Context

followed by the user's headings (`custom_prompt.py`), and, if code has more to quote than they contain:
## Evidence
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TypeAlias

Sections: TypeAlias = dict[str, str]


@dataclass(frozen=True, slots=True)
class SummarySection:
    """One heading of a summary: a table of `sections.toml`."""

    title: str
    ask: str  # the instruction for the model
    priority: int  # which lines to keep first if not all fit
    part_of: str = ""  # its parent heading


_ALL = tuple(
    SummarySection(**row)
    for row in tomllib.loads(files(__package__).joinpath("sections.toml").read_text("utf-8"))["section"]
)
SECTIONS = tuple(section.title for section in _ALL)
BY_PRIORITY = tuple(section.title for section in sorted(_ALL, key=lambda section: section.priority))
PROGRESS = tuple(section.title for section in _ALL if section.part_of == "Progress")
EVIDENCE = "Evidence"
EVIDENCE_NOTE = (
    "Exact quotes from the compacted messages that the summary above does not hold, by file or command."
)
NONE = "(none)"
HEADING_TITLE = re.compile(r"[^\W\d_](?:[^\W\d_]|[ &])*")
_HEADING = re.compile(
    rf"^\s{{0,3}}(?:#{{1,6}}\s*\**|\*\*)\s*(?P<title>{HEADING_TITLE.pattern}?)\s*:?\s*\**\s*:?\s*$"
)
_ADDED = re.compile(rf"## (?P<title>{HEADING_TITLE.pattern})")  # as `render_sections` writes it
_TITLES = {title.casefold(): title for title in (*SECTIONS, "Progress", EVIDENCE)} | {
    "constraints and preferences": "Constraints & Preferences"
}


def is_reserved(title: str) -> bool:
    """Whether a heading is one of the standard ones."""
    return title.casefold() in _TITLES


def titles_of(*summaries: Iterable[str]) -> tuple[str, ...]:
    """The standard headings, then the user's headings in any of the summaries."""
    added = dict.fromkeys(title for titles in summaries for title in titles if not is_reserved(title))
    return (*SECTIONS, *added)


def parse_sections(text: str, added: Collection[str] | None = None) -> Sections:
    """The known sections of a summary, by title; text before the first heading is dropped.

    `added` are the additional headings that a model was asked for. Without it, the text is Plimsoll's own summary, in
    which every heading is known.
    """
    requested = {title.casefold(): title for title in added or ()}
    sections: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        title = _title_in(line, requested) or (_added_title(line, sections) if added is None else None)
        if title:
            current = sections.setdefault(title, [])
        elif current is not None:
            current.append(line.rstrip())
    found = {title: "\n".join(lines).strip() for title, lines in sections.items()}
    if EVIDENCE in found:
        found[EVIDENCE] = found[EVIDENCE].removeprefix(EVIDENCE_NOTE).strip()
    loose = found.pop("Progress", None)
    if loose is not None:
        # A model that omitted the three sub-headings still stated what was done.
        found["Done"] = "\n".join(part for part in (loose, found.get("Done", "")) if part)
    return found


def _title_in(line: str, requested: Mapping[str, str]) -> str | None:
    """The title of a heading line, a standard one or a requested one."""
    match = _HEADING.match(line)
    if not match:
        return None
    named = match["title"].casefold()
    return _TITLES.get(named) or requested.get(named)


def _added_title(line: str, before: Collection[str]) -> str | None:
    """A user's heading in Plimsoll's own summary; these are between the nine headings and the evidence."""
    match = _ADDED.fullmatch(line) if "Goal" in before and EVIDENCE not in before else None
    return match["title"] if match else None


def has_goal_and_progress(sections: Mapping[str, str]) -> bool:
    """Whether the two required sections, Goal and Progress, are present and not empty."""
    says = {title for title, body in sections.items() if body and body.casefold() != NONE}
    return "Goal" in says and bool(says & set(PROGRESS))


def render_sections(sections: Mapping[str, str]) -> str:
    """All headings in order; an empty section is `(none)`."""
    return _under_headings({title: sections.get(title, "").strip() or NONE for title in titles_of(sections)})


def asked_headings(added: Sequence[SummarySection] = ()) -> str:
    """All headings in order, each with its instruction for the model."""
    return _under_headings({section.title: section.ask for section in (*_ALL, *added)})


def _under_headings(bodies: Mapping[str, str]) -> str:
    lines: list[str] = []
    opened = ""
    for section in _ALL:
        if section.part_of and section.part_of != opened:
            lines.append(f"## {section.part_of}")
        opened = section.part_of
        lines += [f"{'###' if section.part_of else '##'} {section.title}", bodies[section.title]]
    for title in titles_of(bodies)[len(SECTIONS) :]:
        lines += [f"## {title}", bodies[title]]
    return "\n".join(lines)


def render_evidence(sections: Mapping[str, str]) -> str:
    """The section after the headings; empty if there is nothing to quote."""
    body = sections.get(EVIDENCE, "").strip()
    return f"## {EVIDENCE}\n{EVIDENCE_NOTE}\n{body}" if body else ""


def section_lines(body: str) -> list[str]:
    """The entries of a section, one per line, without the placeholder."""
    return [line for line in body.splitlines() if line.strip() and line.strip().casefold() != NONE]
