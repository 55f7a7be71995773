"""Does the ledger say how calls really ended? Checked against labels that people wrote.

    python bench/quality/outcomes.py            the share that is right, by kind of agent
    python bench/quality/outcomes.py --wrong    and every result that is read wrongly
    python bench/quality/outcomes.py --unseen   on results that were labelled after the rules were written
    python bench/quality/outcomes.py --written second   on results that were written for this purpose

Right among those reported as ok, right among those reported as failed, and how many are left open ("ran", "running").
What a careful reader cannot decide is left out.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from bars import Bar, at_least, at_most
from hand_labels import DataMissing, Labelled, labelled, rows, text_of
from measures.run import Run
from rich.console import Console
from rich.table import Table

from plimsoll.context.ledger import Outcome, outcome_of
from plimsoll.messages import arguments_text, tool_calls

RIGHT, OPEN = 0.98, 0.15  # at least right of those reported as ok or failed; at most left open


def reported(item: Labelled) -> Outcome:
    """What the ledger says about a labelled result."""
    result = item.messages[item.row["message"]]
    call = next(
        call
        for message in item.messages[: item.row["message"]]
        for call in tool_calls(message)
        if call.get("id") == item.row["call"]
    )
    return outcome_of(call, text_of(result))


def written(name: str) -> Iterator[Labelled]:
    """The written results of one set: each a call with its result."""
    for number, row in enumerate(row for row in rows("outcomes_written") if row["set"] == name):
        arguments = json.dumps(row["arguments"], ensure_ascii=False)
        call = {"id": "c", "type": "function", "function": {"name": row["tool"], "arguments": arguments}}
        place = {"conversation": f"written, {name} set, {number}", "message": 1, "call": "c"}
        messages = [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": row["result"]},
        ]
        yield Labelled(row | place, messages)


def said(outcome: Outcome) -> str:
    """The label that an outcome amounts to."""
    return "failed" if outcome.failed else "ok" if outcome.status == "ok" else "open"


def bars(run: Run) -> list[Bar]:
    """The same as figures with bars, all kinds of agents together: for both sets of labels."""
    return [*_bars_of("outcomes", "", run), *_bars_of("outcomes_unseen", ", labelled later", run)]


def _bars_of(labels: str, named: str, run: Run) -> list[Bar]:
    found: Counter[tuple[str, str]] = Counter()
    for item in labelled(labels):
        if item.row["label"] != "undecidable":
            pair = said(reported(item)), item.row["label"]
            found[pair] += 1
            run.wrong(
                "outcome",
                f"{item.row['conversation']} {item.row['message']}",
                pair[0] not in (pair[1], "open"),
            )
    return [
        at_least(
            f"right among results reported as ok{named} ({sum(found.values())})", _share(found, "ok"), RIGHT
        ),
        at_least(f"right among results reported as failed{named}", _share(found, "failed"), RIGHT),
        at_most(f"left open{named}", _left_open(found), OPEN),
    ]


def main() -> int:
    """Print the table; 1 where a bar is missed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--wrong", action="store_true", help="list what is read wrongly")
    options.add_argument("--unseen", action="store_true", help="the second set of labels")
    options.add_argument("--written", metavar="SET", help="results that were written for this purpose")
    given = options.parse_args()
    console = Console()
    counts: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    try:
        recorded = "outcomes_unseen" if given.unseen else "outcomes"
        for item in written(given.written) if given.written else labelled(recorded):
            if item.row["label"] == "undecidable":
                continue
            outcome = reported(item)
            pair = said(outcome), item.row["label"]
            counts[item.row["agent"]][pair] += 1
            counts["all"][pair] += 1
            if given.wrong and pair[0] not in (pair[1], "open"):
                _show(console, item, outcome)
    except DataMissing as missing:
        console.print(str(missing))
        return 0
    console.print(_table(counts))
    return 0 if all(_meets(found) for found in counts.values()) else 1


def _share(found: Mapping[tuple[str, str], int], status: str) -> float:
    total = sum(count for (reported_as, _), count in found.items() if reported_as == status)
    return found[status, status] / total if total else 1.0


def _left_open(found: Mapping[tuple[str, str], int]) -> float:
    return sum(count for (status, _), count in found.items() if status == "open") / sum(found.values())


def _meets(found: Mapping[tuple[str, str], int]) -> bool:
    return min(_share(found, "ok"), _share(found, "failed")) >= RIGHT and _left_open(found) <= OPEN


def _table(counts: Mapping[str, Counter[tuple[str, str]]]) -> Table:
    table = Table(title=f"Outcomes against hand labels (bars: {RIGHT}, {RIGHT}, at most {OPEN} open)")
    for heading in ("agent", "results", "right of ok", "right of failed", "open"):
        table.add_column(heading, justify="left" if heading == "agent" else "right")
    for agent, found in sorted(counts.items()):
        shares = _share(found, "ok"), _share(found, "failed"), _left_open(found)
        table.add_row(agent, str(sum(found.values())), *(f"{share:.3f}" for share in shares))
    return table


def _show(console: Console, item: Labelled, outcome: Outcome) -> None:
    row = item.row
    call = next(
        c for m in item.messages[: row["message"]] for c in tool_calls(m) if c.get("id") == row["call"]
    )
    console.print(f"{row['agent']} {row['conversation']} {row['message']}", markup=False)
    console.print(f"   labelled {row['label']} ({row['reason']}), reported {outcome}", markup=False)
    console.print(f"   {arguments_text(call)[:200]}", markup=False)


if __name__ == "__main__":
    raise SystemExit(main())
