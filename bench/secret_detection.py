"""Secrets in recorded conversations: how fast text is read, and what is detected as a secret.

    python bench/secret_detection.py                 every match, matches per million tokens, characters per second
    python bench/secret_detection.py --data FOLDER   conversations (*.jsonl) from elsewhere

Every match is printed, because only a person can tell whether it was one. Secrets in the samples and look-alikes are
counted by tests/secrets/test_secret_samples.py.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

from plimsoll.messages import arguments_text, text_of, tool_calls
from plimsoll.models import estimate_tokens
from plimsoll.secrets import redact

_DATA = Path(__file__).parents[1] / ".." / "shared" / "data"
_AROUND = 50
_ROUNDS = 3


def texts(folder: Path) -> Iterator[str]:
    """Every text of every message."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            for message in json.loads(line).get("messages", []):
                yield text_of(message)
                yield from map(arguments_text, tool_calls(message))


def changed(before: str, after: str) -> Iterator[str]:
    """The places that differ, line by line."""
    for old, new in zip(before.splitlines(), after.splitlines(), strict=False):
        if old != new:
            at = next((n for n, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), 0)
            yield old[max(0, at - _AROUND) : at + _AROUND]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=_DATA)
    given = [text for text in texts(parser.parse_args().data) if text]
    if not given:
        raise SystemExit("No conversations found; pass --data with a folder of .jsonl files.")
    best = float("inf")
    for _ in range(_ROUNDS):
        started = time.process_time()
        results = [redact(text) for text in given]
        best = min(best, time.process_time() - started)
    found = [place for old, new in zip(given, results, strict=True) for place in changed(old, new)]
    for place in found:
        print(repr(place))
    tokens = sum(map(estimate_tokens, given))
    size = sum(map(len, given)) / 1e6
    print(
        f"{len(found)} matches in {tokens / 1e6:.1f} million tokens ({len(found) / tokens * 1e6:.2f} per million)"
    )
    print(
        f"{size:.1f} million characters in {best:.2f} s of processor time ({size / best:.1f} million per second)"
    )


if __name__ == "__main__":
    main()
