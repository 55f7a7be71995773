"""Writes the nine headings from the state of the work: newest state only, most important first.

    Goal                the purpose of the work, in the person's words (requests.py)
    Constraints         limits and wishes in force, without revoked ones
    Done                commits, passing checks, actions with an effect, answered requests
    In Progress         the newest request, and what a short reply agreed to
    Blocked             checks that still fail, an unanswered question
    Key Decisions       decisions and findings; guesses are marked as such
    Relevant Files      changed files, how often and why
    Next Steps          open items, failing checks, or else the current work
    Critical Context    running processes

`facts` are the facts of messages that left the context; `now` includes the messages that stay, so that nothing is
listed as open that they have closed.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from plimsoll.context.ledger.earlier import EarlierItems, add_earlier, earlier_items, merged_files
from plimsoll.context.ledger.entries import CONSTRAINTS, FROM_TOOL, MUST, LedgerEntries, LedgerEntry
from plimsoll.context.ledger.evidence import ASKED, SAID, TOLD, EvidenceLine
from plimsoll.context.ledger.failures import open_failures
from plimsoll.context.ledger.listed_rules import BETWEEN
from plimsoll.context.ledger.moves import changed_paths, current_name
from plimsoll.context.ledger.open_work import (
    ANSWERED_LENGTH,
    ASKED_LENGTH,
    add_in_progress,
    add_next_steps,
    in_short,
    known_sources,
)
from plimsoll.context.ledger.outcome import one_line
from plimsoll.context.ledger.outcomes import (
    check_of,
    covers,
    is_lookup_tool,
    is_misused,
    is_routine,
    parsed,
    printed_file,
)
from plimsoll.context.ledger.requests import aims_of
from plimsoll.context.ledger.speakers import is_about_speaker, tells_about_self
from plimsoll.context.ledger.state import ConversationFacts, Event, PersonRequest, StatedConstraint
from plimsoll.context.ledger.template import EVIDENCE
from plimsoll.context.ledger.terms import says_something
from plimsoll.context.ledger.todos import FINISHED
from plimsoll.context.ledger.weights import weights
from plimsoll.context.ledger.words import content_words
from plimsoll.secrets import redact

_SHOWN = {True: 160, False: 110}  # characters of a failed call, and of any other
_SHORT_RESULT = 60
_SAME_STEP = 30  # leading characters by which a step is found in its command
_AIM = 580  # characters of a request under Goal
_MOST_OF_IT = 0.5  # share of the opening request that a sentence must be so as not to be repeated as a wish
_FIRST_ASKED, _LAST_ASKED = 20, 120  # requests to consider; no summary has room for more
_RULES_OF_A_FILE = 8  # of a rules file such as AGENTS.md to quote
_LAST_IN_CHAT = 6  # requests
_LAST_GUESSES = 6
# Words of an error line that say only that something failed.
_SAYS_FAILED = frozenset(
    {"error", "fail", "failed", "failure", "fatal", "task", "exit", "statu", "status", "code", "command"}
)
_PERSONAL = 0.0025  # value per character of a personal statement in a chat
_IN_AN_AGENTS_WORK = 0.05  # factor if tools are used


def entries_of(
    facts: ConversationFacts,
    previous: Mapping[str, str],
    longest: int,
    now: ConversationFacts | None = None,
    lines: Iterable[EvidenceLine] | None = None,
) -> list[LedgerEntry]:
    """Every entry from the state and an earlier summary; quotes only from `lines` if given."""
    now = now or facts
    entries = LedgerEntries(longest)
    earlier = earlier_items(previous)
    _add_constraints(entries, now)
    _add_aims(entries, now, [line for line, _ in earlier["Goal"]])
    add_in_progress(entries, now)
    _add_blocked(entries, now)
    _add_done(entries, facts, now)
    _add_decisions(entries, now)
    add_next_steps(entries, now)
    _add_context(entries, now)
    same = changed_paths(facts.files)
    _add_files(entries, facts, earlier, same)
    add_earlier(entries, now, earlier)
    _add_personal(entries, facts, now)
    for line in facts.evidence.lines.values() if lines is None else lines:
        if line.text not in now.revoked:
            entries.quote(line, _item_of(line, facts, same))
    return _not_forgotten(entries.all, now) if now.personal.forgotten else entries.all


def _item_of(line: EvidenceLine, facts: ConversationFacts, same: Mapping[str, str]) -> str:
    """The item for a quoted line; a file has its current name."""
    if line.source in (SAID, TOLD):
        return ""
    if line.source.startswith("file:") and (facts.renamed or same):
        path = line.source.removeprefix("file:")
        return f"file:{current_name(facts, same.get(path, path))}"
    return line.source


def _not_forgotten(entries: list[LedgerEntry], now: ConversationFacts) -> list[LedgerEntry]:
    """The entries without what the person asked to forget; files and tool outputs are not the person's words."""
    again = {one.source for one in now.requests}
    return [
        entry
        for entry in entries
        if (not now.is_chat and (entry.parent or entry.key).startswith(("file:", "run:", "call:")))
        or not now.personal.holds_forgotten(
            entry.text,
            entry.sources,
            now.is_chat,
            entry.section == CONSTRAINTS and not is_about_speaker(entry.text.removeprefix("- ")),
            again,
        )
    ]


