"""Does Goal say what the work is for, In Progress what was asked last, and Next Steps what happened next?

Labelled by hand for each cut: the messages that state the overall aim and the newest open request. A heading is right
where one of its lines cites one of these messages and holds half of its content words (of its core, where the message
is long). No line of the two headings may cite what a program wrote in the user's place.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from bars import Bar, at_least, at_most
from hand_labels import Labelled, labelled
from measures.run import Run, share
from measures.summaries import Written, written

from plimsoll.messages import is_harness_text, text_of
from plimsoll.quality.handoff import says, taken_up


@dataclass(frozen=True, slots=True)
class Judged:
    """One cut."""

    agent: str
    name: str
    has_aim: bool
    has_request: bool
    has_harness_text: bool
    has_next_step: bool
    is_taken_up: bool


def bars(run: Run) -> list[Bar]:
    """The figures of every labelled cut."""
    items = run.sample(list(labelled("requests")), 24)
    judged = run.map(judge, items, "aims and requests")
    for one in judged:
        run.wrong("aim", one.name, not one.has_aim)
        run.wrong("request", one.name, not one.has_request)
        run.wrong("harness text", one.name, one.has_harness_text)
        run.wrong("next step", one.name, not one.is_taken_up)
    cuts = f"({len(judged)} cuts)"
    return [
        at_least(f"Goal states the labelled aim {cuts}", share(one.has_aim for one in judged), 0.97),
        at_least(
            f"In Progress states the newest open request {cuts}",
            share(one.has_request for one in judged),
            0.97,
        ),
        at_most("Goal or In Progress cites harness text", share(one.has_harness_text for one in judged), 0.0),
        at_least("Next Steps name something", share(one.has_next_step for one in judged), 1.0),
        at_least(
            "first next step taken up within 20 messages", share(one.is_taken_up for one in judged), 0.6
        ),
    ]


def judge(item: Labelled) -> Judged:
    """One cut, compacted and judged."""
    row, cut = item.row, item.row["cut"]
    done = written(item.messages[:cut])
    source = partial(_source, row, item.messages)
    steps = done.lines("Next Steps")
    return Judged(
        row["agent"],
        f"{row['conversation']}@{cut}",
        any(_cites(done, "Goal", number, source(number)) for number in row["aim"]),
        any(_cites(done, "In Progress", number, source(number)) for number in row["request"]),
        _cites_harness_text(done, item.messages),
        bool(steps),
        bool(steps) and taken_up(steps[0], item.messages[cut:]),
    )


def _source(row: Mapping[str, Any], messages: list[dict[str, Any]], number: int) -> str:
    return str(row.get("core", {}).get(str(number)) or text_of(messages[number]))


def _cites(done: Written, title: str, number: int, source: str) -> bool:
    """Whether a line under a heading cites a message and says half of it; a short source, all of the heading."""
    lines = [text for text, cited in done.sources(title) if number in cited]
    return any(says(line, source) for line in lines) or (bool(lines) and says("\n".join(lines), source))


def _cites_harness_text(done: Written, messages: list[dict[str, Any]]) -> bool:
    cited = {
        number for title in ("Goal", "In Progress") for _, found in done.sources(title) for number in found
    }
    return any(
        messages[number].get("role") == "user" and is_harness_text(messages[number]) for number in cited
    )
