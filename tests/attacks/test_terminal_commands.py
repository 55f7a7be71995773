"""Attacks on the terminal: nothing that writes, executes, or reads foreign files runs without asking."""

import os
import subprocess
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from project_with_traps import asks, git, project_with_traps

from plimsoll.tools import Workspace
from plimsoll.tools.terminal.shell import UnsupportedSyntax, commands_in

HERE = Path(__file__).parent
ATTACKS = tomllib.loads((HERE / "disguised_commands.toml").read_text("utf-8"))
EVERYDAY = tomllib.loads((HERE.parent / "tools" / "everyday_commands.toml").read_text("utf-8"))["commands"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return project_with_traps(tmp_path_factory.mktemp("attacked"))


def test_there_are_enough_attacks() -> None:
    assert len({command for group in ATTACKS.values() for command in group}) >= 150


@pytest.mark.parametrize("group", ATTACKS)
def test_no_disguised_command_runs_without_asking(group: str, place: Workspace) -> None:
    assert [command for command in ATTACKS[group] if asks(command, place) is None] == []


def test_everyday_reading_commands_run_without_asking(tmp_path: Path) -> None:
    place = project_with_traps(tmp_path)
    for trap in (".env", "secret.pem", "key", "out", "src/linked.py"):
        (place.root / trap).unlink()
    asked = [command for command in EVERYDAY if asks(command, place)]
    assert len(EVERYDAY) >= 100
    assert len(asked) <= 0.1 * len(EVERYDAY), asked


# Whatever is put into a harmless command: if it runs without asking, it changes nothing.

CANARIES = [
    "; ./canary", "&& ./canary", "| ./canary", "& ./canary", "\n./canary\n", "$(./canary)", "`./canary`",
    "<(./canary)", "> stolen", ">stolen", ">> stolen", "2>stolen", "&>stolen", "\\", "'", "\"", "#",
    " #", "\\ #", "$'", "$\"", "{a,", "}", "*", "traps/*", "-exec ./canary {} +", " -o stolen ",
    " -ostolen", " --output=stolen ", " --pre ./canary ", "-c core.fsmonitor=./canary", "X=1 ",
    "<<E\n./canary\nE\n", "eval ", "sh ", "! ", " -i ", " --ext-diff ", "w stolen", "e ./canary",
    "|tee stolen", "xargs ./canary", "\r", "\\\n", "${IFS}", "$?", "~", "!", ";;", "(", ")", " -delete",
]  # fmt: skip
FRAGMENTS = st.lists(st.tuples(st.sampled_from(CANARIES), st.integers(0, 200)), min_size=1, max_size=3)


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(command=st.sampled_from(EVERYDAY), fragments=FRAGMENTS)
def test_a_command_that_runs_without_asking_changes_nothing(
    command: str, fragments: list[tuple[str, int]], place: Workspace
) -> None:
    for fragment, at in fragments:
        at %= len(command) + 1
        command = command[:at] + fragment + command[at:]
    if asks(command, place) is not None or "docker" in command:
        return
    before = _files(place.root)
    subprocess.run(
        ["bash", "-c", command],
        cwd=place.root,
        env=dict(place.environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    assert _files(place.root) == before


def _files(root: Path) -> set[tuple[str, int, int]]:
    """Every file outside of .git with its size and time."""
    found = set()
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            status = Path(folder, name).lstat()
            found.add((f"{folder}/{name}", status.st_size, status.st_mtime_ns))
    return found


# The reader agrees with bash about what the words are.

CHARACTERS = st.text(alphabet="ab.-=@~^%!+:,/ \"'\\$`?*{}[]()<>|&;#\n\té", max_size=6)
QUOTED = CHARACTERS.map(lambda text: "'" + text.replace("'", "") + "'")
DOUBLE = st.text(alphabet="ab \\$?'*~#;é\n|.)", max_size=6).map(lambda text: f'"{text}"')
ESCAPED = st.sampled_from("ab *?#;'\"$~\\").map(lambda character: f"\\{character}")
BARE = st.sampled_from(
    [
        "a",
        "b",
        "-",
        "~",
        "~/",
        "/",
        "=",
        ":",
        "*",
        "?",
        "#",
        "@{1}",
        "$?",
        " ",
        " ",
        "\t",
        " \\\n",
        "[ ",
        "]",
        "!",
    ]
)
WORDS = st.lists(st.one_of(CHARACTERS, QUOTED, DOUBLE, ESCAPED, BARE, BARE, BARE), max_size=8).map("".join)


@settings(max_examples=250, deadline=None)
@given(WORDS)
def test_the_words_of_an_understood_command_are_those_that_bash_passes_on(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    command = f"printf '<%s>' {text}"
    place = tmp_path_factory.getbasetemp() / "empty"
    place.mkdir(exist_ok=True)
    try:
        commands = commands_in(command)
        if len(commands) != 1:
            return
        inputs = commands[0].expanded_inputs(place, "/home/nobody")
        if inputs:  # they must exist, else bash starts nothing
            if any("/" in name or name in ("", ".", "..") for name in inputs):
                return
            place = tmp_path_factory.mktemp("inputs")
            for name in inputs:
                (place / name).touch()
        words = commands[0].expanded(place, "/home/nobody")[2:]
    except UnsupportedSyntax:
        return
    environment = {"HOME": "/home/nobody", "LANG": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", command], cwd=place, env=environment, capture_output=True)
    assert done.returncode == 0
    assert done.stdout.decode() == ("".join(f"<{word}>" for word in words) if words else "<>")


@pytest.mark.parametrize("word", ["a.txt", "'a b'", '"a b"', "a\\ b", "a?b", "./a.txt", "  a.txt"])
def test_an_input_file_is_the_one_that_bash_opens(tmp_path: Path, word: str) -> None:
    for name in ("a.txt", "a b"):
        (tmp_path / name).write_text(name, "utf-8")
    (command,) = commands_in(f"cat <{word}")
    (name,) = command.expanded_inputs(tmp_path, None)
    done = subprocess.run(["bash", "-c", f"cat <{word}"], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout.decode() == (tmp_path / name).read_text("utf-8")
    assert [each.text for each in command.words] == ["cat"]


# What a repository brings along grants nothing.


def test_git_settings_of_a_repository_that_name_programs_are_asked_about(tmp_path: Path) -> None:
    for name in ("filter.x.clean", "diff.x.textconv", "diff.x.command", "diff.external", "gpg.program"):
        place = project_with_traps(tmp_path / name)
        assert asks("git diff", place) is None
        git(place.root, "config", name, "./canary")
        assert "names a program" in (asks("git diff", place) or "")
        assert "names a program" in (asks("git -C src log", place) or "")


def test_git_settings_of_an_included_file_are_seen(tmp_path: Path) -> None:
    place = project_with_traps(tmp_path)
    (place.root / "more").write_text('[diff "x"]\n\ttextconv = ./canary\n', "utf-8")
    git(place.root, "config", "include.path", "../more")
    assert "names a program" in (asks("git log -p", place) or "")


def test_a_program_that_the_project_could_replace_is_asked_about(tmp_path: Path) -> None:
    place = project_with_traps(tmp_path)
    (place.root / "bin").mkdir()
    (place.root / "bin" / "ls").symlink_to("../canary")
    for first in (f"{place.root}/bin", ".", ""):
        place.environment = {**place.environment, "PATH": f"{first}:{os.environ['PATH']}"}
        assert "that the project could replace" in (asks("ls", place) or "")


def test_outside_of_the_project_everything_is_asked_about(tmp_path: Path) -> None:
    place = project_with_traps(tmp_path)
    place.directory = place.root.parent
    assert "outside" in (asks("ls", place) or "")


def test_what_follows_cd_must_be_harmless_in_both_directories(tmp_path: Path) -> None:
    place = project_with_traps(tmp_path)
    assert asks("cd src && cat a.py", place) is None
    assert asks("cd src && cat ../notes.txt", place)  # if cd fails, this is outside
    assert asks("cd src; cat ../.env", place)
    assert asks("cd traps && sort *", place)


def test_a_directory_with_more_files_than_can_be_checked_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = project_with_traps(tmp_path)
    assert asks("grep -r foo tests", place) is None
    monkeypatch.setattr("plimsoll.tools.terminal.paths._MAX_FILES", 2)
    assert "more than 2 files" in (asks("grep -r foo .git/hooks", place) or "")
