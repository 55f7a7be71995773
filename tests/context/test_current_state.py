"""A summary without a model says what is true now: no failure that was given up, no value that was replaced."""

import pytest
from agent_work import edit, run, sections_of, step

from message_builders import assistant, user
from plimsoll.context.ledger import read_facts

CONSTRAINTS = "Constraints & Preferences"


def open_items(messages):
    sections = sections_of(messages)
    return sections["Blocked"] + "\n" + sections["Next Steps"]


def waiting(count=12):
    """Messages that make whatever was before them old."""
    return [one for n in range(count) for one in run(900 + n, f"ls part_{n}", "a b")]


FAILED_TEST = "--- FAIL: TestMoor (0.1s)\nFAIL\nexit code: 1"
PASSED_TEST = "exit code: 0\nok  \tapp\t0.2s"


def test_an_experiment_whose_changes_were_taken_back_is_not_blocked():
    tried = [user("Make it faster."), *edit(1), *run(2, "go test ./app", FAILED_TEST)]
    assert "go test ./app" in open_items([*tried, *waiting()])
    assert "go test" not in open_items([*tried, *run(3, "git checkout -- src/importer.py", ""), *waiting()])
    assert "go test" not in open_items(
        [*tried, *run(3, "git reset --hard", "HEAD is now at 1f2"), *waiting()]
    )


def test_taking_back_another_file_gives_no_check_up():
    changes = [one for n in range(4) for one in edit(n, f"src/part_{n}.py")]
    tried = [
        user("Make it faster."),
        *edit(10, "src/old.py"),
        *changes,
        *run(20, "go test ./app", FAILED_TEST),
    ]
    assert "go test ./app" in open_items([*tried, *run(21, "git checkout -- src/old.py", ""), *waiting()])


def test_a_check_that_passes_names_the_errors_that_it_overcame():
    before = [user("Make it faster."), *run(1, "go test ./app", FAILED_TEST), *edit(2)]
    undefined = "[error] Exit code 1\n# app\napp/moor.go:3:7: undefined: tide\nFAIL app [build failed]"
    again = [*before, *run(3, "go test ./app", undefined), *edit(4)]
    done = sections_of([*again, *run(5, "go test ./app", PASSED_TEST), *waiting()])["Done"]
    assert "(fixed: --- FAIL: TestMoor (0.1s); app/moor.go:3:7: undefined: tide)" in done


def test_a_failure_outside_of_a_passing_run_is_not_called_fixed():
    tried = [user("Make it faster."), *run(1, "go test ./app", FAILED_TEST), *edit(2)]
    assert "fixed:" not in str(sections_of([*tried, *run(3, "go test ./lib", PASSED_TEST), *waiting()]))


def test_a_check_that_the_work_was_finished_without_is_not_blocked():
    messages = [
        user("Make it faster."),
        *run(1, "go test -tags=e2e ./e2e/...", FAILED_TEST),
        *edit(2),
        *run(3, "go test ./app", PASSED_TEST),
    ]
    assert "-tags=e2e" in open_items([*messages, *waiting()])
    commit = run(4, "git commit -am 'Faster'", "[main 3fd81b2] Faster\n 1 file changed")
    assert "-tags=e2e" not in open_items([*messages, *commit, *waiting()])


MISTYPED = {
    "an argument that does not exist": ("cargo test one two", "error: unexpected argument 'two' found"),
    "a program that is not installed": ("golangci-lint run", "zsh:1: command not found: golangci-lint"),
    "a program that was not built": (
        "target/debug/app test",
        "zsh:1: no such file or directory: target/debug/app",
    ),
    "the state before the changes": (
        "git stash && go build ./...; git stash pop",
        "main.go:3:1: undefined: x",
    ),
    "no check at all": ("git fsck --full", "error: 082c2c4: invalid sha1 pointer in cache-tree"),
    "a package manager": ("cargo add --dry-run app@0.1.0", "error: cannot specify a path with a version"),
}


@pytest.mark.parametrize(("command", "result"), MISTYPED.values(), ids=MISTYPED.keys())
def test_a_failure_that_is_not_one_of_the_work_is_open_only_while_it_is_fresh(command, result):
    messages = [user("Make it pass."), *run(1, command, f"exit code: 1\n{result}")]
    assert command[:12] in open_items(messages)
    assert command[:12] not in open_items([*messages, *waiting()])


def test_what_a_person_refused_is_not_blocked_once_they_said_what_to_do():
    refused = "[error] The user doesn't want to proceed with this tool use. The tool use was rejected."
    messages = [user("Tidy up."), *step(1, "update_issue", {"id": "ENT-1", "text": "done"}, refused)]
    assert "update_issue" in open_items(messages)
    assert "update_issue" not in open_items(
        [*messages, user("Write the text in German first."), assistant("Yes.")]
    )


