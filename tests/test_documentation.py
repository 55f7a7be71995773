"""README and docs tell the truth: their commands run, their Python runs, their links lead somewhere."""

import json
import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.resources import files
from itertools import chain
from pathlib import Path

import click
import pytest

import plimsoll
from plimsoll.config import Settings, load_settings
from plimsoll.terminal.main import plimsoll as program
from plimsoll.terminal.tour.recorded_session import RecordedSession
from preloaded import run_plimsoll

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "README.zh-CN.md",
    ROOT / "PACKAGE.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "conversations"),
]
# Pages that site/hooks.py generates for the site.
GENERATED = {ROOT / "docs" / "reference" / name for name in ("commands.md", "rest.md", "python.md")}
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)  # also those without a kind
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]+)?\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def blocks(language):
    return [
        pytest.param(text, id=f"{page.name}-{number}")
        for page in PAGES
        for number, (kind, text) in enumerate(FENCE.findall(page.read_text("utf-8")))
        if kind == language
    ]


def environment(home):
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_TOKEN"))}
    beside = str(Path(sys.executable).parent)
    return {
        **kept,
        "HOME": str(home),
        "PLIMSOLL_HOME": str(home / "plimsoll"),
        "PATH": f"{beside}:{kept['PATH']}",
    }


@pytest.mark.parametrize("text", blocks("sh"))
def test_every_command_in_the_documentation_runs(text, tmp_path):
    for line in text.splitlines():
        command = shlex.split(line, comments=True)
        if not command or command[0] == "make":  # the Makefile is what runs these tests
            continue
        assert command[0] == "plimsoll"
        done = run_plimsoll(*command[1:], cwd=tmp_path, env=environment(tmp_path))
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        assert done.stdout.strip()


def shown_commands():
    """Commands in blocks that no test runs: they serve, ask a person, or name files that only the reader has."""
    for page in PAGES:
        for kind, text in BLOCK.findall(page.read_text("utf-8")):
            for line in text.splitlines() if kind in ("", "console", "text") else ():
                command = line.strip().removeprefix("$ ")
                if command.startswith("plimsoll "):
                    # Text after three spaces or `<` explains the command, or is its input.
                    yield page.name, re.split(r"\s{3,}|\s<", command)[0]


def test_every_command_that_is_only_shown_exists_with_its_options():
    wrong = []
    for page, line in shown_commands():
        command, context, words = program, click.Context(program), shlex.split(line)[1:]
        while isinstance(command, click.Group) and words and command.get_command(context, words[0]):
            command = command.get_command(context, words.pop(0))
        known = {"--help"}.union(*(one.opts + one.secondary_opts for one in command.params))
        options = [word.split("=")[0] for word in words if word.startswith("-") and word != "-"]
        is_unknown = isinstance(command, click.Group) and (
            not words[0].startswith("-") if words else not command.invoke_without_command
        )
        if is_unknown or not known.issuperset(options):
            wrong.append((page, line))
    assert wrong == []
    assert len(list(shown_commands())) > 30


def test_every_block_is_of_a_kind_that_a_test_runs_or_that_is_no_code():
    kinds = {kind for page in PAGES for kind, _ in BLOCK.findall(page.read_text("utf-8"))}
    here = {"sh", "python", "yaml", "json", "toml", "console", ""}
    recipes = {"bash", "py", "ts", "js"}  # with the clients that they name: tests/peers/test_recipes.py
    assert kinds - here - recipes == {"text"}  # drawings and what programs print


@pytest.mark.parametrize("kind", ["json", "toml"])
def test_every_data_block_in_the_documentation_can_be_read(kind):
    read = {"json": json.loads, "toml": tomllib.loads}[kind]
    texts = [text for page in PAGES for one, text in BLOCK.findall(page.read_text("utf-8")) if one == kind]
    assert all(read(text) for text in texts)
    assert texts


@pytest.mark.parametrize("text", blocks("python"))
def test_every_piece_of_python_in_the_documentation_runs(text, tmp_path):
    shutil.copy(str(files("plimsoll").joinpath("examples", "fastapi.json")), tmp_path / "conversation.json")
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text", blocks("yaml"))
def test_every_configuration_in_the_documentation_is_valid(text, tmp_path, monkeypatch):
    sections = set(re.findall(r"^(\w+):", text, re.MULTILINE))
    if not sections <= set(Settings.model_fields):  # the file of another program, or of a plugin
        assert sections.isdisjoint(Settings.model_fields)
        return
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path))
    (tmp_path / "config.yaml").write_text(text, "utf-8")
    assert load_settings().settings


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_in_the_documentation_leads_somewhere(page):
    missing = [
        f"{link}{anchor}"
        for link, anchor in LINK.findall(CODE.sub("", page.read_text("utf-8")))
        if not leads_somewhere(page, link, anchor)
    ]
    assert missing == []


