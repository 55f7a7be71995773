"""A message of megabytes costs time in proportion to its size."""

import pytest

from message_builders import assistant as said
from message_builders import user
from plimsoll import ContextCompressor
from plimsoll.context.ledger import evidence

LINES = 400


def test_a_text_is_redacted_once_however_many_of_its_lines_are_quoted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = "\n".join(f"src/mod_{n}.py: request {n} of job_{n * 7} took {n} ms" for n in range(LINES))
    redacted: list[int] = []
    original = evidence.redact

    def counted(text: str) -> str:
        redacted.append(len(text))
        return original(text)

    monkeypatch.setattr(evidence, "redact", counted)
    talk = [
        user("Read the log."),
        said("I do."),
        user("What does it say?"),
        said(log),
        *[user("On."), said("Yes. " * 90)] * 120,
    ]
    view = ContextCompressor(context_length=32_000).compress(talk)
    assert len(view) < len(talk)
    assert sum(size >= len(log) for size in redacted) == 1
    assert sum(redacted) < 3 * len(log)