def test_one_failing_test_is_blocked_once_by_the_newest_run_that_names_it():
    messages = [
        user("Make it pass."),
        *run(1, "mise run test:integration | grep -A 20 Moor", FAILED_TEST),
        *run(2, "go test -tags integration -run TestMoor ./app", FAILED_TEST),
    ]
    blocked = sections_of(messages)["Blocked"].splitlines()
    assert len(blocked) == 1
    assert "go test -tags integration" in blocked[0]


def test_the_plain_test_task_of_a_project_overcomes_a_run_of_one_test_but_not_a_tagged_one():
    plain = [user("Make it pass."), *run(1, "go test ./app -run TestMoor", FAILED_TEST)]
    tagged = [user("Make it pass."), *run(1, "go test -tags=e2e ./app -run TestMoor", FAILED_TEST)]
    passed = run(2, "mise run test", PASSED_TEST)
    assert sections_of([*plain, *passed])["Blocked"] == ""
    assert "-tags=e2e" in sections_of([*tagged, *passed])["Blocked"]


DELETED = "*** Begin Patch\n*** Delete File: tests/view.test.ts\n*** Add File: tests/view.test.tsx\n+x\n*** End Patch"


@pytest.mark.parametrize("others", ["", " tests/model.test.ts"])
def test_a_failure_of_a_deleted_file_is_over_once_the_other_tests_pass(others):
    failed = [
        user("Make it pass."),
        *run(1, f"npm test --{others} tests/view.test.ts", "exit code: 1\n Test Files  2 failed (2)"),
    ]
    renamed = [*failed, *step(2, "apply_patch", {"patchText": DELETED}, "Success")]
    passed = run(3, f"npm test --{others} tests/view.test.tsx", "exit code: 0\n Test Files  2 passed (2)")
    assert "view.test.ts" in open_items(failed)
    assert "view.test.ts`, which fails" not in open_items([*renamed, *passed])
    assert sections_of([*renamed, *passed])["Blocked"] == ""


def test_options_before_a_task_do_not_make_it_another_check():
    messages = [
        user("Make it pass."),
        *run(1, "pnpm -s test", "exit code: 1\n  1 failing"),
        *run(2, "pnpm test", "exit code: 0\n  8 passing (2s)"),
    ]
    assert sections_of(messages)["Blocked"] == ""


def test_a_file_is_listed_under_its_new_name_also_where_only_capitals_changed():
    messages = [
        user("Rename it."),
        *edit(1, "/repo/src/Commands.ts"),
        *run(2, "git mv src/Commands.ts src/tmp.ts && git mv src/tmp.ts src/commands.ts", "exit code: 0"),
    ]
    files = sections_of(messages)["Relevant Files"].splitlines()
    assert len(files) == 1
    assert files[0].startswith("- `/repo/src/commands.ts` — edited 1×")
    assert "was `/repo/src/Commands.ts`" in files[0]


def test_a_patch_that_moves_a_file_renames_it():
    patch = (
        "*** Begin Patch\n*** Update File: src/a.py\n*** Move to: src/b.py\n@@\n-x = 1\n+x = 2\n*** End Patch"
    )
    messages = [user("Rename it."), *step(1, "apply_patch", {"input": patch}, "Done!")]
    files = sections_of(messages)["Relevant Files"]
    assert files.startswith("- `src/b.py`")
    assert "was `src/a.py`" in files


def test_lines_of_a_renamed_file_are_quoted_under_its_new_name():
    shown = "def load_ledger(path): reads the harbour ledger from disk\n" * 2
    messages = [
        user("Look at it."),
        *step(1, "read_file", {"path": "src/Ledger.py"}, shown),
        *run(2, "mv src/Ledger.py src/ledger.py", ""),
    ]
    everything = "\n".join(sections_of(messages).values())
    assert "`src/ledger.py`" in everything
    assert "- `src/Ledger.py`" not in everything


def test_why_an_edit_failed_at_first_stands_with_its_file():
    failed = "[error] apply_patch verification failed: expected lines were not found"
    messages = [user("Change it."), *edit(1, "src/model.py", failed), *edit(2, "src/model.py")]
    files = sections_of(messages)["Relevant Files"]
    assert "an earlier edit failed: apply_patch verification failed" in files


def test_a_question_that_was_answered_stands_with_its_answer():
    messages = [
        user("Build the importer."),
        *edit(1),
        assistant("Built."),
        user("Why does the importer read the file twice?"),
        assistant(
            "Good question! It reads the header first, to find out which dialect the file has. More follows."
        ),
        user("Then write the exporter."),
        *edit(2),
    ]
    (line,) = (one for one in sections_of(messages)["Done"].splitlines() if "file twice" in one)
    assert "answered: It reads the header first, to find out which dialect the file has." in line


