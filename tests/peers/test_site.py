"""The documentation site builds without a warning, loads nothing from elsewhere, and its search answers newcomers."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from peer_list import ROOT

pytestmark = pytest.mark.xdist_group("site")
QUESTIONS = tomllib.loads((ROOT / "tests" / "site" / "questions.toml").read_text("utf-8"))
WITHIN = 3  # hits
ANSWERED = 18  # of the 20 other questions
# What a page loads by itself; a link that a person follows is none.
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]*\ssrc="(https?:)?//|<link[^>]*\shref="(https?:)?//|url\(["']?(https?:)?//"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it."""
    if find_spec("mkdocs") is None or find_spec("material") is None:
        pytest.skip("mkdocs is not installed (`make docs`), so THE SITE WAS NOT BUILT")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def hits(site: Path) -> dict[str, list[list[str]]]:
    """What the site's own search finds for each question: pages, each with its matching sections."""
    asked = [one["question"] for kind in ("required", "others") for one in QUESTIONS[kind]]
    done = subprocess.run(
        ["node", str(ROOT / "site" / "search.mjs"), str(site)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(asked, json.loads(done.stdout), strict=True))


def answers(case: dict[str, Any], found: list[list[str]]) -> bool:
    """Whether one of these hits is a page that answers; a section that is named must be among those of the hit."""
    for answer in case["answer"]:
        page, _, section = answer.replace(".md", ".html").partition("#")
        for sections in found:
            if section and f"{page}#{section}" in sections:
                return True
            if not section and sections[0].split("#")[0] == page:
                return True
    return False


@pytest.mark.parametrize("case", QUESTIONS["required"], ids=lambda case: case["question"])
def test_the_first_hit_answers(case: dict[str, Any], hits: dict[str, list[list[str]]]) -> None:
    found = hits[case["question"]]
    assert answers(case, found[:1]), found[:WITHIN]


def test_nearly_all_other_questions_are_answered_within_three_hits(hits: dict[str, list[list[str]]]) -> None:
    others = QUESTIONS["others"]
    missed = [one["question"] for one in others if not answers(one, hits[one["question"]][:WITHIN])]
    assert len(others) == 20
    assert len(others) - len(missed) >= ANSWERED, missed


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    pages = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(pages) > 30
    assert [page.name for page in pages if _LOADED.search(page.read_text("utf-8"))] == []
