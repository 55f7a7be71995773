"""Which commands are asked about, what can be answered, and the sandbox."""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess

import pytest
from toolkit import ASKING, call, place, run, text, yes

from plimsoll.errors import UserError
from plimsoll.settings.tools import TerminalSettings
from plimsoll.tools import ApprovalAnswer, ApprovalQuestion, standard_tools
from plimsoll.tools.terminal.approval import approval_for
from plimsoll.tools.terminal.sandbox import require_bubblewrap


@pytest.fixture
def here(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    return place(project)


class Person:
    """Answers every question in the same way and remembers them."""

    def __init__(self, decision):
        self.decision, self.asked = decision, []

    async def __call__(self, question: ApprovalQuestion) -> ApprovalAnswer:
        self.asked.append(question)
        return self.decision


ALWAYS = ApprovalAnswer(True, always=True)


def test_a_command_that_only_reads_runs_where_nobody_can_be_asked(here):
    (here.workplace.root / "a.txt").write_text("hello\n", "utf-8")
    assert text(here, "terminal", box=ASKING, command="cat a.txt | head -1") == "hello\nexit code: 0"


def test_any_other_command_is_refused_there_and_the_setting_is_named(here):
    told = text(here, "terminal", box=ASKING, command="touch x")
    assert "runs `touch`, which is not known to be read-only" in told
    assert "no user is present to approve it; tools.terminal.allow in config.yaml can allow it" in told
    assert not (here.workplace.root / "x").exists()


def test_a_command_runs_after_yes_and_is_asked_about_again(here):
    person = Person(ApprovalAnswer(True))
    for _ in range(2):
        assert text(here, "terminal", box=ASKING, approve=person, command="touch x") == "exit code: 0"
    assert len(person.asked) == 2
    assert person.asked[0].always == ()  # nothing to store it in


def test_always_is_for_one_program_in_one_project_and_outlives_the_process(here, tmp_path):
    approvals = tmp_path / "home" / "approvals.json"
    person = Person(ALWAYS)
    text(here, "terminal", box=standard_tools(approvals=approvals), approve=person, command="touch x && ls")
    assert person.asked[0].always == ("touch",)
    assert json.loads(approvals.read_text("utf-8")) == {str(here.workplace.root): ["touch"]}
    again = standard_tools(approvals=approvals)
    assert text(here, "terminal", box=again, command="touch y | cat") == "exit code: 0"
    assert "was refused" in text(here, "terminal", box=again, command="mkdir z")
    (tmp_path / "other").mkdir()
    assert "was refused" in text(place(tmp_path / "other"), "terminal", box=again, command="touch y")


@pytest.mark.parametrize(
    "command",
    [
        "touch ../x",
        "touch ~/x",
        "touch x > y",
        "touch $HOME",
        "touch $(ls)",
        "touch x; rm x",
        "touch x &",
        "cp .env x",
    ],
)
def test_a_program_that_is_allowed_is_asked_about_where_it_leaves_the_project_or_the_words(here, command):
    allowed = frozenset({"touch", "cp"})
    assert approval_for("touch x", here.workplace.root, here.workplace, granted=allowed).reason is None
    assert approval_for(command, here.workplace.root, here.workplace, granted=allowed).reason


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("pytest -q", ("pytest",)),
        ("git commit -m x", ("git commit",)),
        ("npm test && git push", ("npm test", "git push")),
        ("git -c a=b commit", ()),
        ("git config alias.x '!rm'", ()),
        ("git rebase -x ./x HEAD~1", ()),
        ("uv run x", ()),
        ("python3.12 x.py", ()),
        ("bash -c ls", ()),
        ("env ls", ()),
        ("ls | xargs rm", ()),
        ("sudo pytest", ()),
        ("make", ()),
        ("./run.sh", ()),
        ("pytest; bash x", ()),
        ("pytest > log", ()),
        ("x=1 pytest", ()),
        ("cp /etc/passwd x", ()),
        ("cat .env", ()),
    ],
)
def test_what_can_be_allowed_for_good(here, command, programs):
    assert approval_for(command, here.workplace.root, here.workplace).programs == programs


def test_approvals_inside_of_the_project_count_for_nothing(here):
    root = here.workplace.root
    approvals = root / "approvals.json"
    approvals.write_text(json.dumps({str(root): ["touch"]}), "utf-8")
    person = Person(ALWAYS)
    text(here, "terminal", box=standard_tools(approvals=approvals), approve=person, command="touch x")
    assert [question.always for question in person.asked] == [()]


@pytest.mark.parametrize("content", ["", "[]", "{", '{"x": 1}'])
def test_damaged_approvals_mean_that_a_person_is_asked(here, tmp_path, content):
    approvals = tmp_path / "approvals.json"
    approvals.write_text(content, "utf-8")
    person = Person(ALWAYS)
    for _ in range(2):
        text(here, "terminal", box=standard_tools(approvals=approvals), approve=person, command="touch x")
    assert len(person.asked) == 1


def test_the_setting_allows_programs_and_everything(here):
    some = standard_tools(terminal=TerminalSettings(allow=["touch", "git commit"]))
    assert text(here, "terminal", box=some, command="touch x") == "exit code: 0"
    assert "was refused" in text(here, "terminal", box=some, command="git push")
    everything = standard_tools(terminal=TerminalSettings(allow=["*"]))
    assert text(here, "terminal", box=everything, command="echo a > b; exit 4") == "exit code: 4"