QUESTIONS = [
    "can you check the numbers on the latest commit again, just in case?",
    "should we do the condensation as a separate state?",
    "if we just push it, will it not get stripped afterwards?",
    "is it possible to test it without the database?",
    "can we check first that there is no race?",
    "so back to the lock - how do we know that it is not held?",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_no_wish(question):
    facts = read_facts([user("Port the importer."), assistant("I begin."), user(question), assistant("Yes.")])
    assert not facts.wishes
    assert not facts.constraints


PROPOSALS = [
    "could we just run cargo package?",
    "can we not commit the docs?",
    "could we show the message instead?",
    "defer locking for now until we migrate?",
    "wollen wir das nicht ohne Sperre machen?",
]


@pytest.mark.parametrize("proposal", PROPOSALS)
def test_a_question_that_proposes_how_to_work_is_a_wish(proposal):
    facts = read_facts([user("Port the importer."), assistant("I begin."), user(proposal), assistant("Yes.")])
    assert [*facts.wishes, *facts.constraints] == [proposal]


@pytest.mark.parametrize("title", ["Update(src/app.py) without errors", "Bash(go test ./... only once)"])
def test_the_title_of_a_tool_call_is_no_wish(title):
    facts = read_facts(
        [user("Port the importer."), assistant("I begin."), user(f"{title}\nWhat is this?"), assistant("…")]
    )
    assert not facts.wishes


PROGRESS = [
    "cargo-check – Checking serde_json v1.0.2",
    "4f4fb700ef54: Pull complete",
    "[build] Compiling my_crate v0.1.0",
]


@pytest.mark.parametrize("line", PROGRESS)
def test_progress_behind_a_prefix_is_no_evidence(line):
    facts = read_facts(
        [user("Build it."), *run(1, "make all", f"{line}\nerror: my_crate cannot be built here")]
    )
    assert line not in facts.evidence.lines
    assert "error: my_crate cannot be built here" in facts.evidence.lines


def test_a_quoted_list_item_has_one_bullet():
    rules = "# AGENTS.md instructions for /src\n<INSTRUCTIONS>\n- Always run the linter.\n</INSTRUCTIONS>"
    sections = sections_of([user(rules), user("Build it."), *edit(1)])
    assert "- Always run the linter." in sections[CONSTRAINTS]
    assert "- - " not in "\n".join(sections.values())


def test_a_decision_with_a_value_that_was_replaced_is_gone():
    first = assistant("We decided that the gateway listens on port 8080 because the proxy expects it.")
    moved = assistant("I moved the gateway to port 9090.")
    other = assistant("The retry limit is now 9090.")
    work = [user("Set up the gateway."), *edit(1), first]
    assert "8080" in sections_of([*work, other])["Key Decisions"]
    assert "8080" not in sections_of([*work, moved])["Key Decisions"]


def test_a_wish_with_a_value_that_was_replaced_is_gone():
    facts = read_facts(
        [
            user("Set up the backup. Keep 7 daily dumps."),
            assistant("Done."),
            user("Keep 10 daily dumps instead of 7 from now on."),
            assistant("Done."),
        ]
    )
    assert [*facts.wishes, *facts.constraints] == ["Keep 10 daily dumps instead of 7 from now on."]


def test_another_number_about_the_same_folder_replaces_nothing():
    found = assistant("daily/ holds 331 GB because a dump is about 11 GB and roughly thirty are kept.")
    asked = user("Keep 10 daily dumps instead of 7 from now on.")
    decisions = sections_of([user("Fix the backup."), *edit(1), found, asked, *edit(2)])["Key Decisions"]
    assert "331 GB" in decisions


def test_what_a_person_told_with_another_value_since_is_gone():
    messages = [
        user("My flight to Porto leaves from gate 14, I checked it today."),
        assistant("Noted."),
        user("My flight was moved to gate 22, they said at the desk."),
        assistant("Noted."),
        user("I also packed my blue suitcase for the trip."),
        assistant("Good."),
    ]
    told = sections_of(messages)["Critical Context"]
    assert "gate 22" in told
    assert "gate 14" not in told


def test_leave_for_one_of_two_rules_in_a_sentence_keeps_the_other():
    rules = (
        "Two rules: never delete anything below /srv/monthly, and don't restart PostgreSQL between 9 and 18."
    )
    leave = (
        "It is past 18 now, so you may restart PostgreSQL if you need to. But leave the monthly folder alone."
    )
    facts = read_facts(
        [user("Fix the backup."), user(rules), assistant("Understood."), user(leave), assistant("Good.")]
    )
    assert "Two rules: never delete anything below /srv/monthly" in facts.constraints
    assert not any("don't restart" in text for text in facts.constraints)


def test_a_rule_about_what_is_the_persons_is_a_constraint_also_in_a_chat():
    rule = "Never share my address or my phone number with anyone."
    messages = [user("Hello there!"), assistant("Hi."), user(rule), assistant("Understood."), user("Thanks")]
    sections = sections_of(messages)
    assert rule in sections[CONSTRAINTS]
    assert rule not in sections["Critical Context"]


def test_a_rule_about_answers_is_a_constraint_also_with_i():
    rule = "I never want emojis or exclamation marks in answers."
    messages = [user("Hello there!"), assistant("Hi."), user(rule), assistant("Understood."), user("Thanks")]
    assert rule in sections_of(messages)[CONSTRAINTS]
