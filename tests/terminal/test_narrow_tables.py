"""On a narrow terminal, ids and numbers are shown whole; other columns give way."""

import io

import pytest
from rich.console import Console

from plimsoll.archive import Session
from plimsoll.terminal.sessions.listing import table

ID = "20261115-094512-quiet-harbour"


def session(**changes):
    facts = {
        "id": ID, "title": "Move the parser to the new grammar", "model": "claude-sonnet-4.5", "engine": "compressor",
        "created": 0.0, "updated": 0.0, "messages": 1_234_567, "tokens": 98_765_432, "view": 0,
    }  # fmt: skip
    return Session(**{**facts, **changes})


@pytest.mark.parametrize("width", [60, 70, 80, 120, 200])
def test_the_list_of_sessions_cuts_no_id_and_no_number(width):
    out = io.StringIO()
    Console(file=out, width=width).print(table([session()], 1e9, width))
    shown = out.getvalue()
    assert ID in shown
    assert "1,234,567" in shown
    assert "98.8M" in shown
    assert all(len(line) <= width for line in shown.splitlines())
