"""Determines which failures are still open.

a check of the current work               open until it passes
… that was given up: its changes were     over
  reverted, or the work was finished
  and committed without it
another command, a call                   open while it is recent
a lookup, a mistyped command              open while it is recent, or not at all
a call that a person refused              open until the person says what to do
"""

from plimsoll.context.ledger.outcomes import (
    Outcome,
    covers,
    is_lasting,
    is_lookup_tool,
    kinds_of,
    names_only,
    overcomes,
    parsed,
)
from plimsoll.context.ledger.state import ConversationFacts, Event

# A failed command other than a check, or a failed call, is no longer open after this many messages.
_STILL_OPEN = 20
# A check that was not run again during this many other requests has been given up.
_OTHER_REQUESTS = 6


def open_failures(now: ConversationFacts) -> list[Event]:
    """The failures that were neither fixed nor given up, oldest first."""
    failed = [now.commands[line] for line in now.failing if line in now.commands]
    checks = [event for event in failed if is_lasting(event.command, event.outcome)]
    found = [event for event in checks if not _is_given_up(event, now) and not _is_covered_by(event, checks)]
    others = _each_once([event for event in failed if event not in checks and _is_fresh(event, now)])
    actions = [
        event
        for event in now.actions.values()
        if event.outcome.failed and _is_fresh(event, now) and not is_lookup_tool(event.line)
    ]
    return sorted([*found, *others, *actions], key=lambda event: event.position)


def _is_fresh(event: Event, now: ConversationFacts) -> bool:
    if event.outcome.status == "interrupted" and any(
        request.source > event.position for request in now.requests
    ):
        return False
    return event.position >= now.messages - _STILL_OPEN


def _is_given_up(event: Event, now: ConversationFacts) -> bool:
    """Whether work continued without a failed check."""
    if now.undone_at > event.position or _requests_after(event, now) >= _OTHER_REQUESTS:
        return True
    if names_only(event.command, _gone_files(now)):
        return True
    kinds = kinds_of(event.command)
    passed = [
        check.newest.position
        for check in now.checks.values()
        if check.newest.position > event.position
        and not check.newest.outcome.failed
        and kinds & kinds_of(check.newest.command)
    ]
    # The same kind of check passed in another way, and what passed was committed.
    return any(commit.source > min(passed) for commit in now.commits.values()) if passed else False


def _is_covered_by(event: Event, checks: list[Event]) -> bool:
    """Whether a newer failure names every test that this one names."""
    return bool(event.failed) and any(
        other.position > event.position and set(event.failed) <= set(other.failed) for other in checks
    )


def _each_once(failed: list[Event]) -> list[Event]:
    """The failures without those that a newer command repeats."""
    return [event for event in failed if not any(_is_same_failure(event, item) for item in failed)]


def _is_same_failure(event: Event, newer: Event) -> bool:
    """Whether a newer command failed in the same way, and one of the two is a part of the other."""
    if newer.position <= event.position or newer.outcome.line != event.outcome.line:
        return False
    parts, others = ({step.work for step in parsed(item.command).works} for item in (event, newer))
    return bool(parts and others) and (parts <= others or others <= parts)


def _requests_after(event: Event, now: ConversationFacts) -> int:
    return sum(request.source > event.position and request.kind == "request" for request in now.requests)


def drop_repeated_calls(facts: ConversationFacts, line: str) -> None:
    """Remove failed calls that were now made again, and succeeded."""
    for known in [one for one in facts.actions.values() if one.outcome.failed and _repeats(line, one.line)]:
        del facts.actions[known.line]


def _repeats(later: str, earlier: str) -> bool:
    """Whether a call was made again, with most of the arguments of the earlier one."""
    (tool, _, given), (same, _, before) = later.partition("("), earlier.partition("(")
    if tool != same:
        return False
    arguments, known = set(given.rstrip(")").split(", ")), set(before.rstrip(")").split(", "))
    return len(arguments & known) * 2 >= len(known)


def _gone_files(facts: ConversationFacts) -> frozenset[str]:
    """The files that were deleted, and the former names of renamed ones."""
    deleted = {path for path, fact in facts.files.items() if fact.is_deleted}
    return frozenset(deleted | {fact.first_name for fact in facts.files.values() if fact.first_name})


def drop_covered_failures(facts: ConversationFacts, command: str, outcome: Outcome) -> list[Event]:
    """Remove failures of a check that was run again, and return them.

    Nobody can run a deleted file again, so a run without it is enough.
    """
    dropped: list[Event] = []
    gone = _gone_files(facts) if facts.failing else frozenset()
    for line, earlier in list(facts.failing.items()):
        event = facts.commands.get(line)
        if covers(command, earlier, gone) or (
            event is not None
            and not outcome.failed
            and overcomes(command, earlier, event.outcome.check, event.failed, gone)
        ):
            del facts.failing[line]
            facts.commands.pop(line, None)
            dropped += [event] if event else []
    if dropped and not outcome.failed:
        facts.hypotheses.clear()  # what fails no longer needs no explanation
    return dropped