def _add_personal(entries: LedgerEntries, facts: ConversationFacts, now: ConversationFacts) -> None:
    """Add current personal statements; they matter most in a chat without tools."""
    value = _PERSONAL if facts.is_chat else _PERSONAL * _IN_AN_AGENTS_WORK
    ruled = {**now.constraints, **({} if now.is_chat else now.wishes)}.keys() - _about_speaker(now)
    shown: dict[int, list[str]] = {}
    for entry in entries.all:
        if entry.sources:
            shown.setdefault(entry.sources[0], []).append(entry.text)
    for line, source in facts.personal.lines(now.personal, ruled, only_own=not now.is_chat):
        if not now.is_chat and any(line.partition(": ")[2] in text for text in shown.get(source, ())):
            continue  # the whole message is under another heading
        # Valued by length, so that long statements compete with short ones; newer ones have priority.
        worth = value * len(line) * (1 + source / max(1, now.messages))
        entries.add("Critical Context", f"- {line}", source, worth, sources=(source,))


def _about_speaker(now: ConversationFacts) -> set[str]:
    """In a chat, sentences such as "I never eat meat" are about the person and are listed with their speaker."""
    return now.personal.about_the_user() if now.is_chat else set()


def _add_constraints(entries: LedgerEntries, now: ConversationFacts) -> None:
    """Add limits before wishes, without repeating the newest request or the opening one."""
    known = weights()
    elsewhere = _about_speaker(now)
    for order, one in enumerate(now.constraints.values()):
        if one.text not in elsewhere and not one.origin and not (now.is_chat and tells_about_self(one.text)):
            entries.add(CONSTRAINTS, f"- {one.text}", order, sources=(one.source,))
    _add_rules_files(entries, now, known.rules_file)
    if now.is_chat:
        return  # personal statements in a chat are under Critical Context, with their speaker
    newest = now.newest_request
    shown = in_short(newest.text, ASKED_LENGTH) if newest else ""
    opening = next((in_short(aim.text, _AIM) for aim in aims_of(now.requests)), "")
    for order, one in enumerate(now.wishes.values(), len(now.constraints)):
        is_opening = one.text in opening and len(one.text) > len(opening) * _MOST_OF_IT
        if one.text not in shown and not is_opening:
            entries.add(CONSTRAINTS, f"- {one.text}", order, known.wish, sources=(one.source,))


def _add_rules_files(entries: LedgerEntries, now: ConversationFacts, value: float) -> None:
    """Add the first rules of each rules file under the heading, and the others as evidence, if there is room.

    The agent that continues can read the file itself. It cannot read a system message again, so all rules of one are
    under the heading.
    """
    by_file: dict[str, list[StatedConstraint]] = {}
    for one in now.constraints.values():
        if one.origin:
            by_file.setdefault(one.origin, []).append(one)
    for name, rules in by_file.items():
        # Rules that stand by themselves come before the items of lists, and each list's first item before its second.
        before = Counter[str]()
        places: dict[str, tuple[int, int]] = {}
        for one in rules:
            subject, is_listed, _ = one.text.rpartition(BETWEEN)
            places[one.text] = (before[subject] if is_listed else 0, len(is_listed))
            before[subject] += 1
        most = _RULES_OF_A_FILE if name.endswith(".md") else len(rules)
        first = sorted(rules, key=lambda one: places[one.text])[:most]
        for order, one in enumerate(rules):
            section, worth = (CONSTRAINTS, value) if one in first else (EVIDENCE, weights().low)
            entries.add(section, f"- {one.text} (from {name})", order, worth, sources=(one.source,))
        if len(rules) > len(first):
            count = len(rules) - len(first)
            text = f"- {count} more {'rule is' if count == 1 else 'rules are'} in {name}."
            entries.add(CONSTRAINTS, text, len(rules), value, sources=(rules[-1].source,))


