"""No line of a summary without a model repeats another one, tells only what the agent looks at, or was cut in two."""

import pytest
from agent_work import edit, run, sections_of, step

from message_builders import assistant, calls, result, user
from plimsoll.context.ledger import read_facts
from plimsoll.context.ledger.headings import entries_of
from plimsoll.context.ledger.requests import is_courtesy
from plimsoll.context.ledger.rulings import rulings_in
from plimsoll.context.ledger.statements import decisions_in
from plimsoll.context.ledger.template import EVIDENCE

CONSTRAINTS = "Constraints & Preferences"


def note_of(text, path="src/importer.py"):
    messages = [
        user("Go."),
        *step(1, "patch", {"path": path, "old_string": "a", "new_string": "b existing files"}, "ok", text),
    ]
    return read_facts(messages).files[path].note


@pytest.mark.parametrize(
    ("said", "note"),
    [
        ("Find the existing importer and look at it", "Find the existing importer and look at it"),
        ("Now let me correct the next importer of existing files", "Correct the next importer of existing files"),
        ("First, I'll sort the existing files of the importer", "Sort the existing files of the importer"),
    ],
)  # fmt: skip
def test_only_the_announcement_of_a_reason_is_left_out(said, note):
    assert note_of(said) == note


CANCELLED = "[error] <tool_use_error>Sibling tool call errored</tool_use_error>"


def test_a_check_that_was_cancelled_with_another_call_did_not_fail():
    sections = sections_of([user("Make it build."), *run(1, "make build", CANCELLED)])
    assert "make build" not in sections["Blocked"] + sections["Next Steps"]


def test_a_cancelled_check_does_not_hide_that_it_failed_before():
    failed = run(1, "make build", "exit code: 2\nmain.c:3:1: error: unknown type name 'in'")
    sections = sections_of([user("Make it build."), *failed, *run(2, "make build", CANCELLED)])
    assert "unknown type name" in sections["Blocked"]


def test_a_command_and_a_part_of_it_that_fail_alike_are_one_failure():
    denied = "fatal: Could not read from remote repository."
    messages = [
        user("Publish it."),
        *run(1, "git pull --rebase && git push", denied),
        *run(2, "git push", denied),
    ]
    assert len(sections_of(messages)["Blocked"].splitlines()) == 1


@pytest.mark.parametrize(
    "sentence",
    [
        "I’m checking the page registry now so the artifact lands in the right place.",
        "Checking the telemetry first, so I can reuse it instead of inventing a second one.",
        "I've found the root cause.",
        "The fix is complete.",
        "Here are some of the cheapest options in economy.",
        "Please let me know which of the options you choose, because they differ.",
    ],
)
def test_what_the_agent_looks_at_is_no_decision(sentence):
    assert list(decisions_in(sentence)) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "The issue is that the hook runs from the working directory, not the repository.",
        "Let me use a map instead of a list.",
        "Reading the index twice is the simplest approach, because it is small.",
        "Opening a second connection is slow, therefore the pool has two.",
        "We check the lock first because another process may hold it.",
    ],
)
def test_what_the_agent_decided_or_found_is_a_decision(sentence):
    assert list(decisions_in(sentence)) == [sentence]


@pytest.mark.parametrize(
    "text", ["hi", "Hello!", "Guten Morgen", "谢谢", "Great, thank you so much for your help!"]
)
def test_a_greeting_or_thanks_asks_for_nothing(text):
    assert is_courtesy(text)


@pytest.mark.parametrize(
    "text", ["Thanks, now fix the tests", "hi, the tests fail", "Good morning tests for the API"]
)
def test_a_greeting_before_a_request_is_a_part_of_it(text):
    assert not is_courtesy(text)


def test_the_goal_is_the_first_request_behind_a_greeting():
    messages = [user("hi"), assistant("Hello!"), user("Port the importer to the new schema."), *edit(1)]
    assert sections_of(messages)["Goal"] == "- Port the importer to the new schema."


