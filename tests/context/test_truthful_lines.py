"""Each line of a summary without a model is a true sentence about the state of the work."""

import pytest
from agent_work import edit, run, sections_of, step

from message_builders import assistant, user
from plimsoll.context.ledger import read_facts
from plimsoll.context.ledger.headings import entries_of
from plimsoll.context.ledger.statements import answer_in, decisions_in, guesses_in

DENIED = "[error] [Operation Cancelled] Reason: User denied execution."


def notes_of(path, messages):
    return read_facts(messages).files[path].phrase


@pytest.mark.parametrize(
    "sentence",
    [
        "The cause is `fix: true` combined with the linter - it removes the comments.",
        "We chose the map * list pairs - because both are ordered.",
    ],
)
def test_a_dash_or_star_inside_a_sentence_is_not_removed(sentence):
    assert list(decisions_in(sentence)) == [sentence]


def test_bold_words_lose_their_markup_and_nothing_else():
    assert list(decisions_in("**Full mode** - reuses the branch instead of **always** failing.")) == [
        "Full mode - reuses the branch instead of always failing."
    ]


def test_an_item_that_a_decision_contains_is_not_stated_twice():
    text = (
        "The simplest approach is:\n\n- Retry only when the folder is not empty.\n"
        "- Treat a missing folder as success, because it is gone."
    )
    assert len(list(decisions_in(text))) == 1


def test_comments_in_code_are_neither_guesses_nor_decisions():
    text = "```go\n// lines with few letters are likely structural\n// decided because of the cache\n```"
    assert list(guesses_in(text)) == []
    assert list(decisions_in(text)) == []


def test_an_answer_is_prose_or_the_one_line_that_it_announces():
    assert answer_in(
        "Here is the code:\n```go\nfunc a() {\n\treturn\n}\n```\nThe filter is in `scan.go`."
    ) == ("The filter is in `scan.go`.")
    assert "`git push origin data:data`" in answer_in(
        "Push the local branch without a checkout:\n```bash\ngit push origin data:data\n```"
    )


@pytest.mark.parametrize(
    "header",
    ["Exit code: 0\nWall time: 0.0 seconds\nOutput:\n", "Wall time: 0.0000 seconds\nOutput:\n"],
)
def test_the_note_of_a_file_is_never_a_line_of_the_harness(header):
    shown = f"{header}// Reads the mooring plan and sorts its berths.\nfn read() {{}}"
    messages = [user("Look at it."), *run(1, "cat src/plan.rs", shown)]
    assert notes_of("src/plan.rs", messages) == "// Reads the mooring plan and sorts its berths."


def test_the_note_of_a_file_has_no_line_number():
    messages = [
        user("Look."),
        *step(1, "view", {"path": "NOTES.md"}, "1. # How the harbour plans its berths"),
    ]
    assert notes_of("NOTES.md", messages) == "# How the harbour plans its berths"


def test_a_patch_that_is_the_whole_argument_changes_its_files():
    patch = "*** Begin Patch\n*** Add File: docs/plan.md\n+# The plan for the berths\n*** End Patch"
    call = {"id": "c1", "type": "function", "function": {"name": "apply_patch", "arguments": patch}}
    made = {"role": "assistant", "content": None, "tool_calls": [call]}
    done = {"role": "tool", "tool_call_id": "c1", "content": "Added 1 file(s): docs/plan.md"}
    sections = sections_of([user("Write the plan."), made, done])
    assert "`docs/plan.md` — created" in sections["Relevant Files"]
    assert "apply_patch" not in sections["Done"]


def test_a_refusal_names_what_was_refused():
    messages = [user("Tidy up."), *run(1, "git push --force", DENIED), user("Leave it.")]
    assert "- The person refused `git push --force`" in sections_of(messages)["Key Decisions"]


def test_a_call_that_a_person_denied_is_not_blocked_once_they_asked_for_something_else():
    messages = [user("Tidy up."), *run(1, "git add -A", DENIED), user("Remove the old icons.")]
    sections = sections_of(messages)
    assert "git add" not in sections["Blocked"]
    assert "git add" not in sections["Next Steps"]


COMMIT = "[main 1a2b3c4] Sort berths\n 1 file changed"


@pytest.mark.parametrize(
    ("command", "output", "left"),
    [
        ("git reset --hard HEAD~1", "HEAD is now at 0f0f0f0 before", []),
        ("git reset --soft HEAD^ && git status -s", "M src/berths.py", []),
        ("git commit --amend --no-edit", "[main 5d6e7f8] Sort berths\n 1 file changed", ["5d6e7f8"]),
        ("git reset HEAD src/berths.py", "", ["1a2b3c4"]),
        ("git reset --hard HEAD~1", "fatal: ambiguous argument\nexit code: 128", ["1a2b3c4"]),
        ("git log -1", "commit 1a2b3c4", ["1a2b3c4"]),
    ],
)
def test_a_commit_that_was_undone_or_replaced_is_not_done(command, output, left):
    messages = [
        user("Go."),
        *edit(1),
        *run(2, "git commit -am 'Sort berths'", COMMIT),
        *run(3, command, output),
    ]
    commits = read_facts(messages).commits
    assert [sha for sha in ("1a2b3c4", "5d6e7f8") if any(sha in text for text in commits)] == left