def _add_aims(entries: LedgerEntries, now: ConversationFacts, earlier: Collection[str]) -> None:
    """Add the requests that set a goal, except those that an earlier summary states already."""
    for number, aim in enumerate(aims_of(now.requests)):
        first = number == 0 and not earlier
        text = in_short(_without_revoked(aim.text, now), _AIM)
        line = f"- {text}" if first else f"- Later: {text}"
        if f"- {text}" in earlier or line in earlier:
            continue
        entries.add(
            "Goal",
            line,
            number,
            MUST + 1 if first else MUST,
            key=f"{ASKED}:{aim.source}",
            sources=known_sources(aim.source),
        )


def _without_revoked(text: str, now: ConversationFacts) -> str:
    """A request without the limits in it that no longer hold."""
    left = text
    for sentence in now.revoked:
        left = left.replace(sentence, "")
    return left.strip() or text


def _add_blocked(entries: LedgerEntries, now: ConversationFacts) -> None:
    for event in open_failures(now):
        entries.add(
            "Blocked", _event_line(event), event.position, MUST, _event_key(event), sources=(event.position,)
        )
        known = content_words(f"{event.line} {event.outcome.line}") | _SAYS_FAILED
        for error in () if is_misused(event.outcome) else event.errors:
            if not content_words(error) <= known:
                line = f"- {FROM_TOOL}{one_line(error, 300)}"
                entries.add("Critical Context", line, event.position, sources=(event.position,))
    if now.question is not None:
        text = f"- Waiting for the person's answer to: {one_line(now.question.text, 300)}"
        entries.add("Blocked", text, now.question.source, MUST, sources=(now.question.source,))


def _add_done(entries: LedgerEntries, facts: ConversationFacts, now: ConversationFacts) -> None:
    known = weights()
    for item, status in now.todos.items.items():
        if status in FINISHED:
            entries.add("Done", f"- {item}", 0, 0.8, sources=known_sources(now.todos.sources.get(item)))
    for commit in facts.commits.values():
        entries.add("Done", f"- {commit.line}", commit.source, known.commit, sources=(commit.source,))
    newest = {check.newest.position: check.newest for check in now.checks.values()}
    for event in (*facts.commands.values(), *facts.actions.values()):
        if not event.outcome.failed and (printed_file(event.command) or is_routine(event.command)):
            continue  # a read of a file, which has a line of its own, or a preparation
        _add_event(entries, event, now, event.position in newest or _is_fixed(event, newest.values()))
    _add_answered(entries, facts, now)


def _add_answered(entries: LedgerEntries, facts: ConversationFacts, now: ConversationFacts) -> None:
    """Add earlier requests that no other heading contains."""
    current = now.newest_request
    kept = {one.source for one in aims_of(now.requests)} | ({current.source} if current else set())
    # In a chat, the person's statements show what the requests were about.
    first = len(facts.requests) - _LAST_IN_CHAT if facts.is_chat else 0
    asked = [one for one in facts.requests[max(0, first) :] if one.source not in kept and one.kind != "reply"]
    for number, one in enumerate(asked):
        if not _FIRST_ASKED <= number < len(asked) - _LAST_ASKED:
            if _is_elsewhere(one, now):
                continue
            done = f" ({one.changes} edits)" if one.changes else ""
            done += f" — answered: {one_line(one.answer, ANSWERED_LENGTH)}" if one.answer else ""
            asked_for = redact(_without_revoked(one.text, now))
            text = f"- Asked: {one_line(asked_for, ANSWERED_LENGTH)}{done}"
            key = f"{ASKED}:{one.source}"
            entries.add("Done", text, one.source, weights().asked, key, sources=known_sources(one.source))


def _is_elsewhere(request: PersonRequest, now: ConversationFacts) -> bool:
    """Whether a request is over, or stands under another heading: a wish, or what the person tells in a chat."""
    if request.status == "withdrawn" or request.text.strip() in now.revoked:
        return True
    is_told = now.is_chat and now.personal.states_all_of(request.text)
    return is_told or one_line(request.text, ANSWERED_LENGTH) in now.wishes


def _add_event(entries: LedgerEntries, event: Event, now: ConversationFacts, counts: bool) -> None:
    """Add a run or call: under Done if it had an effect, else only as a label for its quotes.

    A check `counts` if it is the newest run of its program, or passed after a failure.
    """
    key = _event_key(event)
    known = now.commands.get(event.line) if event.command else now.actions.get(event.line)
    looks = event.looks if event.command else is_lookup_tool(event.line)
    is_check = bool(event.command) and check_of(event.command, event.outcome) is not None
    line = _event_line(event, looks)
    is_over = known is not event or (is_check and not counts) or _says_nothing(event, now)
    if looks or is_over:
        # A failed attempt must not be repeated.
        tried = weights().tried if event.outcome.failed and not looks else 0.0
        entries.add(EVIDENCE, line, event.position, tried, key, sources=(event.position,))
        return
    value = weights().check if is_check else weights().side_effect if event.command else None
    entries.add("Done", line, event.position, value, key, sources=(event.position,))


