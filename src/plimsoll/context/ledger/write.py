"""Write a summary from facts alone, within a token budget.

Each section has a share of the budget and takes its most useful entries first;
what one section leaves unused goes to the others. Entries that touch a focus
topic are chosen before all others, with 65 % of the budget. What an earlier
summary said stays unless something newer replaces it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from plimsoll.context.ledger.facts import Event, Facts, FileFact
from plimsoll.context.ledger.outcome import one_line
from plimsoll.context.ledger.template import NONE, SECTIONS, Sections, render_sections, section_lines
from plimsoll.models import estimate_tokens

FOCUS_SHARE = 0.65
_SHARES = {
    "Goal": 0.18,
    "Constraints & Preferences": 0.14,
    "Done": 0.18,
    "In Progress": 0.10,
    "Blocked": 0.10,
    "Key Decisions": 0.08,
    "Relevant Files": 0.12,
    "Next Steps": 0.05,
    "Critical Context": 0.05,
}
_OPEN = ("pending", "in_progress", "open", "todo")
_FILE_LINE = re.compile(r"^- `(?P<path>[^`]+)` — (?P<actions>.+)$")
_COUNTED = re.compile(r"(\w+) (\d+)×")
_COMMAND_LINE = re.compile(r"^- `(?P<command>.+?)` → ")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line that a section may show; entries of a section are listed most useful first."""

    section: str
    text: str
    order: int


