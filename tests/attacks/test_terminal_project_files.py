"""Attacks on the terminal through files of the project: settings of git, links, ignore files."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from project_with_traps import IDENTITY, asks, git, project_with_traps

from plimsoll.tools import Workspace
from plimsoll.tools.terminal.git_settings import with_reading_settings

with_ripgrep = pytest.mark.skipif(
    shutil.which("rg") is None, reason="rg is not installed: what ripgrep reads is untested"
)
TRAPS = (".env", "secret.pem", "key", "out", "src/linked.py")


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    """A project without credentials and links; the tests add their own."""
    place = project_with_traps(tmp_path)
    for trap in TRAPS:
        (place.root / trap).unlink()
    return place


def ran(place: Workspace, command: str) -> bool:
    """Whether a command that runs without asking started the project's own program."""
    environment = with_reading_settings(place.environment)
    subprocess.run(["bash", "-c", command], cwd=place.root, env=environment, capture_output=True)
    return any(place.root.rglob("ran"))


def add_submodule(place: Workspace) -> Path:
    """A checked-out submodule whose changes git always looks for."""
    inner = place.root / "inner"
    inner.mkdir()
    (inner / "x").write_text("1\n", "utf-8")
    (inner / ".gitattributes").write_text("x filter=traced\n", "utf-8")
    git(inner, "init", "-q")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "inner")
    modules = '[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n\tignore = none\n'
    (place.root / ".gitmodules").write_text(modules, "utf-8")
    git(place.root, "add", "inner", ".gitmodules")
    git(place.root, "commit", "-qm", "submodule")
    (inner / "x").write_text("2\n", "utf-8")
    return inner


@pytest.mark.parametrize("command", ["git status", "git diff", "git -C src status"])
def test_a_program_in_the_settings_of_a_submodule_does_not_run(place: Workspace, command: str) -> None:
    inner = add_submodule(place)
    assert asks(command, place) is None
    git(inner, "config", "filter.traced.clean", f"touch {place.root}/ran; cat")
    assert "filter.traced.clean" in (asks(command, place) or "")


def test_looking_for_settings_in_a_submodule_runs_nothing(place: Workspace) -> None:
    inner = add_submodule(place)
    git(inner, "config", "core.fsmonitor", f"touch {place.root}/ran; false")
    assert asks("git status", place) is None
    assert not ran(place, "git status")


def test_a_merge_driver_does_not_run(place: Workspace) -> None:
    root = place.root
    (root / ".gitattributes").write_text("notes.txt merge=traced\n", "utf-8")
    git(root, "add", ".gitattributes")
    git(root, "commit", "-qm", "attributes")
    git(root, "branch", "other")
    for text in ("ours", "theirs"):
        (root / "notes.txt").write_text(f"{text}\n", "utf-8")
        git(root, "commit", "-qam", text)
        git(root, "checkout", "-q", "other") if text == "ours" else None
    subprocess.run(["git", *IDENTITY, "merge", "-q", "-"], cwd=root, capture_output=True)
    (root / "notes.txt").write_text("both\n", "utf-8")
    git(root, "commit", "-qam", "merged")
    git(root, "config", "log.diffMerges", "remerge")
    git(root, "config", "merge.traced.driver", f"touch {root}/ran")
    assert ran(place, "git log -m -p -1"), "git runs the driver when it shows a merge"
    assert "merge.traced.driver" in (asks("git log -m -p -1", place) or "")


def test_a_hook_in_the_settings_is_asked_about(place: Workspace) -> None:
    git(place.root, "config", "hook.x.command", "./canary")
    assert "hook.x.command" in (asks("git status", place) or "")


def test_git_stash_list_is_a_subcommand_and_not_a_path_to_stash(place: Workspace) -> None:
    assert asks("git stash list", place) is None
    assert asks("git stash show -p", place) is None
    for command in ("git stash -- list", "git stash -q -- show", "git stash -p show"):
        assert asks(command, place)


def test_programs_that_follow_links_do_not_reach_credentials(place: Workspace) -> None:
    (place.root / "conf").mkdir()
    (place.root / "conf" / ".env").write_text("KEY=value\n", "utf-8")
    assert asks("grep -R KEY src", place) is None
    for target in ("../conf/.env", "../conf"):
        link = place.root / "src" / "data"
        link.symlink_to(target)
        assert "credentials" in (asks("grep -R KEY src", place) or "")
        assert "credentials" in (asks("diff -r src tests", place) or "")
        link.unlink()


def test_links_in_a_circle_are_followed_once(place: Workspace) -> None:
    (place.root / "src" / "again").symlink_to(".")
    assert asks("grep -R foo src", place) is None


def test_directories_are_compared_only_without_credentials(place: Workspace) -> None:
    assert asks("diff -N tests src", place) is None
    (place.root / "tests" / ".env").write_text("KEY=value\n", "utf-8")
    assert "credentials" in (asks("diff -N tests src", place) or "")
    assert "credentials" in (asks("diff notes.txt tests", place) or "")


def test_directories_outside_a_repository_are_compared_only_without_credentials(place: Workspace) -> None:
    shutil.rmtree(place.root / ".git")
    (place.root / "tests" / ".env").write_text("KEY=value\n", "utf-8")
    assert "credentials" in (asks("git diff tests src", place) or "")


def test_settings_of_git_without_credentials_do_not_prevent_a_search(place: Workspace) -> None:
    assert asks("grep -rn foo .", place) is None
    git(place.root, "remote", "add", "origin", "https://ada:" + "s3cr3t-of-ada@example.com/x.git")
    assert "credentials" in (asks("grep -rn foo .", place) or "")


@with_ripgrep
@pytest.mark.parametrize(
    "command",
    [
        "rg -g .env KEY", 'rg -g "*" KEY', "rg --glob=.env KEY", "rg -g.env KEY", "rg --iglob .ENV KEY",
        'rg -g "!*.py" KEY', 'rg -g "*.pem" KEY', 'rg --glob "**/.env" KEY src .', "rg KEY", "rg -e KEY",
    ],
)  # fmt: skip
def test_ripgrep_does_not_read_credentials(place: Workspace, command: str) -> None:
    assert asks(command, place) is None
    (place.root / ".env").write_text("KEY=value\n", "utf-8")
    assert "credentials" in (asks('rg -g "*" KEY', place) or "")
    (place.root / "secret.pem").write_text("KEY=value\n", "utf-8")
    assert "credentials" in (asks(command, place) or "")


@with_ripgrep
def test_ripgrep_reads_what_the_ignore_files_leave(place: Workspace) -> None:
    (place.root / ".env").write_text("KEY=value\n", "utf-8")
    (place.root / "secret.pem").write_text("KEY=value\n", "utf-8")
    (place.root / ".ignore").write_text("*.pem\n", "utf-8")
    assert asks("rg KEY", place) is None
    assert asks("rg KEY -g '*.py'", place) is None
    assert asks("rg --files", place) is None
    (place.root / ".ignore").write_text("*.pem\n!.env\n", "utf-8")
    assert "credentials" in (asks("rg KEY", place) or "")


def test_a_program_that_is_a_link_into_the_project_is_asked_about(place: Workspace) -> None:
    programs = place.root.parent / "bin"
    programs.mkdir()
    (programs / "ls").symlink_to(place.root / "canary")
    place.environment = {**place.environment, "PATH": f"{programs}:{os.environ['PATH']}"}
    assert "that the project could replace" in (asks("ls", place) or "")