def _says_nothing(event: Event, now: ConversationFacts) -> bool:
    """Whether a run or call did nothing that is worth a line of its own."""
    is_commit = one_line(event.outcome.line, 160) in now.commits  # the commit has a separate line
    # Somebody looked at a part of the output, and nothing says what else happened.
    is_look = event.outcome.status == "ran" and parsed(event.command).hides_the_end
    return event.outcome.failed or is_commit or is_look


def _is_fixed(event: Event, newest: Collection[Event]) -> bool:
    """Whether a check passed after a failure, and no newer run supersedes it."""
    return event.failed_before and not any(
        one.position > event.position and covers(one.command, event.command) for one in newest
    )


def _event_key(event: Event) -> str:
    return f"run:{event.line}" if event.command else f"call:{event.line}"


def _event_line(event: Event, looks: bool = False) -> str:
    """The call and its outcome; the last line of a command without counts is usually noise.

    That a lookup succeeded says nothing.
    """
    outcome = event.outcome
    telling = outcome.failed or outcome.check or (not event.command and len(outcome.line) <= _SHORT_RESULT)
    shown = _in_short(event, _SHOWN[outcome.failed])
    said = f": {one_line(outcome.line, _SHOWN[outcome.failed])}" if outcome.line and telling else ""
    if event.overcame and outcome.status == "ok":
        said += f" (fixed: {'; '.join(event.overcame)})"
    called = f"{event.note}: " if event.note else ""
    line = f"- {called}{f'`{shown}`' if event.command else shown}"
    return f"{line} → {outcome.status}{said}" if not looks or outcome.failed or said else line


def _in_short(event: Event, longest: int) -> str:
    """The call within so many characters; a long command starts with its first step that does something."""
    if event.command and len(event.line) > longest:
        works = [step.work for step in parsed(event.command).works if not step.is_lookup]
        works = [work for work in works if not is_routine(work)] or works
        found = event.line.find(one_line(works[0], _SAME_STEP).rstrip("…")) if works else 0
        begins = (
            max(event.line.rfind(sign, 0, found) + len(sign) for sign in ("&& ", "; ")) if found > 0 else 0
        )
        if begins > len("&& "):
            return one_line(f"… {event.line[begins:]}", longest)
    return one_line(event.line, longest)


def _add_decisions(entries: LedgerEntries, now: ConversationFacts) -> None:
    if now.is_chat:
        return  # without work there are no decisions, only explanations
    for number, decision in enumerate(now.decisions.values()):
        entries.add("Key Decisions", f"- {one_line(decision.text, 300)}", number, sources=(decision.source,))
    for guess in list(now.hypotheses.values())[-_LAST_GUESSES:]:
        text = f"- Not proved: {one_line(guess.text, 300)}"
        entries.add("Key Decisions", text, guess.source, weights().guess, sources=(guess.source,))


def _add_files(
    entries: LedgerEntries, facts: ConversationFacts, earlier: EarlierItems, same: Mapping[str, str]
) -> None:
    """One line per file; earlier counts are added, and reads of a changed file under a relative path."""
    merged, others, quotes = merged_files(facts.files, earlier)
    for path, whole in same.items():
        counts = merged[whole].actions
        counts["read"] = counts.get("read", 0) + merged.pop(path).actions.get("read", 0)
    for line in others:
        entries.add("Relevant Files", line, -1)
    for path, fact in merged.items():
        actions = ", ".join(f"{action} {count}×" for action, count in fact.actions.items())
        text = (
            f"- `{path}`" + (f" — {actions}" if actions else "") + (f": {fact.phrase}" if fact.phrase else "")
        )
        value = None if fact.is_only_read else MUST
        # That a file was read three times does not explain what it is.
        says = says_something(fact.phrase)
        entries.add("Relevant Files", text, fact.last, value, f"file:{path}", sources=fact.sources, says=says)
    for parent, quoted in quotes:
        entries.quote(quoted, parent)


def _add_context(entries: LedgerEntries, now: ConversationFacts) -> None:
    for name, process in now.running.items():
        text = f"- Still running as {name}: `{one_line(process.line, 160)}`"
        entries.add("Critical Context", text, process.source, 1.5, sources=(process.source,))
