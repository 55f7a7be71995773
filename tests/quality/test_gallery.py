"""The gallery in docs/ is what the code writes today, and each of its lines leads to a message."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(#(m\d+)\)")
ANCHOR = re.compile(r'<a id="(m\d+)"></a>')


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "bench" / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(gallery):
    return gallery.pages()


def test_the_pages_of_the_gallery_are_current(pages):
    stale = [
        path.name for path, text in pages.items() if not path.exists() or path.read_text("utf-8") != text
    ]
    assert stale == [], "run python bench/gallery.py"


def test_every_link_of_the_gallery_leads_to_a_message(pages):
    linked = 0
    for path, text in pages.items():
        anchors = ANCHOR.findall(text)
        assert len(anchors) == len(set(anchors))
        missing = set(LINK.findall(text)) - set(anchors)
        assert missing == set(), path.name
        linked += len(LINK.findall(text))
    assert linked > 300


def test_every_line_of_a_summary_in_the_gallery_names_its_messages(gallery):
    for exhibit in gallery.EXHIBITS:
        count = len(gallery.conversation(exhibit.name))
        for with_model in (False, True):
            lines = gallery.summary_lines(exhibit, with_model)
            assert len(lines) > 10
            for line in lines:
                # A label over lines of the evidence says nothing by itself.
                assert line.sources or line.text.startswith("- More on "), line.text
                assert all(0 <= one.message < count for one in line.sources), line.text


def test_five_kinds_of_conversation_are_shown_with_and_without_a_model(gallery, pages):
    assert len(gallery.EXHIBITS) == 5
    for exhibit in gallery.EXHIBITS:
        text = pages[gallery.DOCS / "gallery" / f"{exhibit.name}.md"]
        assert "## Summary without a model" in text
        assert "## Summary with a model" in text
        assert f"(gallery/{exhibit.name}.md)" in pages[gallery.DOCS / "gallery.md"]
