"""MkDocs hooks: pages that are not in docs/, and Markdown that GitHub and MkDocs write differently.

    ARCHITECTURE.md, CHANGELOG.md, CONTRIBUTING.md  ─┐
    the commands, the REST endpoints, the Python API ─┴─► pages of the site

The reference is generated from the installed package at every build, so it cannot be out of date.
"""

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "site"))

from reference import commands_page, python_page, rest_page  # noqa: E402 (needs the path)

ROOT_PAGES = {
    "architecture.md": "ARCHITECTURE.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
}
GENERATED = {
    "reference/commands.md": commands_page,
    "reference/rest.md": rest_page,
    "reference/python.md": python_page,
}
# Pages that mention everything and answer little rank below the others in the search of the site.
SEARCH_BOOST = {
    "architecture.md": 0.2,
    "changelog.md": 0.2,
    "clients.md": 0.4,
    "contributing.md": 0.2,
    "gallery": 0.1,
    "readers.md": 0.4,
}
_TO_DOCS = re.compile(r"\]\(docs/")
_TO_ROOT_PAGE = re.compile(rf"\]\((?:\.\./)*({'|'.join(ROOT_PAGES.values())})(#[^)]*)?\)")
_OUT_OF_DOCS = re.compile(r"\[([^\]]+)\]\((?:\.\./)+((?:src|deploy|bench|tests|examples)/[^)]*)\)")
_BENCH = re.compile(r"\[([^\]]+)\]\(((?:bench|src|deploy|tests|examples)/[^)]*)\)")
_FENCE_WITH_FILE = re.compile(r"^```(\w+) ([~./\w][^\s`\"]*)$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the pages that are not in docs/."""
    for uri, name in ROOT_PAGES.items():
        text = _TO_DOCS.sub("](", (ROOT / name).read_text("utf-8"))
        files.append(File.generated(config, uri, content=text))
    for uri, page in GENERATED.items():
        files.append(File.generated(config, uri, content=page()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links out of docs/ become paths, links to the root's pages lead to the site's, fences show their file."""
    uri = page.file.src_uri
    boost = SEARCH_BOOST.get(uri, SEARCH_BOOST.get(uri.partition("/")[0]))
    if boost is not None:
        page.meta["search"] = {"boost": boost}
    up = "../" * uri.count("/")
    names = {name: uri for uri, name in ROOT_PAGES.items()}
    markdown = _TO_ROOT_PAGE.sub(lambda found: f"]({up}{names[found[1]]}{found[2] or ''})", markdown)
    markdown = _OUT_OF_DOCS.sub(r"\1 (`\2`)", markdown)
    markdown = _BENCH.sub(r"\1 (`\2`)", markdown)
    return _FENCE_WITH_FILE.sub(r'```\1 title="\2"', markdown)
