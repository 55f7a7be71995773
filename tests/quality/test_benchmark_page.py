"""docs/benchmarks.md says what the files of results say."""

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def page(monkeypatch):
    """The module that writes the page; it lives beside the benchmark and not in the package."""
    monkeypatch.syspath_prepend(str(ROOT / "bench" / "quality"))
    import page

    yield page
    for name in ("page", "tables", "bars"):
        sys.modules.pop(name, None)


def test_every_figure_on_the_page_is_that_of_the_results(page):
    text = page.PAGE.read_text("utf-8")
    assert page.filled(text, page.read("quality.json"), page.read("faults.json")) == text


def test_every_block_of_the_page_is_written(page):
    text = page.PAGE.read_text("utf-8")
    assert set(re.findall(r"<!-- (\w+) -->", text)) - {"end"} == page.BLOCKS.keys()


def test_a_changed_figure_changes_the_page(page):
    quality = page.read("quality.json")
    changed = json.loads(json.dumps(quality))
    changed["sets"]["code"]["plimsoll own"]["tokens"] += 1_000
    text = page.PAGE.read_text("utf-8")
    assert page.filled(text, changed, page.read("faults.json")) != text


def test_the_bars_of_the_results_are_those_of_the_figures(page):
    from bars import bars

    quality = page.read("quality.json")
    assert [bar.verdict for bar in bars(quality)] == [bar["verdict"] for bar in quality["bars"]]
