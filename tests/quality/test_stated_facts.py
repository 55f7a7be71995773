"""What counts as stated, by kind, and when it is kept."""

import pytest
from conversations_to_measure import done, filler, said
from hypothesis import given, settings

from message_builders import user
from plimsoll.quality import WEIGHTS, Reading, joined, kept, stated_facts, weighted
from plimsoll.testing.strategies import conversations


def stated(history, kind):
    return [fact for fact in stated_facts(history) if fact.kind == kind]


def is_kept(history, kind, text):
    return kept(stated(history, kind), Reading(text))


def test_files_count_by_the_last_two_parts_of_their_path():
    edit = done("Edit", "ok", file_path="/home/me/project/src/app.py", old_string="a")
    assert [fact.text for fact in stated(edit, "edited")] == ["src/app.py"]
    assert is_kept(edit, "edited", "edited src/app.py") == [True]
    assert is_kept(edit, "edited", "edited app.py, and other_src/app.py2") == [False]


def test_a_failed_command_is_kept_only_with_its_failure():
    run = done("Bash", "Exit code 2\nmake: *** no rule to build target", command="cd /x && make release")
    assert is_kept(run, "command", "ran make release") == [False]
    assert is_kept(run, "command", "ran make release: exit 2") == [True]


def test_a_command_that_only_looks_states_nothing():
    assert stated(done("Bash", "a.py", command="ls -la src"), "command") == []
    assert len(stated(done("Bash", "Exit code 1\nno such file", command="ls -la src"), "command")) == 1


def test_the_newest_test_run_is_the_test_result():
    first = done("Bash", "Exit code 1\n1 failed", command="pytest tests/a")
    second = done("Bash", "9 passed", 1, command="pytest tests/b")
    assert [(fact.text, fact.has_failed) for fact in stated([*first, *second], "test")] == [
        ("pytest tests/b", False)
    ]


def test_the_error_line_of_a_failed_result_is_a_fact():
    run = done(
        "Bash", "Exit code 1\n\nTypeError: unsupported operand between integer and string", command="x"
    )
    assert [fact.text for fact in stated(run, "error")] == [
        "TypeError: unsupported operand between integer and string"
    ]


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ("[error] Exit code 1\ngo: cannot find module", "go: cannot find module"),
        ("[error] <tool_use_error>File does not exist.</tool_use_error>", ""),
        ("[error] <tool_use_error>File cannot be read here.</tool_use_error>", "File cannot be read here."),
        ('Script completed\nOutput:\n{"exit_code":101,"output":"error: no library\\n"}', "error: no library"),
    ],
)
def test_an_error_line_has_no_marks_of_the_harness(result, error):
    assert [fact.text for fact in stated(done("x", result, query="y"), "error")] == ([error] if error else [])


def test_source_code_that_speaks_of_errors_is_no_error():
    assert stated(done("Read", "def fail():\n    raise ValueError('error')", path="a/b.py"), "error") == []


def test_requests_constraints_and_decisions_are_sentences():
    talk = [
        user("Please build the importer for invoices. Never touch the production database."),
        said("The slow page is caused by a missing index on the invoice table."),
    ]
    (ask,), (constraint,), (decision,) = (stated(talk, kind) for kind in ("ask", "constraint", "decision"))
    assert ask.text == "Please build the importer for invoices."
    assert constraint.text == "Never touch the production database."
    assert decision.text == "The slow page is caused by a missing index on the invoice table."
    assert is_kept(talk, "decision", "Slow page caused by the missing index, invoice table") == [True]
    assert is_kept(talk, "decision", "An index was added") == [False]


def test_what_a_program_put_into_the_users_place_is_no_request():
    assert stated([{**user("Please continue with the work that is left."), "name": "meta"}], "ask") == []


def test_ids_and_numbers_with_units_are_read_from_what_was_written():
    talk = [user("Ticket PLM-4711 costs $1,200 and 250 ms"), *done("Bash", "99 files OTHER-1", command="x")]
    assert {fact.text for fact in stated(talk, "id")} == {"PLM-4711"}
    assert {fact.text for fact in stated(talk, "number")} == {"$1,200", "250 ms"}


def test_open_items_are_those_of_the_newest_list():
    old = done("TodoWrite", "ok", todos=[{"content": "write the importer", "status": "pending"}])
    items = [
        {"content": "write the importer", "status": "completed"},
        {"content": "test the importer with old invoices", "status": "in_progress"},
    ]
    history = [*old, *done("TodoWrite", "ok", 1, todos=items)]
    assert [fact.text for fact in stated(history, "todo")] == ["test the importer with old invoices"]


def test_tasks_made_one_by_one_are_open_until_they_are_done():
    history = [
        *done("TaskCreate", "ok", 1, subject="write the importer"),
        *done("TaskCreate", "ok", 2, subject="document the importer"),
        *done("TaskUpdate", "ok", 3, taskId="1", status="completed"),
    ]
    assert [fact.text for fact in stated(history, "todo")] == ["document the importer"]


def test_a_fact_is_located_at_its_last_mention():
    first = user("Please build the importer for invoices.")
    (once,), (twice,) = (
        stated(history, "ask") for history in ([first, *filler(9)], [first, *filler(9), first])
    )
    assert once.at == 0
    assert twice.at > 0.9


def test_the_weighted_share_is_over_the_kinds_that_occur():
    assert weighted({"edited": 1.0, "read": 0.0}) == pytest.approx(0.75)
    assert weighted(dict.fromkeys(WEIGHTS, 0.5)) == pytest.approx(0.5)


@settings(derandomize=True)
@given(conversations())
def test_a_conversation_keeps_everything_that_it_states(messages):
    # How a command failed must stand beside it; in a conversation the answers to other calls may come between.
    facts = [fact for fact in stated_facts(messages) if not fact.has_failed]
    assert all(kept(facts, Reading(joined(messages))))
