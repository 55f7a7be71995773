"""Changes to files: shown and asked about, made at once, or not made at all."""

from dataclasses import replace

import pytest
from toolkit import ASKING, call, place, run

from plimsoll.settings.tools import TerminalSettings
from plimsoll.tools import ApprovalAnswer, EditPermission, standard_tools


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "app.py").write_text("port = 8080\nhost = 'sea'\n", "utf-8")
    return folder


class Person:
    """Answers every question in the same way and remembers it."""

    def __init__(self, *answers):
        self.answers, self.questions = list(answers), []

    async def __call__(self, question):
        self.questions.append(question)
        return self.answers.pop(0)


def context(root, mode):
    return replace(place(root), edits=EditPermission(mode))


def edit(old, new, call_id="call_1"):
    return call("patch", call_id, path="app.py", old_string=old, new_string=new)


def test_a_change_is_shown_as_a_diff_before_the_file_is_written(root):
    person = Person(ApprovalAnswer(True), ApprovalAnswer(False, "keep it"))
    done = run(context(root, "ask"), edit("8080", "9090"), box=ASKING, approve=person)
    assert not done[0].result.is_error
    done = run(
        context(root, "ask"), call("write_file", path="app.py", content="gone\n"), box=ASKING, approve=person
    )
    assert "keep it" in done[0].result.text
    patch, write = person.questions
    assert (patch.reason, write.reason) == ("changes app.py", "changes app.py")
    assert "\n-port = 8080\n+port = 9090\n" in patch.preview
    assert "\n-port = 9090\n-host = 'sea'\n+gone" in write.preview
    assert (root / "app.py").read_text("utf-8") == "port = 9090\nhost = 'sea'\n"


def test_nothing_is_left_out_of_a_long_diff(root):
    long = "".join(f"line {number}\n" for number in range(1_500))
    person = Person(ApprovalAnswer(False))
    run(context(root, "ask"), call("write_file", path="new.txt", content=long), box=ASKING, approve=person)
    assert person.questions[0].reason == "creates new.txt"
    assert person.questions[0].preview.count("\n+line ") == 1_500


def test_always_accepts_all_later_edits_also_of_the_same_message(root):
    person = Person(ApprovalAnswer(True, always=True))
    here = context(root, "ask")
    run(here, edit("8080", "9090", "1"), edit("9090", "7070", "2"), box=ASKING, approve=person)
    assert here.edits.mode == "accept"
    assert len(person.questions) == 1
    assert "port = 7070" in (root / "app.py").read_text("utf-8")


def test_an_edit_that_does_not_fit_is_not_asked_about(root):
    person = Person()
    done = run(context(root, "ask"), edit("nowhere", "x"), box=ASKING, approve=person)
    assert "old_string was not found" in done[0].result.text
    assert person.questions == []


def test_a_change_outside_of_the_project_is_asked_about_in_every_mode_that_changes_files(root):
    for mode in ("ask", "accept"):
        person = Person(ApprovalAnswer(False))
        outside = call("write_file", path=str(root.parent / "other.txt"), content="x\n")
        run(context(root, mode), outside, box=ASKING, approve=person)
        assert "+x" in person.questions[0].preview
        assert person.questions[0].always == ()


def test_a_plan_changes_nothing_and_reads_everything(root):
    person = Person()
    box = standard_tools(terminal=TerminalSettings(allow=["touch"]))
    done = run(
        context(root, "plan"),
        call("write_file", "1", path="new.txt", content="x"),
        edit("8080", "9090", "2"),
        call("terminal", "3", command="touch made"),
        call("terminal", "4", command="ls"),
        call("read_file", "5", path="app.py"),
        call("search_files", "6", pattern="port"),
        box=box,
        approve=person,
    )
    assert [outcome.result.is_error for outcome in done] == [True, True, True, False, False, False]
    assert all("the user wants a plan first" in outcome.result.text for outcome in done[:3])
    assert sorted(path.name for path in root.iterdir()) == ["app.py"]
    assert "8080" in (root / "app.py").read_text("utf-8")


def test_a_running_command_shows_its_last_line_without_secrets(root):
    told = []
    here = replace(place(root, HARBOUR_TOKEN="anchor-4711-secret"), on_output=told.append)
    run(
        here,
        call("terminal", command="echo one; echo; printf 'two '; echo $HARBOUR_TOKEN; head -c 99 /dev/zero"),
    )
    assert any("two [key]" in line for line in told) or told[-1] == ""
    assert not any("4711" in line for line in told)
    again = []
    run(
        replace(place(root), on_output=again.append),
        call("terminal", command="printf '10%%\\r90%%\\r'; echo done"),
    )
    assert again[-1] == "done"
