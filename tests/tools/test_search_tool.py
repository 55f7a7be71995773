"""Searching: the same answers with ripgrep and without it."""

import asyncio
import os
import re
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toolkit import call, place, run, until

from plimsoll.tools import ToolBox
from plimsoll.tools.process import descendants
from plimsoll.tools.search import SearchFiles
from plimsoll.tools.search.tool import expression

RIPGREP = shutil.which("rg")
with_ripgrep = pytest.param(
    "ripgrep",
    marks=pytest.mark.skipif(
        RIPGREP is None, reason="rg is not installed: the search by ripgrep is untested"
    ),
)


@pytest.fixture(params=["python", with_ripgrep])
def box(request):
    return ToolBox((SearchFiles(ripgrep=RIPGREP if request.param == "ripgrep" else None),))


@pytest.fixture
def here(tmp_path):
    project = tmp_path / "project"
    files = {
        "src/app.py": "import os\n\ndef main():\n    return os.getcwd()\n",
        "src/deep/er/util.py": "def Main():\n    pass\n",
        "README.md": "# main\n",
        ".hidden/conf.ini": "main=1\n",
        "build/out.py": "def main(): ...\n",
        "src/keep.log": "main\n",
        "src/drop.log": "main\n",
        "data.bin": "main\0main",
        ".gitignore": "build/\n*.log\n!keep.log\n",
        ".git/config": "main\n",
    }
    for name, content in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(content, "utf-8")
    return place(project)


def search(here, box, **arguments):
    return run(here, call("search_files", **arguments), box=box)[0].result.text.split("\n")


def test_contents_are_found_in_order_without_ignored_and_binary_files(here, box):
    assert search(here, box, pattern="main") == [
        ".hidden/conf.ini:1: main=1",
        "README.md:1: # main",
        "src/app.py:3: def main():",
        "src/keep.log:1: main",
    ]


def test_case_can_be_ignored_and_files_chosen(here, box):
    assert search(here, box, pattern="DEF main", ignore_case=True, glob="*.py") == [
        "src/app.py:3: def main():",
        "src/deep/er/util.py:1: def Main():",
    ]
    assert search(here, box, pattern="main", glob="src/*.py") == ["src/app.py:3: def main():"]


def test_names_are_found_by_glob(here, box):
    assert search(here, box, pattern="*.py", target="names") == ["src/app.py", "src/deep/er/util.py"]
    assert search(here, box, pattern="src/**/util.py", target="names") == ["src/deep/er/util.py"]
    assert search(here, box, pattern="{README,nope}.*", target="names") == ["README.md"]


def test_a_directory_that_is_ignored_can_be_searched_by_name(here, box):
    assert search(here, box, pattern="main", path="build") == ["build/out.py:1: def main(): ..."]


def test_one_file_can_be_searched(here, box):
    assert search(here, box, pattern="os", path="src/app.py") == [
        "src/app.py:1: import os",
        "src/app.py:4:     return os.getcwd()",
    ]


def test_results_come_in_pages(here, box):
    first = search(here, box, pattern="main", limit=2)
    assert first[-1] == "[2 results shown; next: offset=2]"
    second = search(here, box, pattern="main", limit=2, offset=2)
    assert first[:-1] + second == search(here, box, pattern="main")
    assert search(here, box, pattern="main", offset=9) == ["[no more results; there are 4]"]


def test_nothing_found_is_reported(here, box):
    assert search(here, box, pattern="zzz") == ["No lines match 'zzz' here."]
    assert search(here, box, pattern="zzz", target="names") == ["No files match 'zzz' here."]


def test_a_pattern_that_is_no_expression_is_explained(here, box):
    assert "the pattern is not a valid regular expression" in search(here, box, pattern="(main")[0]


def test_look_around_works_whoever_searches(here, box):
    assert search(here, box, pattern="(?<=def )main", path="src") == ["src/app.py:3: def main():"]


def test_a_long_line_is_shown_around_the_match(here, box):
    (here.workplace.root / "long.txt").write_text("é" * 5_000 + "NEEDLE" + "b" * 5_000, "utf-8")
    (shown,) = search(here, box, pattern="NEEDLE")
    assert "NEEDLE" in shown
    assert len(shown) < 350


def test_a_missing_directory_is_reported(here, box):
    assert "Similar names: src" in search(here, box, pattern="x", path="scr")[0]


def test_links_are_not_followed_and_odd_names_are_found(here, box):
    root = here.workplace.root
    (root / "loop").symlink_to(root)
    (root / "[odd] näme.txt").write_text("oddity\n", "utf-8")
    assert search(here, box, pattern="oddity") == ["[odd] näme.txt:1: oddity"]
    assert search(here, box, pattern="*.txt", target="names") == ["[odd] näme.txt"]


def test_an_expression_that_never_ends_is_ended_and_stops_nobody_else(here):
    (here.workplace.root / "evil").write_text("a" * 60 + "!\n", "utf-8")
    box = ToolBox((SearchFiles(seconds=1.5),))
    assert "timed out" in search(here, box, pattern="(a+)+$", path="evil")[-1]


def test_a_cancelled_search_leaves_no_process_behind(here):
    (here.workplace.root / "evil").write_text("a" * 60 + "!\n", "utf-8")
    box = ToolBox((SearchFiles(),))
    before = descendants(os.getpid())

    async def main():
        task = asyncio.ensure_future(
            box.run_all([call("search_files", pattern="(a+)+$", path="evil")], None, here)
        )
        while descendants(os.getpid()) <= before:
            await asyncio.sleep(0.01)
        task.cancel()
        return await task

    assert asyncio.run(main()).cancelled
    until(lambda: descendants(os.getpid()) <= before)


def test_millions_of_results_are_not_waited_for(here, box):
    (here.workplace.root / "many").write_text("x\n" * 2_000_000, "utf-8")
    shown = search(here, box, pattern="x", path="many", limit=5)
    assert len(shown) == 6
    assert shown[-1] == "[5 results shown; next: offset=5]"


@settings(max_examples=200)
@given(st.text(alphabet="ab*?/[]{},!.", max_size=12), st.text(alphabet="ab/.", max_size=10))
def test_any_glob_is_an_expression(glob, path):
    re.compile(expression(glob)).fullmatch(path)


@pytest.mark.parametrize(
    ("glob", "fits", "fails"),
    [
        ("*.py", ["a.py", "x/y/a.py"], ["a.pyc", "a.py/x"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "x/src/a.py"]),
        ("src/**", ["src/a", "src/x/y"], ["srcs/a"]),
        ("**/t_?.py", ["t_a.py", "x/t_a.py"], ["t_ab.py"]),
        ("[ab]*.{py,md}", ["a.py", "bx.md"], ["c.py", "a.txt"]),
        ("[!a]x", ["bx"], ["ax"]),
        ("/top", ["top"], []),
    ],
)
def test_globs_mean_what_they_mean_elsewhere(glob, fits, fails):
    pattern = re.compile(expression(glob))
    assert [path for path in fits if not pattern.fullmatch(path)] == []
    assert [path for path in fails if pattern.fullmatch(path)] == []