def write_sections(
    facts: Facts, previous: Mapping[str, str], budget: int, focus: str | None = None
) -> Sections:
    """The sections of a summary of at most about `budget` tokens."""
    # A line may take a fifth of the budget at the most, so that a small window still gets several.
    longest = max(60, min(600, budget * 4 // 5))
    entries = _entries(facts, previous, longest)
    room = budget - estimate_tokens(render_sections({}))
    chosen: set[Entry] = set()
    if focus:
        words = {word.casefold() for word in re.findall(r"\w{3,}", focus)}
        touching = [entry for entry in entries if any(word in entry.text.casefold() for word in words)]
        room -= _take(touching, int(room * FOCUS_SHARE), chosen)
    for title in SECTIONS:
        ours = [entry for entry in entries if entry.section == title and entry not in chosen]
        room -= _take(ours, int(max(0, budget) * _SHARES[title]) if room > 0 else 0, chosen, ceiling=room)
    _take([entry for entry in entries if entry not in chosen], room, chosen)
    return {
        title: "\n".join(e.text for e in sorted(chosen, key=lambda e: e.order) if e.section == title)
        for title in SECTIONS
    }


def fill_missing(written: Mapping[str, str], facts: Facts, budget: int) -> Sections:
    """What a model wrote, with each section that it left out filled from the facts, as far as `budget` goes."""
    missing = [title for title in SECTIONS if not section_lines(written.get(title, ""))]
    extracted = write_sections(facts, {}, max(0, budget)) if missing else {}
    return {
        title: (extracted.get(title, "") if title in missing else written[title]) or NONE
        for title in SECTIONS
    }


def _take(entries: Iterable[Entry], allowance: int, chosen: set[Entry], ceiling: int | None = None) -> int:
    """Choose entries in order while they fit; the tokens they use."""
    limit = allowance if ceiling is None else min(allowance, ceiling)
    used = 0
    for entry in entries:
        cost = estimate_tokens(entry.text) + 1
        if used + cost <= limit:
            chosen.add(entry)
            used += cost
    return used


def _entries(facts: Facts, previous: Mapping[str, str], longest: int) -> list[Entry]:
    entries: list[Entry] = []
    seen: set[str] = set()

    def add(section: str, lines: Iterable[str], newest_first: bool = True) -> None:
        found = [line if len(line) <= longest else line[: longest - 1] + "…" for line in lines]
        numbered = list(enumerate(found, start=len(entries)))
        for order, text in reversed(numbered) if newest_first else numbered:
            if text not in seen:
                seen.add(text)
                entries.append(Entry(section, text, order))

    kept = {title: section_lines(previous.get(title, "")) for title in SECTIONS}
    asked = [text for text in (facts.opening, *facts.requests) if text]
    requests = [f"- {one_line(text, 600)}" for text in asked]
    add("Goal", kept["Goal"] or requests[:1], newest_first=False)
    add("Goal", requests)
    add(
        "Constraints & Preferences",
        [*kept["Constraints & Preferences"], *(f"- {c}" for c in facts.constraints)],
    )
    add("In Progress", _in_progress(facts))
    add("Blocked", [*_still(kept["Blocked"], facts), *_events(facts, failed=True)])
    add("Done", [*kept["In Progress"], *_still(kept["Done"], facts), *_done(facts)])
    add("Key Decisions", [*kept["Key Decisions"], *(f"- {one_line(d, 300)}" for d in facts.decisions)])
    add("Relevant Files", _file_lines(facts.files, kept["Relevant Files"]))
    add("Next Steps", _next_steps(facts, kept["Next Steps"]))
    add("Critical Context", [*kept["Critical Context"], *_errors(facts)])
    return entries


def _in_progress(facts: Facts) -> list[str]:
    lines = [f"- {item}" for item, status in facts.todos.items() if status == "in_progress"]
    if facts.last_said:
        lines.append(f"- Last said: {one_line(facts.last_said, 500)}")
    asked = facts.requests[-1] if facts.requests else facts.opening
    if asked:
        lines.append(f"- Asked: {one_line(asked, 500)}")
    return lines


def _done(facts: Facts) -> list[str]:
    finished = [f"- {item}" for item, status in facts.todos.items() if status in ("completed", "done")]
    return [*finished, *_events(facts, failed=False), *(f"- commit {commit}" for commit in facts.commits)]


def _events(facts: Facts, failed: bool) -> list[str]:
    commands = [(event, f"`{event.line}`") for event in facts.commands.values()]
    actions = [(event, event.line) for event in facts.actions.values()]
    both = sorted(commands + actions, key=lambda pair: pair[0].position)
    return [_event_line(event, shown) for event, shown in both if event.outcome.failed == failed]


def _event_line(event: Event, shown: str) -> str:
    said = f": {event.outcome.line}" if event.outcome.line else ""
    return f"- {shown} → {event.outcome.status}{said}"


def _errors(facts: Facts) -> list[str]:
    failed = [*facts.commands.values(), *facts.actions.values()]
    return [f"- {one_line(error, 300)}" for event in failed for error in event.errors]


def _next_steps(facts: Facts, kept: list[str]) -> list[str]:
    open_items = [f"- {item}" for item, status in facts.todos.items() if status in _OPEN]
    if open_items:
        return list(reversed(open_items))
    if facts.requests:
        return [f"- Go on with: {one_line(facts.requests[-1], 240)}"]
    return kept or ([f"- Go on with: {one_line(facts.opening, 240)}"] if facts.opening else [])


def _still(lines: list[str], facts: Facts) -> list[str]:
    """Earlier command lines that no newer run of the same command replaced."""
    matches = ((line, _COMMAND_LINE.match(line)) for line in lines)
    return [line for line, match in matches if not (match and match["command"] in facts.commands)]


def _file_lines(files: Mapping[str, FileFact], kept: list[str]) -> list[str]:
    """One line per file, changed files last so that they are chosen first; earlier counts are added."""
    merged = {path: FileFact(dict(fact.actions), fact.last) for path, fact in files.items()}
    prose = []
    for line in kept:
        match = _FILE_LINE.match(line)
        counted = _COUNTED.findall(match["actions"]) if match else []
        if not match or not counted:
            prose.append(line)
            continue
        fact = merged.setdefault(match["path"], FileFact(last=-1))
        for action, count in counted:
            fact.actions[action] = fact.actions.get(action, 0) + int(count)
    ranked = sorted(merged.items(), key=lambda item: (set(item[1].actions) != {"read"}, item[1].last))
    return [*prose, *(f"- `{path}` — {_actions(fact)}" for path, fact in ranked)]


def _actions(fact: FileFact) -> str:
    return ", ".join(f"{action} {count}×" for action, count in fact.actions.items())
