"""Labels made by reading the recorded conversations, each tied to the text it is about.

    labels/*.jsonl ──► rows ──► the cited messages in ../shared/data, compared by sha256 ──► Labelled

A label is worth nothing if the text under it changed, so a row whose hash differs raises `LabelMismatch`. The
conversations are not part of this repository: without them everything here raises `DataMissing`, which a benchmark
prints and a test turns into a skip. `python bench/quality/hand_labels.py` checks every file.
"""

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LABELS = HERE / "labels"
DATA = HERE.parents[2] / "shared" / "data"
TIED = (
    "outcomes",
    "outcomes_again",
    "outcomes_unseen",
    "requests",
    "constraints",
    "checks",
    "readers",
)  # label files that cite messages
Message = dict[str, Any]
Row = dict[str, Any]


class DataMissing(Exception):
    """The recorded conversations are not on this machine."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"NOT MEASURED: the recorded conversations are missing ({path})")


class LabelMismatch(Exception):
    """A label cites a message that is not there or reads differently."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """One row of labels with the conversation it is about."""

    row: Row
    messages: list[Message]


def rows(name: str, labels: Path = LABELS) -> list[Row]:
    """The rows of a label file; needs no recorded conversation."""
    with (labels / f"{name}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def labelled(name: str, data: Path = DATA, labels: Path = LABELS) -> Iterator[Labelled]:
    """Every row of a label file with its conversation, after its hashes were checked."""
    wanted = rows(name, labels)
    for file in sorted({row["file"] for row in wanted}):
        of_file = [row for row in wanted if row["file"] == file]
        told = _conversations(data / file, {row["conversation"] for row in of_file})
        for row in of_file:
            messages = told.get(row["conversation"])
            if messages is None:
                raise LabelMismatch(f"{name}: {file} has no conversation {row['conversation']!r}")
            _check(name, row, messages)
            yield Labelled(row, messages)


def agreement(first: Sequence[Row], second: Sequence[Row]) -> tuple[int, int]:
    """How many rows of `second` carry the label that `first` gives the same result, and how many there are."""
    labels = {_place(row): row["label"] for row in first}
    return sum(labels[_place(row)] == row["label"] for row in second), len(second)


def text_of(message: Message) -> str:
    """What a message says: its content, or the text of its parts, one below the other."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


def sha256_of(text: str) -> str:
    """The hash that the label files carry."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _place(row: Row) -> tuple[str, str, int]:
    return row["file"], row["conversation"], row["message"]


def _conversations(path: Path, ids: set[str]) -> dict[str, list[Message]]:
    if not path.exists():
        raise DataMissing(path)
    with path.open(encoding="utf-8") as lines:
        every = map(json.loads, lines)
        return {told["id"]: told["messages"] for told in every if told["id"] in ids}


def _check(name: str, row: Row, messages: Sequence[Message]) -> None:
    for number, expected in _cited(row).items():
        found = sha256_of(text_of(messages[number])) if number < len(messages) else "no message"
        if found != expected:
            place = f"{row['file']}, {row['conversation']}, message {number}"
            raise LabelMismatch(
                f"{name}: {place} is not what was labelled ({found[:12]} for {expected[:12]})"
            )


def _cited(row: Row) -> Mapping[int, str]:
    hashes = row["sha256"]
    if isinstance(hashes, str):
        return {row["message"]: hashes}
    return {int(number): expected for number, expected in hashes.items()}


def main() -> int:
    """Check every label file against the conversations and print how many rows each has."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--data", type=Path, default=DATA, help="where the recorded conversations are")
    data = options.parse_args().data
    try:
        for name in TIED:
            print(f"{name}: {sum(1 for _ in labelled(name, data))} rows, every hash matches")
    except DataMissing as missing:
        print(missing)
        return 0
    except LabelMismatch as mismatch:
        print(mismatch)
        return 1
    outcomes = rows("outcomes")
    print("outcomes:", dict(Counter(row["label"] for row in outcomes)))
    print("labelled twice: {} of {} agree".format(*agreement(outcomes, rows("outcomes_again"))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
