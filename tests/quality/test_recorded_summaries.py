"""A recorded summary in the place of a model, and the cuts of the benchmark."""

import sys
from pathlib import Path

import pytest
from conversations_to_measure import said

from message_builders import user

FOLDER = Path(__file__).parents[2] / "bench" / "quality"
MODULES = ("ours", "corpus", "peer_runs", "pins", "client")
SUMMARY = """This session is being continued.

Analysis:
1. **Scratch**: not for anybody.

Summary:
1. Primary Request and Intent:
   Repair the invoice importer.

2. Key Technical Concepts:
   - a queue instead of threads

3. Files and Code Sections:
   - src/importer.py

5. Problem Solving:
   The index was missing.

7. Pending Tasks:
   - document it

8. Current Work:
   Testing old invoices.
"""


@pytest.fixture
def ours(monkeypatch):
    """The benchmark's side of Plimsoll; it lives beside the benchmark and not in the package."""
    monkeypatch.syspath_prepend(str(FOLDER / "peers"))
    monkeypatch.syspath_prepend(str(FOLDER))
    import ours

    yield ours
    for name in MODULES:
        sys.modules.pop(name, None)


def test_a_recorded_summary_is_put_under_the_headings_that_are_asked_for(ours):
    told = ours.under_headings(SUMMARY)
    assert "## Goal\nRepair the invoice importer." in told
    assert "## Relevant Files\n- src/importer.py" in told
    assert "### Done\nThe index was missing." in told
    assert "### In Progress\nTesting old invoices." in told
    assert "## Next Steps\n- document it" in told
    assert "Scratch" not in told


def test_the_engine_takes_a_recorded_summary_as_a_models(ours):
    history = [{"role": "system", "content": "You are careful."}]
    for number in range(60):
        history += [user(f"Step {number} of the importer"), said("Working on the invoices. " * 60)]
    compressor = ours.engine(ours.SizeSettings(), ours.Recorded(SUMMARY))
    compressor.compress([*history, user("And now?")])
    assert compressor.last_report.summary_source == "model"
    assert "Testing old invoices" in compressor.last_report.summary


def test_a_summary_without_sections_is_kept_whole(ours):
    assert ours.under_headings("We repaired the importer.").endswith("### Done\nWe repaired the importer.")


def test_a_sample_is_the_same_every_time_and_begins_the_same(ours):
    from corpus import sample

    every = list(range(100))
    assert sample(every, 10) == sample(every, 20)[:10] == sample(every, 10)
