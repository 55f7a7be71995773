"""The inspector's pages of a long session in a real browser. `make screens` puts their pictures into the docs."""

import asyncio
import sys
from pathlib import Path

import pytest
from browsing import browser
from peer_list import ROOT
from processes import running_gateway

sys.path.insert(0, str(ROOT / "bench"))

from long_session import build

pytestmark = pytest.mark.xdist_group("inspector")
MESSAGES, COMPACTIONS = 400, 4
LINE = "Owners come later, so only an e-mail for now."


def test_the_pages_of_a_long_session_show_what_the_documentation_says(tmp_path: Path) -> None:
    session = asyncio.run(build(tmp_path / "archive.db", MESSAGES, COMPACTIONS))
    with running_gateway(tmp_path, {}) as gateway, browser() as page:
        address = f"{gateway.url}/inspect#session={session}"
        page.open(address, scheme="dark")
        page.see("canvas")
        assert page.count(".marks .mark.accent") == COMPACTIONS
        page.press("canvas", "End")
        page.click(".row:has-text('8')")
        page.see("article.detail h2")
        page.picture("inspector-timeline")
        page.click(".marks .mark.accent >> nth=2")
        page.see(".columns .line")
        page.click(f".line:has-text('{LINE}')")
        page.see("#page .row.related")
        assert "Line from message" in page.text(".fate-note")
        page.picture("inspector-compaction")
        page.open(f"{address}&tab=cache", scheme="dark")
        page.see(".what-if .figure")
        assert "Prefix changed by a compaction" in page.texts("td .tag")
        page.picture("inspector-cache")
        page.open(address)
        page.see("canvas")
        page.choose("select[aria-label='Actions']", "edit")
        page.see("dialog textarea")
        page.fill(
            "dialog textarea",
            page.evaluate("document.querySelector('dialog textarea').value")
            + "\n- The office closes at five.",
        )
        page.see("dialog .figure:has-text('written again')")
        page.picture("inspector-edit")
        assert page.noted() == []
