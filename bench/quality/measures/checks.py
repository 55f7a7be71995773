"""Are failures that were fixed before the cut gone, and those that were not still shown?

Labelled by hand: the result that failed and, where the check passed again, the result that passed. A failure is shown
where a line under Blocked cites its result. An open one counts as shown where a line names its command or an error of
it, or where the result itself stays.
"""

from dataclasses import dataclass

from bars import Bar, at_least, at_most
from hand_labels import Labelled, labelled
from measures.run import Run, share
from measures.summaries import written

from plimsoll.messages import answers, text_of
from plimsoll.quality.handoff import content_words, says
from plimsoll.quality.texts import decoded, values_of

_ERROR_SIGNS = ("error", "fail", "panic", "✗", "not ok")
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Judged:
    """One cut: what was fixed and is still shown as blocking, what was open and is shown."""

    name: str
    fixed: tuple[tuple[str, bool], ...]
    open: tuple[tuple[str, bool], ...]


def bars(run: Run) -> list[Bar]:
    """Fixed failures under Blocked."""
    judged = run.map(judge, run.sample(list(labelled("checks")), 21), "checks")
    fixed = [pair for one in judged for pair in one.fixed]
    still = [pair for one in judged for pair in one.open]
    for one in judged:
        for check, shown in one.fixed:
            run.wrong("fixed failure under Blocked", f"{one.name}: {check}", shown)
        for check, shown in one.open:
            run.wrong("open failure not shown", f"{one.name}: {check}", not shown)
    return [
        at_most(
            f"fixed failures under Blocked ({len(fixed)})", share(is_shown for _, is_shown in fixed), 0.02
        ),
        at_least(f"open failures shown ({len(still)})", share(is_shown for _, is_shown in still), 0.85),
    ]


def judge(item: Labelled) -> Judged:
    """One cut, compacted and judged."""
    row, history = item.row, item.messages[: item.row["cut"]]
    done = written(history)
    commands = {
        answer.result_at: next(iter(values_of(decoded(answer.call))), "") for answer in answers(history)
    }
    cited = {number for _, found in done.sources("Blocked") for number in found}
    anywhere = [
        *done.lines("Blocked"),
        *done.lines("In Progress"),
        *done.lines("Critical Context"),
        *done.lines("Next Steps"),
    ]
    # What stands word for word in a message that stays need not be said again.
    stays = {text_of(message) for message in done.result if message.get("role") == "tool"}
    return Judged(
        f"{row['conversation']}@{row['cut']}",
        tuple((f"{one['check']} ({one['failed']})", one["failed"] in cited) for one in row["fixed"]),
        tuple(
            (
                f"{one['check']} ({one['failed']})",
                text_of(history[one["failed"]]) in stays
                or _names(anywhere, commands.get(one["failed"], ""), text_of(history[one["failed"]])),
            )
            for one in row["open"]
        ),
    )


def _names(lines: list[str], command: str, result: str = "") -> bool:
    """Whether a line names a command, or quotes an error of its result."""
    errors = [
        line.strip()[:_LONGEST]
        for line in result.splitlines()
        if any(sign in line.lower() for sign in _ERROR_SIGNS)
    ]
    errors = [line for line in errors if len(content_words(line)) >= 3]
    short = " ".join(command.split())[:80]
    return any(
        (short and (short in line or says(line, short, 0.8)))
        or any(says(line, error, 0.7) for error in errors[-8:])
        for line in lines
    )