def done_in(messages):
    entries = entries_of(read_facts(messages), {}, 4_000)
    return [one.text for one in entries if one.section == "Done" and not one.parent]


LOOKED = {
    "the version of a program": run(1, "mise --version && cargo --version", "2026.1.2\ncargo 1.90"),
    "the help of a program": run(1, "gh help discussion", "Work with discussions."),
    "its version as a command": run(1, "golangci-lint version", "golangci-lint 2.1"),
    "a search tool": step(1, "rg", {"pattern": "class .*Service"}, "src/a.ts: class AService"),
    "a web search": step(1, "web_search", {"query": "berth rules"}, "Address: example.org"),
    "a search in code": step(1, "codebase_search", {"query": "berth"}, "src/a.py"),
    "a preparation": run(1, "git add src/berths.py && git status -s", "M  src/berths.py"),
    "a fetch": run(1, "git fetch origin main", "abc..def main -> origin/main"),
}


@pytest.mark.parametrize("messages", LOOKED.values(), ids=LOOKED)
def test_a_lookup_or_preparation_is_not_listed_as_done(messages):
    assert done_in([user("Find out which version runs."), *messages]) == []


@pytest.mark.parametrize("command", ["npm version patch", "search-and-replace old new"])
def test_a_command_that_changes_something_is_done(command):
    assert done_in([user("Release it."), *run(1, command, "v1.2.4")]) == [f"- `{command}` → ran"]


def test_a_request_that_the_agent_replied_to_is_not_to_be_continued():
    messages = [
        user("Commit the sorted berths."),
        *run(1, "git commit -m x", COMMIT),
        assistant("Committed."),
    ]
    steps = sections_of(messages)["Next Steps"]
    assert steps == "- No newer request; the agent has replied to: Commit the sorted berths."
    assert sections_of([*messages, *run(2, "go test ./a", "ok  \ta\t0.1s")])["Next Steps"].startswith(
        "- Continue:"
    )


def test_words_that_stand_under_another_heading_are_not_repeated_as_statements():
    text = "I want to see which berths are free on which day of the week."
    sections = sections_of([user("Plan the berths for May."), *edit(1), user(text), *edit(2)])
    assert text in sections["In Progress"]
    assert text not in sections["Critical Context"]


HARNESS = {
    "a reminder with an underscore": (
        "List the berths.\n\n<system_reminder>\n<sql_tables>No tables exist.</sql_tables>\n</system_reminder>",
        "List the berths.",
    ),
    "the request of a plan mode": (
        "[[PLAN]] I want to create an implementation plan. Please:\n1. Analyze the codebase\n2. Ask questions\n"
        "\nMy request: list the berths",
        "list the berths",
    ),
    "the end of an accepted plan": (
        "Implement the following plan:\n\n# Sort the berths\n\nIf you need specific details from before exiting plan "
        "mode (like exact code snippets), read the full transcript at: /home/me/x.jsonl",
        "Implement the following plan: # Sort the berths",
    ),
}


@pytest.mark.parametrize(("text", "said"), HARNESS.values(), ids=HARNESS)
def test_what_a_harness_puts_around_a_request_is_not_part_of_the_goal(text, said):
    assert sections_of([user(text), *edit(1)])["Goal"] == f"- {said}"


STARTED = "Command running in background with ID: b1. Output is being written to: /tmp/b1.output"
ENDED = (
    "<task-notification>\n<task-id>b1</task-id>\n<status>{}</status>\n"
    '<summary>Background command "Run the tests" {}</summary>\n</task-notification>'
)


@pytest.mark.parametrize(
    ("status", "summary", "is_blocked"),
    [("completed", "completed (exit code 0)", False), ("failed", "failed with exit code 1", True)],
)
def test_a_background_process_ends_with_the_message_that_reports_it(status, summary, is_blocked):
    messages = [user("Run the tests."), *step(1, "Bash", {"command": "go test ./..."}, STARTED)]
    assert "Still running as b1" in sections_of(messages)["Critical Context"]
    sections = sections_of([*messages, user(ENDED.format(status, summary))])
    assert "Still running" not in sections["Critical Context"]
    assert ("go test ./..." in sections["Blocked"]) is is_blocked


def test_commits_and_pull_requests_are_named_as_such():
    done = sections_of(
        [
            user("Fix the parser and open a pull request."),
            *run(1, "git commit -am 'fix: parser'", "[main 1a2b3c4] fix: parser\n 1 file changed"),
            *run(2, "gh pr create --fill", "Creating pull request\nhttps://example.org/me/parser/pull/7"),
            assistant("Done."),
        ]
    )["Done"].splitlines()
    assert "- commit [main 1a2b3c4] fix: parser" in done
    assert "- pull request opened: https://example.org/me/parser/pull/7" in done