def test_reading_with_git_runs_no_program_of_the_repository(here):
    root = here.workplace.root
    made = "git init -q && echo a > f && git add f && git -c user.name=a -c user.email=a commit -qm x"
    subprocess.run(["bash", "-c", made], cwd=root, check=True)
    hook = root / ".git" / "hooks" / "post-index-change"
    for path in (hook, root / "monitor"):
        path.write_text("#!/bin/sh\ntouch ran\n", "utf-8")
        path.chmod(0o755)
    subprocess.run(["git", "config", "core.fsmonitor", str(root / "monitor")], cwd=root, check=True)
    for command in ("git status", "git diff", "git diff HEAD", "git describe --always --dirty"):
        os.utime(root / "f", (1, 1))
        assert text(here, "terminal", box=ASKING, command=command).endswith("exit code: 0")
    assert not (root / "ran").exists()
    os.utime(root / "f", (2, 2))
    text(here, "terminal", box=ASKING, approve=yes, command="git diff > out")  # a person said yes to this one
    assert (root / "ran").exists()


# The sandbox


def bubblewrap():
    """Skips where bubblewrap cannot run, with its own words."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed, so THE SANDBOX WAS NOT TESTED")
    tried = subprocess.run(
        ["bwrap", "--unshare-user", "--unshare-net", "--ro-bind", "/", "/", "true"],
        capture_output=True,
        text=True,
    )
    if tried.returncode:
        pytest.skip(f"bubblewrap cannot run here, so THE SANDBOX WAS NOT TESTED: {tried.stderr.strip()}")


def sandbox(network=False):
    return standard_tools(terminal=TerminalSettings(allow=["*"], sandbox=True, network=network))


def test_in_the_sandbox_only_the_project_can_be_written(here):
    bubblewrap()
    root = here.workplace.root
    assert text(here, "terminal", box=sandbox(), command="echo a > x && cat x") == "a\nexit code: 0"
    assert (root / "x").read_text("utf-8") == "a\n"
    for victim in ("/etc/y", "/usr/y", "/var/tmp/y"):
        assert "Read-only" in text(here, "terminal", box=sandbox(), command=f"touch {victim}")
    text(here, "terminal", box=sandbox(), command="touch /tmp/plimsoll-y ../y")  # in a /tmp of its own
    for victim in ("/etc/y", "/usr/y", "/var/tmp/y", "/tmp/plimsoll-y", root.parent / "y"):
        assert not os.path.lexists(victim)


def test_the_sandbox_has_no_network_unless_it_is_allowed(here):
    bubblewrap()

    async def main():
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        calls = [call("terminal", command=f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected")]
        async with server:
            done = [await sandbox(network).run_all(calls, None, here) for network in (False, True)]
        return [finished.outcomes[0].result.text for finished in done]

    closed, opened = asyncio.run(main())
    assert "connected" not in closed
    assert opened == "connected\nexit code: 0"


def test_the_sandbox_sees_no_other_processes_and_remembers_the_directory(here):
    bubblewrap()
    assert "exit code: 1" in text(here, "terminal", box=sandbox(), command=f"kill -0 {os.getpid()} || exit 1")
    assert "[working directory:" in text(here, "terminal", box=sandbox(), command="mkdir sub && cd sub")
    assert text(here, "terminal", box=sandbox(), command="pwd").startswith(f"{here.workplace.root / 'sub'}\n")


def test_a_command_in_the_sandbox_that_takes_too_long_is_ended(here):
    bubblewrap()
    result = run(here, call("terminal", command="echo a; sleep 300", timeout=3), box=sandbox())[0].result
    assert result.text == "a\n[timed out after 3 s; the command and its child processes were terminated]"


def test_commands_are_asked_about_in_the_sandbox_too(here):
    bubblewrap()
    box = standard_tools(terminal=TerminalSettings(sandbox=True))
    assert "was refused" in text(here, "terminal", box=box, command="touch x")


def test_a_sandbox_without_bubblewrap_is_an_error_that_says_what_to_do(here, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"apt-get install bubblewrap.*tools\.terminal\.sandbox false"):
        require_bubblewrap()
    assert "bubblewrap" in text(here, "terminal", box=sandbox(), command="echo never")


def test_a_command_is_judged_once_and_nobody_else_waits_for_git(tmp_path):
    """The settings of git are read by a program that goes on only when the event loop says so."""
    project, programs, log, door = (tmp_path / name for name in ("project", "bin", "log", "door"))
    project.mkdir()
    programs.mkdir()
    os.mkfifo(door)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    real = shutil.which("git")
    script = f'#!/bin/sh\necho "$1" >> {log}\n[ "$1" = config ] && read line < {door}\nexec {real} "$@"\n'
    (programs / "git").write_text(script, "utf-8")
    (programs / "git").chmod(0o755)
    here = place(project, PATH=f"{programs}:{os.environ['PATH']}")

    async def open_door():
        while True:
            with contextlib.suppress(OSError):  # nobody reads yet
                return os.open(door, os.O_WRONLY | os.O_NONBLOCK)
            await asyncio.sleep(0.01)

    async def work():
        opened = asyncio.create_task(open_door())
        finished = asyncio.create_task(ASKING.run_all([call("terminal", command="git status")], None, here))
        await asyncio.wait({opened, finished}, return_when=asyncio.FIRST_COMPLETED)
        assert opened.cancel() is False, "git waited for the event loop, which waited for git"
        held = opened.result()
        os.write(held, b"go on\n")
        os.close(held)
        return await finished

    (outcome,) = asyncio.run(work()).outcomes
    assert "exit code: 0" in outcome.result.text
    assert log.read_text("utf-8").split() == ["config", "rev-parse", "ls-files", "status"]