def leads_somewhere(page, link, anchor):
    target = (page.parent / link).resolve() if link else page
    if target in GENERATED:
        return True
    if not target.exists():
        return False
    if not anchor:
        return True
    text = target.read_text("utf-8")
    return f'id="{anchor[1:]}"' in text or anchor[1:] in map(slug, HEADING.findall(text))


def slug(heading):
    """The anchor of a heading, as GitHub and the site make it."""
    words = re.sub(r"[^\w\s-]", "", heading.lower())
    return re.sub(r"\s", "-", words.strip())


def test_the_navigation_of_the_site_names_every_page():
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    named = set(re.findall(r"[\w./-]+\.md", navigation))
    of_root = {"architecture.md", "changelog.md", "contributing.md"}
    pages = {str(page.relative_to(ROOT / "docs")) for page in PAGES if page.is_relative_to(ROOT / "docs")}
    generated = {str(page.relative_to(ROOT / "docs")) for page in GENERATED}
    assert named == pages | generated | of_root


def test_make_targets_named_in_the_documentation_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {
        name
        for page in PAGES
        for name in re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE)
    }
    assert named
    assert named <= targets


def make_run(home):
    """The command with what is installed here, and its environment, without a key."""
    bin_folder = f"BIN={Path(sys.executable).parent}"
    return ["make", "--no-print-directory", "run", bin_folder, "--old-file=.venv/.run"], environment(home)


def test_make_run_without_a_terminal_prints_the_whole_tour_and_stores_nothing(tmp_path):
    command, variables = make_run(tmp_path)
    done = subprocess.run(
        command, cwd=ROOT, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^(\d)/5 ", done.stdout, re.MULTILINE) == ["1", "2", "3", "4", "5"]
    assert "any key" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert not (tmp_path / "plimsoll").exists()  # the tour opens no archive but its own


def test_make_run_ends_in_the_tour_and_can_be_left(tmp_path):
    command, variables = make_run(tmp_path)
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        command, cwd=ROOT, env={**variables, "TERM": "xterm"}, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    read_until(ours, "1/5")
    os.write(ours, b" ")  # skips the growth
    read_until(ours, "any key: next")
    os.write(ours, b"q")
    read_until(ours, "Next:")
    code = running.wait(60)
    os.close(ours)
    assert code == 0


def read_until(terminal, text):
    """What a terminal shows up to a text."""
    shown = b""
    while text.encode() not in shown:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, shown.decode("utf-8", "replace")
        shown += os.read(terminal, 65_536)
    return shown.decode("utf-8", "replace")


def test_the_figures_of_the_readme_are_those_of_the_example(tmp_path):
    done = run_plimsoll("compress", "--example", "--no-model", "--json", env=environment(tmp_path))
    assert done.returncode == 0, done.stderr
    for name in ("README.md", "README.zh-CN.md", "PACKAGE.md"):
        shown = (ROOT / name).read_text("utf-8")
        for key in ("messages_before", "messages_after", "tokens_before", "tokens_after"):
            value = int(re.search(rf'"{key}": (\d+)', done.stdout)[1])
            assert f"{value:,}" in shown, f"{key} is {value:,} now: {name}"


def test_the_readme_of_the_wheel_has_no_links_into_the_repository():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert LINK.findall((ROOT / project["readme"]).read_text("utf-8")) == []


def test_the_picture_of_the_readme_shows_what_the_tour_shows(tmp_path):
    picture = (ROOT / "docs" / "images" / "tour.svg").read_text("utf-8")
    with RecordedSession() as session:
        last = list(session.grow())[-1]
        report = session.compact()
    for shown in (
        f"{last.messages} messages, {last.tokens:,} tokens",
        f"{report.tokens_before:,}",
        f"{report.tokens_after:,}",
    ):
        assert shown.replace(" ", "&#160;") in picture, f"run make screens: {shown}"
    for name in ("README.md", "README.zh-CN.md"):
        caption = next(line for line in (ROOT / name).read_text("utf-8").splitlines() if "tour.svg" in line)
        assert f"{report.tokens_after:,}" in caption, f"the caption in {name} has other figures"


def test_every_dependency_is_explained():
    explained = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = chain.from_iterable(project["optional-dependencies"].values())
    named = {re.split(r"[><=\[]", entry)[0] for entry in (*project["dependencies"], *extras)} - {
        "plimsoll-context"
    }
    assert {name for name in named if name.removeprefix("pytest-") not in explained} == set()


def test_the_changelog_names_this_version():
    assert f"## {plimsoll.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