def test_thanks_are_not_the_work_at_hand():
    messages = [
        user("Port the importer to the new schema."),
        *edit(1),
        assistant("The importer is ported."),
        user("Great, thank you so much for your help!"),
        assistant("You are welcome."),
    ]
    assert "importer" in sections_of(messages)["Next Steps"]


def test_a_rule_at_the_end_of_what_is_read_is_whole_or_left_out():
    filler = "The importer reads one file after the other and writes what it found. " * 55
    rules = [
        one.text
        for one in rulings_in(filler + "Never delete the table of the customers without a backup.", 1)
    ]
    assert all(rule.endswith("backup.") for rule in rules)


def test_eight_rules_of_a_rules_file_are_under_the_heading_and_the_others_are_evidence():
    rules = "\n".join(f"- Never rename the column part_{n} of the table." for n in range(20))
    text = f"# AGENTS.md instructions for /src\n\n<INSTRUCTIONS>\n{rules}\n</INSTRUCTIONS>"
    sections = sections_of([user(text), user("Port the importer."), *edit(1)])
    lines = sections[CONSTRAINTS].splitlines()
    assert len(lines) == 9
    assert lines[-1] == "- 12 more rules are in AGENTS.md."
    assert (
        "- Never rename the column part_19 of the table. (from AGENTS.md)" in sections[EVIDENCE].splitlines()
    )
    assert all(f"part_{n} " in "\n".join((*lines, sections[EVIDENCE])) for n in range(20))


def test_the_opening_request_is_not_repeated_as_a_constraint():
    opening = "Try the new installer with no cache: one\ntwo"
    messages = [user(opening), *edit(1), user("Now the tests."), *edit(2)]
    assert sections_of(messages)[CONSTRAINTS] == ""


def test_what_you_can_do_in_a_description_revokes_nothing():
    messages = [
        user("How does the list of sessions work?"),
        *edit(3),
        user('Let "rewind" show the first prompt of each session.'),
        *edit(1),
        user(
            "Change the message to say that another session is active, and that you can continue this session."
        ),
        *edit(2),
    ]
    assert "first prompt" in sections_of(messages)[CONSTRAINTS]


def test_the_items_of_a_proposal_are_wishes():
    text = "How about this logic:\n- if there is no folder, create one\n- copy the files, do not move them"
    assert len(list(rulings_in(text, 1))) == 2


def read_together(paths, note="The exporter explains why completion fails too."):
    message = calls(*(f"call_{n}" for n in range(len(paths))), text=note)
    for call, path in zip(message["tool_calls"], paths, strict=True):
        call["function"] = {"name": "read_file", "arguments": f'{{"path": "{path}"}}'}
    shown = "import os\n\n# Explains the exporter and its completion to readers.\nVALUE = 1\n"
    return [user("Look."), message, *(result(f"call_{n}", shown) for n in range(len(paths)))]


def test_a_reason_before_several_calls_is_not_the_note_of_each_file():
    files = read_facts(read_together(["src/a.py", "src/b.py"])).files
    assert [fact.phrase for fact in files.values()] == [
        "# Explains the exporter and its completion to readers."
    ] * 2
    (alone,) = read_facts(read_together(["src/a.py"])).files.values()
    assert alone.note == "The exporter explains why completion fails too."


@pytest.mark.parametrize(
    ("path", "shown", "note"),
    [
        ("a.go", "//go:build e2e\n\npackage app\n\n// Moor ties ships to piers.\n", "// Moor ties ships to piers."),
        ("a.ts", 'import { homedir } from "node:os";\nconst limit = retries + 1\n', ""),
        ("a.rs", "use crate::config::Settings;\n/// Loads the settings.\n", "/// Loads the settings."),
        ("SKILL.md", "---\nname: moor\ndescription: Tie ships to piers.\n---\n", "description: Tie ships to piers."),
    ],
)  # fmt: skip
def test_what_a_file_is_said_to_be_is_not_an_import(path, shown, note):
    messages = [user("Look."), *step(1, "read_file", {"path": path}, shown)]
    assert read_facts(messages).files[path].about == note


