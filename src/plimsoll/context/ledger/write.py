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
_STOP_WORDS = frozenset({
    "the", "and", "for", "with", "that", "this", "from", "are", "was", "all", "about", "its", "our", "your", "how",
    "what", "when", "where", "on", "in", "of", "to", "is", "it", "be", "as", "at", "by", "or", "an", "we",
})  # fmt: skip
_OF_THE_MOMENT = ("- Asked:", "- Last said:", "- Go on with:")
_OPEN = ("pending", "in_progress", "open", "todo")
_FILE_LINE = re.compile(r"^- `(?P<path>[^`]+)` — (?P<actions>.+)$")
_COUNTED = re.compile(r"(\w+) (\d+)×")


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
        touching = _touching(entries, focus)
        room -= _take(touching, int(room * FOCUS_SHARE), chosen)
    for title in SECTIONS:
        ours = [entry for entry in entries if entry.section == title and entry not in chosen]
        room -= _take(ours, int(max(0, budget) * _SHARES[title]) if room > 0 else 0, chosen, ceiling=room)
    _take([entry for entry in entries if entry not in chosen], room, chosen)
    return {
        title: "\n".join(e.text for e in sorted(chosen, key=lambda e: e.order) if e.section == title)
        for title in SECTIONS
    }


def _touching(entries: list[Entry], focus: str) -> list[Entry]:
    """The entries that speak of the topic, those that hit most of its words first."""
    words = {
        word for word in re.findall(r"\w+", focus.casefold()) if len(word) > 1 and word not in _STOP_WORDS
    }
    # Scripts without spaces: a topic is found by its pairs of characters.
    pairs = {word[n : n + 2] for word in words if not word.isascii() for n in range(len(word) - 1)}
    hits = {entry: _hits(entry.text.casefold(), words | pairs) for entry in entries}
    return sorted((entry for entry in entries if hits[entry]), key=lambda entry: -hits[entry])


def _hits(text: str, words: set[str]) -> int:
    spoken = set(re.findall(r"\w+", text))
    return sum(word in spoken or (word in text and (len(word) > 3 or not word.isascii())) for word in words)


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
    add("In Progress", [*_unfinished(kept["In Progress"], facts), *_in_progress(facts)])
    add("Blocked", [*_still(kept["Blocked"], facts), *_events(facts, failed=True)])
    add("Done", [*_still(kept["Done"], facts), *_done(facts)])
    add("Key Decisions", [*kept["Key Decisions"], *(f"- {one_line(d, 300)}" for d in facts.decisions)])
    add("Relevant Files", _file_lines(facts.files, kept["Relevant Files"]))
    add("Next Steps", [*_unfinished(kept["Next Steps"], facts), *_next_steps(facts)])
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


def _next_steps(facts: Facts) -> list[str]:
    open_items = [f"- {item}" for item, status in facts.todos.items() if status in _OPEN]
    asked = facts.requests[-1] if facts.requests else facts.opening
    return list(reversed(open_items)) or ([f"- Go on with: {one_line(asked, 240)}"] if asked else [])


def _unfinished(lines: list[str], facts: Facts) -> list[str]:
    """Earlier open items of which nothing newer is known; lines that were true only of their moment go."""
    known = {f"- {item}" for item in facts.todos}
    return [line for line in lines if line not in known and not line.startswith(_OF_THE_MOMENT)]


def _still(lines: list[str], facts: Facts) -> list[str]:
    """Earlier lines of commands and calls that no newer run of the same replaced, on files still in trouble."""
    newer = [f"- `{line}` → " for line in facts.commands] + [f"- {line} → " for line in facts.actions]
    return [
        line
        for line in lines
        if not line.startswith(tuple(newer))
        and not ("→ error" in line and any(path in line for path in facts.files))
    ]


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