def test_the_frames_of_a_spinner_are_no_error():
    frames = "".join(f"{sign} Uploading..." for sign in "\\|/-" * 20)
    messages = [user("Publish it."), *run(1, "bd push", f"{frames}fatal: Could not read from the remote.")]
    assert "Uploading" not in "\n".join(sections_of(messages).values())


def test_an_error_that_says_no_more_than_the_failure_is_not_repeated():
    output = "--- FAIL: TestMoor (0.1s)\n[test] ERROR task failed\nFAIL\nexit code: 1"
    sections = sections_of([user("Make it pass."), *run(1, "mise run test", output)])
    assert "TestMoor" in sections["Blocked"]
    assert sections["Critical Context"] == ""


def test_in_an_agents_work_only_what_people_say_of_themselves_is_quoted_as_theirs():
    text = (
        "The synopsis is displayed in the History panel. My user ID is mia_kim_4397. Could you book a flight?"
    )
    facts = read_facts([user(text), *run(1, "book flight", "ok")])
    said = [one.text for one in entries_of(facts, {}, 500) if one.section == "Critical Context"]
    assert said == [] or said == ["- User: My user ID is mia_kim_4397."]


def test_a_mistyped_command_is_nothing_to_fix():
    mistyped = run(1, "npm run check -- --unsafe", "exit code: 2\nerror: unknown option '--unsafe'")
    steps = sections_of([user("Tidy the form."), *mistyped])["Next Steps"]
    assert steps.startswith("- Continue: Tidy the form.")


def test_the_reason_of_a_patch_of_several_files_is_not_repeated_for_each():
    patch = "*** Begin Patch\n" + "".join(
        f"*** Add File: src/{name}.py\n+# Sorts the {name} of the list and the form.\n"
        for name in ("rows", "cells")
    )
    messages = [
        user("Sort it."),
        *step(
            1,
            "apply_patch",
            {"input": patch},
            "Done",
            "I write how the list and the form sort rows and cells.",
        ),
    ]
    notes = [fact.note for fact in read_facts(messages).files.values()]
    assert notes == [
        "# Sorts the rows of the list and the form.",
        "# Sorts the cells of the list and the form.",
    ]


def test_a_long_command_is_shown_from_its_first_step_that_does_something():
    command = "sed -n '1,130p' src/lock_file.py && rg -n 'read_cache' src && git diff --check && " * 2
    facts = read_facts([user("Begin."), *run(1, command + "git switch -c fix-refresh", "exit code: 0")])
    assert "- `… git switch -c fix-refresh` → ok" in [one.text for one in entries_of(facts, {}, 500)]


def test_a_check_of_white_space_is_not_listed_as_done():
    messages = [
        user("Begin."),
        *run(1, "git status --short && git diff --check && git diff --stat", "exit code: 0"),
    ]
    assert sections_of(messages)["Done"] == ""


def test_a_plan_that_says_how_things_are_sets_no_limit():
    plan = "Implement this plan.\n" + "The importer reads one row after the other. " * 40
    told = (
        "Session data is never stored.\nThis is the cleanest approach because all code works without changes."
    )
    rules = [one.text for one in rulings_in(f"{plan}\n{told}\nNever delete the backups.", 1)]
    assert rules == ["Never delete the backups."]


def test_in_a_chat_what_people_tell_of_themselves_is_no_constraint():
    text = "Between classes and matches I run every morning, always looking for ways to get faster."
    messages = [
        user(text),
        assistant("Nice."),
        user("Answer in German, and never use lists."),
        assistant("Gut."),
    ]
    assert sections_of(messages)[CONSTRAINTS] == "- Answer in German, and never use lists."
